"""What holds for every container DYN101 may meet, whatever its environment and arguments."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml
from dyn101_containers import evaluate, make_container
from hypothesis import given
from hypothesis import strategies as st

from stator.compat import AddEnv, AddEnvLowest, ContainerFacts

PAYLOAD = "DYN_HEALTH_CHECK_PAYLOAD"
BY_REFERENCE = {"secretKeyRef": {"name": "s", "key": "k"}}

texts = st.sampled_from(
    ["true", "false", " true ", "1", "", "{}", '{"model":"m","input":"x"}', "@/f", "$(X)", "nonsense"]
)
names = st.sampled_from(
    [PAYLOAD, "DYN_SGL_EMBEDDING_WORKER", "DYN_HEALTH_CHECK_ENABLED", "DYN_SGL_USE_TOKENIZER", "OTHER"]
)
environments = st.dictionaries(names, st.one_of(texts, st.just(BY_REFERENCE)), max_size=4)
sources = st.lists(
    st.fixed_dictionaries(
        {"secretRef": st.just({"name": "s"})}, optional={"prefix": st.sampled_from(["", "DYN_", "DYN_SGL_", "HF_"])}
    ),
    max_size=2,
)
words = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "--embedding-worker",
                "--no-embedding-worker",
                "--embedding-w",
                "--emb",
                "--health-check-payload",
                "--health-check-payload={}",
                "--use-sglang-tokenizer",
                "--image-diffusion-worker",
                "--namespace",
                "--connector",
                "--disaggregation-mode=decode",
                "--model-path",
                "--",
                "$(EXTRA)",
            ]
        ),
        st.text(alphabet="-=aé{}\"'$() ", max_size=6),
    ),
    max_size=6,
)
images = st.sampled_from(["r:1.4.2", "r:1.5.0", "r:1.5.1", "r:1.6.0", "r:latest", "r"])
containers = st.builds(
    lambda argv, **fields: make_container(*argv, **fields),
    words,
    image=images,
    env=environments,
    env_from=sources,
    opaque=st.sampled_from(["", "a script"]),
    in_shell=st.booleans(),
    component_type=st.sampled_from(["worker", "decode"]),
)


@given(containers)
def test_there_is_at_most_one_repair_and_the_users_entries_stay_as_they_are(facts: ContainerFacts) -> None:
    """Only the payload is ever set, and only where the user has no entry of that name."""
    repairs = evaluate(facts).repairs
    assert len(repairs) <= 1
    for repair in repairs:
        assert repair.name == PAYLOAD
        assert facts.entry(repair.name) is None


@given(containers)
def test_a_source_that_may_carry_the_payload_is_never_beaten(facts: ContainerFacts) -> None:
    """An entry beats every source, so it is only used where no source could hold the name."""
    for repair in evaluate(facts).repairs:
        assert isinstance(repair, AddEnvLowest) == facts.could_come_from_env_from(PAYLOAD)


@given(containers)
def test_a_repaired_container_is_not_repaired_again(facts: ContainerFacts) -> None:
    """Applying the entry and asking again finds nothing to do and nothing to say about the payload."""
    for repair in evaluate(facts).repairs:
        if isinstance(repair, AddEnv):
            entry: dict[str, Any] = {"name": repair.name, "value": repair.value}
            again = evaluate(msgspec.structs.replace(facts, env=(*facts.env, entry)))
            assert again.repairs == ()
            assert not [finding for finding in again.findings if finding.severity != "info"]


@given(containers)
def test_findings_and_repairs_belong_together(facts: ContainerFacts) -> None:
    """A repair is always told, a repaired finding is an info, and every finding says what to do."""
    verdict = evaluate(facts)
    told = [finding for finding in verdict.findings if finding.repair]
    assert len(told) == len(verdict.repairs)
    assert {finding.severity for finding in told} <= {"info"}
    assert all(finding.remedy and finding.message for finding in verdict.findings)


@given(containers)
def test_repairs_off_changes_weights_only(facts: ContainerFacts) -> None:
    """The same statements are made about the same places, and none weighs less."""
    weights = ["info", "warning", "error"]
    on, off = evaluate(facts), evaluate(facts, repair=False)
    assert off.repairs == ()
    assert [(f.message, f.location) for f in off.findings] == [(f.message, f.location) for f in on.findings]
    for with_repair, without in zip(on.findings, off.findings, strict=True):
        assert weights.index(without.severity) >= weights.index(with_repair.severity)


@given(containers)
def test_every_fix_is_one_env_entry(facts: ContainerFacts) -> None:
    """What is offered as a fix can be pasted into the container's env."""
    for finding in evaluate(facts).findings:
        if finding.fix:
            assert set(yaml.safe_load(finding.fix)) == {"name", "value"}
