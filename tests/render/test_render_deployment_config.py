"""`DYN_DEPLOYMENT_CONFIG`, the older way to say replicas, resources and a port."""

from __future__ import annotations

import json

import pytest
from rendered import env_of, main_of, render, worker

from stator.errors import InvalidInputError
from stator.render import Manifest

ARGUMENTS = {"workers": 3, "resources": {"cpu": "4", "gpu": 2, "custom": {"example.com/nic": "1"}}}


def entry(config: object) -> str:
    """The main container's environment with the variable."""
    return f"env: [{{name: DYN_DEPLOYMENT_CONFIG, value: '{json.dumps(config)}'}}]"


def replicas(manifest: Manifest) -> int:
    """The replicas of the one Deployment."""
    return manifest.components[0].workload["spec"]["replicas"]  # type: ignore[no-any-return]


def test_workers_and_resources_of_the_components_own_part_count() -> None:
    """Resources are requested and limited alike, beside what the container has."""
    main = entry({"Worker": {"ServiceArgs": ARGUMENTS}, "Other": {"ServiceArgs": {"workers": 9}}})
    manifest = render(worker(f"{main}\nresources: {{limits: {{memory: 8Gi, cpu: '1'}}}}"))
    amounts = {"cpu": "4", "nvidia.com/gpu": "2", "example.com/nic": "1"}
    assert main_of(manifest)["resources"] == {"requests": amounts, "limits": {"memory": "8Gi", **amounts}}
    assert replicas(manifest) == 3
    assert manifest.not_rendered == ()


def test_replicas_of_the_component_win() -> None:
    """The field that the API has for it is the one that an autoscaler writes too."""
    assert replicas(render(worker(entry({"Worker": {"ServiceArgs": ARGUMENTS}}), component="replicas: 5"))) == 5


def test_it_counts_in_the_graphs_environment_too() -> None:
    """The graph's variables are every component's."""
    graph = entry({"Worker": {"ServiceArgs": {"workers": 2}}})
    assert replicas(render(worker(graph=graph))) == 2


def test_a_frontend_answers_where_its_service_looks() -> None:
    """Another port would leave the probes and the Service without an answer."""
    text = worker(entry({"Worker": {"port": 3000}, "Other": {"port": 1}})).replace("type: worker", "type: frontend")
    config = json.loads(env_of(render(text))["DYN_DEPLOYMENT_CONFIG"])
    assert config == {"Worker": {"port": 8000}, "Other": {"port": 1}}


def test_the_text_of_a_worker_stays() -> None:
    """Only a frontend has that port."""
    config = {"Worker": {"port": 3000}}
    assert env_of(render(worker(entry(config))))["DYN_DEPLOYMENT_CONFIG"] == json.dumps(config)


@pytest.mark.parametrize("value", ["not json", "[]", "1"])
def test_a_value_that_cannot_be_read_is_a_located_problem(value: str) -> None:
    """Half a configuration would start the wrong number of pods."""
    with pytest.raises(InvalidInputError) as caught:
        render(worker(f"env: [{{name: DYN_DEPLOYMENT_CONFIG, value: '{value}'}}]"))
    [problem] = caught.value.problems
    assert (str(problem.position), problem.what) == (
        "-:14",
        "component Worker: DYN_DEPLOYMENT_CONFIG is no JSON object",
    )


def test_a_value_from_elsewhere_is_left_alone() -> None:
    """Rendering reads no ConfigMap."""
    source = "valueFrom: {configMapKeyRef: {name: c, key: k}}"
    assert replicas(render(worker(f"env: [{{name: DYN_DEPLOYMENT_CONFIG, {source}}}]"))) == 1
