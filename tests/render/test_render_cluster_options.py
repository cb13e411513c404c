"""What only a cluster knows: pull secrets by registry, its scheduler, checkpoints that are not ready yet."""

from __future__ import annotations

import pytest
from multinode import GROVE, grove, lws
from rendered import named_env, object_of, pod_of, provenance_of, render, worker

from stator.render import RenderOptions
from stator.render.pull_secrets import registry_of

SECRETS = RenderOptions(pull_secrets={"reg.example:5000": ("a", "b"), "docker.io": ("hub",)})
IMAGE = "reg.example:5000/sglang-runtime:1.5.1"


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("python", "docker.io"),
        ("library/python:3", "docker.io"),
        ("index.docker.io/library/python", "docker.io"),
        ("nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.5.1", "nvcr.io"),
        ("localhost/img", "localhost"),
        ("reg:5000/img@sha256:0", "reg:5000"),
    ],
)
def test_an_image_leads_to_its_registry(image: str, registry: str) -> None:
    """The host is read as container runtimes read it."""
    assert registry_of(image) == registry


def test_pull_secrets_of_the_images_registries_follow_the_users() -> None:
    """The user's list keeps its order, a Secret is there once, and provenance says for which image."""
    text = worker(image=IMAGE) + "        imagePullSecrets: [{name: mine}, {name: b}]\n"
    manifest = render(text, SECRETS)
    assert pod_of(manifest)["imagePullSecrets"] == [{"name": "mine"}, {"name": "b"}, {"name": "a"}]
    assert provenance_of(manifest, "a").setter.detail == f"registry reg.example:5000 of {IMAGE}"


def test_one_annotation_turns_the_search_for_pull_secrets_off() -> None:
    """A public image with a stale Secret for its registry can still be pulled."""
    off = 'annotations: {nvidia.com/disable-image-pull-secret-discovery: "true"}'
    assert "imagePullSecrets" not in pod_of(render(worker(image=IMAGE, graph=off), SECRETS))


def annotated(annotation: str) -> str:
    """A worker whose graph carries an annotation."""
    return worker().replace("namespace: ns}", f"namespace: ns, annotations: {{{annotation}}}}}")


def test_kai_schedules_groves_pods_from_a_queue() -> None:
    """The scheduler's name and the queue's label are on each clique; the default queue is `dynamo`."""
    options = RenderOptions(provider="grove", scheduler="kai")
    for text, queue in ((worker(), "dynamo"), (annotated("nvidia.com/kai-scheduler-queue: mine"), "mine")):
        manifest = render(text, options)
        [clique] = object_of(manifest, "PodCliqueSet")["spec"]["template"]["cliques"]
        assert clique["spec"]["podSpec"]["schedulerName"] == "kai-scheduler"
        assert clique["labels"]["kai.scheduler/queue"] == queue
        assert manifest.not_rendered == ()


def test_another_scheduler_of_the_users_stays() -> None:
    """Who names a scheduler has a reason."""
    text = worker() + "        schedulerName: mine\n"
    [clique] = object_of(render(text, RenderOptions(provider="grove", scheduler="kai")), "PodCliqueSet")["spec"][
        "template"
    ]["cliques"]
    assert clique["spec"]["podSpec"]["schedulerName"] == "mine"
    assert "kai.scheduler/queue" not in clique["labels"]


def test_volcano_schedules_from_the_queue_of_the_set() -> None:
    """Grove hands the queue of the set's annotation on."""
    manifest = render(annotated("nvidia.com/volcano-queue: q"), RenderOptions(provider="grove", scheduler="volcano"))
    made = object_of(manifest, "PodCliqueSet")
    assert made["metadata"]["annotations"] == {"scheduling.grove.io/volcano-queue": "q"}
    assert made["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["schedulerName"] == "volcano"


def test_a_queue_of_a_scheduler_that_is_not_there_is_named() -> None:
    """An annotation without effect is no silent one."""
    text = annotated("nvidia.com/kai-scheduler-queue: mine")
    assert [note.path[-1] for note in render(text, GROVE).not_rendered] == ["nvidia.com/kai-scheduler-queue"]


CHECKPOINT = "experimental: {checkpoint: {enabled: true, startupPolicy: POLICY, checkpointRef: {name: c}}}"


@pytest.mark.parametrize(
    ("policy", "ready", "replicas"),
    [("WaitForCheckpoint", False, 0), ("WaitForCheckpoint", True, 3), ("Immediate", False, 3)],
)
def test_a_component_that_waits_for_its_checkpoint_has_no_pods(policy: str, *, ready: bool, replicas: int) -> None:
    """Only the policy that asks for it holds pods back, and only until the checkpoint is ready."""
    waiting = frozenset() if ready else frozenset({"Worker"})
    text = worker(
        component="replicas: 3\n" + CHECKPOINT.replace("POLICY", policy).replace(", checkpointRef: {name: c}", "")
    )
    deployment = render(text, RenderOptions(waiting_for_checkpoint=waiting)).components[0].workload
    assert deployment["spec"]["replicas"] == replicas


def test_a_pod_of_several_knows_its_rank_and_leader_by_names_of_every_provider() -> None:
    """A command of the user's own finds its nodes the same way on LeaderWorkerSet and Grove; their values are ours."""
    mine = [{"name": "DYNAMO_RANK", "value": "7"}]
    argv = ("-m", "dynamo.sglang")
    found = named_env(pod_of(lws(*argv, env=mine), "Dec", "worker")["containers"][0])
    assert (found["DYNAMO_RANK"], found["DYNAMO_LEADER_ADDRESS"]) == ("$(LWS_WORKER_INDEX)", "$(LWS_LEADER_ADDRESS)")
    found = named_env(pod_of(grove(*argv, env=mine), "Dec", "worker")["containers"][0])
    leader = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-dec-ldr-0.$(GROVE_HEADLESS_SERVICE)"
    assert (found["DYNAMO_RANK"], found["DYNAMO_LEADER_ADDRESS"]) == ("$(GROVE_PCSG_POD_INDEX)", leader)


def test_a_graph_of_an_older_operator_keeps_its_pods() -> None:
    """The aliases came with 1.6.0; older graphs are not rolled by an upgrade."""
    made = {"nvidia.com/dynamo-operator-origin-version": "1.5.1"}
    main = pod_of(lws("-m", "dynamo.sglang", annotations=made), "Dec", "leader")["containers"][0]
    assert "DYNAMO_RANK" not in named_env(main)
