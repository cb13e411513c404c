"""DYN101 decision by decision: the whole verdict, so that nothing is found or repaired on the side."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml
from dyn101_containers import evaluate

from stator.compat import AddEnv, AddEnvLowest, ContainerFacts, Finding, Repair, Severity, Verdict, rules
from stator.compat.edits import Edit, InsertEnv, SetEnv
from stator.errors import Position
from stator.model.commandline import CommandLine, Invocation

(DYN101,) = (rule for rule in rules() if rule.id == "DYN101")
EMBEDDING = '{"model":"health-check","input":"Test"}'
EITHER = DYN101.payloads["either"]
NOTHING = Verdict()
TOKEN = {"secretRef": {"name": "hf-token-secret"}}
FROM_CONFIG_MAP = {"configMapKeyRef": {"name": "modes", "key": "embedding"}}


def added(value: str) -> AddEnv:
    """The payload as an entry of the container."""
    return AddEnv(rule="DYN101", name="DYN_HEALTH_CHECK_PAYLOAD", value=value)


def offered(value: str) -> AddEnvLowest:
    """The payload below every envFrom source."""
    return AddEnvLowest(rule="DYN101", name="DYN_HEALTH_CHECK_PAYLOAD", value=value)


def found(
    facts: ContainerFacts, outcome: str, severity: Severity, *where: str, repair: Repair | None = None, **values: str
) -> Finding:
    """The finding with the rule's own words for an outcome."""
    runtime = str(facts.version.core or "unresolved")
    if repair:
        values["payload"] = repair.value
    words = DYN101.outcomes[outcome].filled(runtime=runtime, **values)
    return Finding(
        rule="DYN101",
        severity=severity,
        message=words.message,
        object="DynamoGraphDeployment/prod/search",
        component="Embed",
        location=facts.locate(*where),
        versions={"runtime": runtime},
        remedy=words.remedy,
        fix=words.fix,
        repair=words.repair if repair else "",
        edit=_edit(facts, outcome, values.get("payload", "")),
        safe=words.safe,
    )


def _edit(facts: ContainerFacts, outcome: str, payload: str) -> Edit | None:
    """What the user can write instead: the payload as an entry, or the switch as the runtime reads it."""
    if outcome in {"embedding", "flag-carried", "mode-unknown"}:
        return InsertEnv(name="DYN_HEALTH_CHECK_PAYLOAD", value=payload or EMBEDDING)
    checks = (facts.entry("DYN_HEALTH_CHECK_ENABLED") or {}).get("value", "").strip().lower()
    plain = outcome == "checks-not-boolean" and checks in {"1", "true", "on"}
    return SetEnv(name="DYN_HEALTH_CHECK_ENABLED", value="true") if plain else None


def repaired(facts: ContainerFacts, outcome: str, repair: Repair, *where: str) -> Verdict:
    """One finding, reduced to an info because of one repair."""
    return Verdict((found(facts, outcome, "info", *where, repair=repair),), (repair,))


# Not this rule's business


@pytest.mark.parametrize("image", ["r:0.9.1", "r:1.6.0", "r:1.6.1", "r:2.0.0"])
def test_releases_outside_the_range_are_left_alone(image: str, container: Any) -> None:
    """1.6.0 is the first release whose embedding workers answer their own check."""
    assert evaluate(container("--embedding-worker", image=image)) == NOTHING


@pytest.mark.parametrize("image", ["r:1.0.0", "r:1.4.2", "r:1.5.0", "r:v1.5.0-rc1-cuda13", "r:1.5.1", "r:1.5.9"])
def test_every_release_before_is_repaired(image: str, container: Any) -> None:
    """The range is not a single patch release: 1.5.1 has the defect too, and older ones once checks are switched on."""
    facts = container("--embedding-worker", image=image)
    assert evaluate(facts) == repaired(facts, "embedding", added(EMBEDDING), "args")


@pytest.mark.parametrize("module", ["dynamo.sglang", "dynamo.sglang.main", "dynamo.sglang.__main__"])
def test_the_worker_is_known_by_each_name_of_its_module(module: str, container: Any) -> None:
    """`python -m` starts the same program by all of them."""
    facts = container("--embedding-worker", module=module)
    assert evaluate(facts) == repaired(facts, "embedding", added(EMBEDDING), "args")


@pytest.mark.parametrize(
    "fields",
    [
        {"backend": "vllm", "module": "dynamo.vllm"},
        {"backend": "noop", "module": "dynamo.frontend"},
        {"component_type": "frontend"},
        {"module": "dynamo.sglang.unified_main"},
        {"module": "dynamo.mocker"},
        {"module": ""},
    ],
)
def test_only_sglang_workers_are_looked_at(fields: dict[str, str], container: Any) -> None:
    """Other backends, other components and other programs have other handlers."""
    assert evaluate(container("--embedding-worker", **fields)) == NOTHING


def test_a_chat_worker_is_left_alone(container: Any) -> None:
    """The embedding payload would break it, and it needs none."""
    assert evaluate(container("--model-path", "m")) == NOTHING
    assert evaluate(container("--is-embedding")) == NOTHING


@pytest.mark.parametrize("text", ["false", " false ", "", "  "])
def test_nothing_is_done_where_active_checks_are_literally_off(text: str, container: Any) -> None:
    """Without active checks the worker becomes Ready as it is."""
    assert evaluate(container("--embedding-worker", env={"DYN_HEALTH_CHECK_ENABLED": text})) == NOTHING


def test_active_checks_that_nobody_sets_are_off(container: Any) -> None:
    """The runtime's own default is off, so a container without the variable is not affected."""
    assert evaluate(msgspec.structs.replace(container("--embedding-worker"), env=())) == NOTHING


# A payload of the user's own


@pytest.mark.parametrize(
    "payload",
    [
        '{"model":"custom","input":"probe"}',
        "@/etc/probe.json",
        '{"model":"custom","input":"$(PROBE)"}',
        FROM_CONFIG_MAP,
        {"secretKeyRef": {"name": "s", "key": "k"}},
    ],
)
def test_a_configured_payload_is_left_alone(payload: Any, container: Any) -> None:
    """Whatever its form, the user's own entry counts and nothing is said about it."""
    env = {"DYN_HEALTH_CHECK_PAYLOAD": payload}
    assert evaluate(container("--embedding-worker", env=env)) == NOTHING
    assert evaluate(container("--embedding-worker", env=env, env_from=[TOKEN])) == NOTHING


@pytest.mark.parametrize(
    ("payload", "flaw"),
    [
        ("", "it is empty"),
        ("{}", "it is empty"),
        ("[]", "it is not a JSON object"),
        ("null", "it is not a JSON object"),
        ("1", "it is not a JSON object"),
        ('"text"', "it is not a JSON object"),
        ("{'model': 'm'}", "it is not JSON"),
        (" @/etc/probe.json", "it is not JSON"),
        ("@", "no file has that name"),
        ("@/etc/probe.json\n", "no file has that name"),
        ('{"token_ids":[1]}', 'it has no "model" and no "input"'),
        ('{"model":"m"}', 'it has no "input"'),
    ],
)
def test_a_payload_that_cannot_work_is_said_and_kept(payload: str, flaw: str, container: Any) -> None:
    """The runtime discards it, or the handler rejects it; the entry stays the user's."""
    facts = container("--embedding-worker", env={"DYN_HEALTH_CHECK_PAYLOAD": payload})
    where = ("env", "DYN_HEALTH_CHECK_PAYLOAD")
    assert evaluate(facts) == Verdict((found(facts, "payload-unusable", "error", *where, flaw=flaw),))


def test_a_chat_payload_is_no_flaw_where_nothing_points_to_embeddings(container: Any) -> None:
    """A chat worker with a token secret and a payload of its own keeps its peace."""
    env = {"DYN_HEALTH_CHECK_PAYLOAD": '{"token_ids":[1]}'}
    assert evaluate(container(env=env, env_from=[TOKEN])) == NOTHING
    assert evaluate(container(env=env, opaque="a script")) == NOTHING


# The payload flag


@pytest.mark.parametrize("flag", [("--health-check-payload", "{}"), ("--health-check-payload={}",), ("--hea", "{}")])
def test_the_payload_of_the_flag_is_carried_to_where_it_counts(flag: tuple[str, ...], container: Any) -> None:
    """These workers ignore --health-check-payload, so the user's own text goes into the variable, as it stands."""
    text = '{ "model": "mine", "input": "x" }'
    facts = container("--embedding-worker", *(word.replace("{}", text) for word in flag))
    assert evaluate(facts) == repaired(facts, "flag-carried", added(text), "args")


def test_the_same_payload_given_twice_is_carried(container: Any) -> None:
    """Only different values leave it open which one is meant."""
    facts = container("--embedding-worker", *("--health-check-payload", EMBEDDING) * 2)
    assert evaluate(facts) == repaired(facts, "flag-carried", added(EMBEDDING), "args")


def test_the_payload_of_the_flag_stays_below_env_from(container: Any) -> None:
    """A payload that an envFrom source carries works today, so the flag's text must not beat it."""
    facts = container("--embedding-worker", "--health-check-payload", EMBEDDING, env_from=[TOKEN])
    assert evaluate(facts) == repaired(facts, "flag-carried-env-from", offered(EMBEDDING), "args")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--health-check-payload", "@/etc/probe.json"], "it names a file"),
        (["--health-check-payload", "nonsense"], "it is not JSON"),
        (["--health-check-payload", "[]"], "it is not a JSON object"),
        (["--health-check-payload", ""], "it is empty"),
        (["--health-check-payload", '{"token_ids":[1]}'], 'it has no "model" and no "input"'),
        (["--health-check-payload", "$(PROBE)"], "its value is only known at container start"),
        (
            ["--health-check-payload", EMBEDDING, "--health-check-payload", '{"model":"m","input":"x"}'],
            "it is given more than once with different values",
        ),
    ],
)
def test_any_other_payload_flag_is_said_and_nothing_is_set(words: list[str], why: str, container: Any) -> None:
    """A payload of ours would hide that the user's own is ignored."""
    facts = container("--embedding-worker", *words)
    assert evaluate(facts) == Verdict((found(facts, "flag-not-carried", "error", "args", why=why),))


def test_a_payload_flag_with_a_shell_expansion_is_not_carried(container: Any) -> None:
    """What a shell would put there is not known; without a shell the text is what it is."""
    text = '{"model":"m","input":"`date`"}'
    why = "its value is only known at container start"
    in_shell = container("--embedding-worker", "--health-check-payload", text, in_shell=True)
    assert evaluate(in_shell) == Verdict((found(in_shell, "flag-not-carried", "error", "args", why=why),))
    plain = container("--embedding-worker", "--health-check-payload", text)
    assert evaluate(plain) == repaired(plain, "flag-carried", added(text), "args")


def test_the_flag_is_not_looked_at_where_the_variable_is_set(container: Any) -> None:
    """The variable is what these workers read."""
    env = {"DYN_HEALTH_CHECK_PAYLOAD": EMBEDDING}
    assert evaluate(container("--embedding-worker", "--health-check-payload", "nonsense", env=env)) == NOTHING


# Embedding mode is on


@pytest.mark.parametrize(
    ("words", "env", "where"),
    [
        (["--embedding-worker"], {}, ("args",)),
        (["--no-embedding-worker", "--embedding-w"], {"DYN_SGL_EMBEDDING_WORKER": "false"}, ("args",)),
        (["--embedding-worker"], {"DYN_SGL_EMBEDDING_WORKER": FROM_CONFIG_MAP}, ("args",)),
        ([], {"DYN_SGL_EMBEDDING_WORKER": " Yes\n"}, ("env", "DYN_SGL_EMBEDDING_WORKER")),
        (["--embedding-worker", "--disaggregation-mode", "decode"], {}, ("args",)),
        (["--embedding-worker", "--config", "f.yaml"], {}, ("args",)),
    ],
)
def test_an_embedding_worker_gets_the_embedding_payload(
    words: list[str], env: dict[str, Any], where: tuple[str, ...], container: Any
) -> None:
    """By flag or by variable, the last word decides, and the finding points to it."""
    facts = container(*words, env=env)
    assert evaluate(facts) == repaired(facts, "embedding", added(EMBEDDING), *where)


@pytest.mark.parametrize("words", [["--embedding-worker", "--no-embedding-worker"], ["--namespace=--embedding-worker"]])
def test_a_negated_or_merely_similar_flag_gets_nothing(words: list[str], container: Any) -> None:
    """Words that only look like the switch do not switch."""
    assert evaluate(container(*words)) == NOTHING


@pytest.mark.parametrize("words", [["--embedding"], ["--embedding-worker=true"], ["--embedding-worker", "--namespace"]])
def test_a_worker_that_exits_at_start_gets_nothing(words: list[str], container: Any) -> None:
    """The runtime's parser refuses these command lines; no payload helps a worker that never runs."""
    assert evaluate(container(*words)) == NOTHING


@pytest.mark.parametrize(
    "source",
    [
        TOKEN,
        {"configMapRef": {"name": "c"}},
        {"prefix": "", "configMapRef": {"name": "c"}},
        {"prefix": "DYN_", **TOKEN},
    ],
)
def test_a_payload_that_env_from_may_carry_is_not_beaten(source: dict[str, Any], container: Any) -> None:
    """Such a source may hold the user's payload, so ours goes below it: a plain token secret is enough."""
    facts = container("--embedding-worker", env_from=[{"prefix": "OTHER_", **TOKEN}, source])
    assert evaluate(facts) == repaired(facts, "embedding-env-from", offered(EMBEDDING), "args")


def test_env_from_with_another_prefix_cannot_carry_the_payload(container: Any) -> None:
    """A source with prefix P only sets names that start with P."""
    facts = container("--embedding-worker", env_from=[{"prefix": "HF_", **TOKEN}, {"prefix": "DYN_SGL_", **TOKEN}])
    assert evaluate(facts) == repaired(facts, "embedding", added(EMBEDDING), "args")


@pytest.mark.parametrize("text", ["1", "True", "on", "TRUE", "'true'"])
def test_a_spelling_the_runtime_refuses_is_said_beside_the_repair(text: str, container: Any) -> None:
    """The checks are not literally off, and the payload alone will not make the worker start."""
    facts = container("--embedding-worker", env={"DYN_HEALTH_CHECK_ENABLED": text})
    repair = added(EMBEDDING)
    assert evaluate(facts) == Verdict(
        (
            found(facts, "embedding", "info", "args", repair=repair),
            found(facts, "checks-not-boolean", "error", "env", "DYN_HEALTH_CHECK_ENABLED"),
        ),
        (repair,),
    )


@pytest.mark.parametrize("value", [FROM_CONFIG_MAP, "$(CHECKS)"])
def test_checks_that_are_only_known_at_start_count_as_on(value: Any, container: Any) -> None:
    """The payload does no harm where the checks turn out to be off."""
    facts = container("--embedding-worker", env={"DYN_HEALTH_CHECK_ENABLED": value})
    assert evaluate(facts) == repaired(facts, "embedding", added(EMBEDDING), "args")
    assert evaluate(facts, repair=False).findings[0].severity == "warning"


# Embedding mode is only known at container start


@pytest.mark.parametrize("value", [FROM_CONFIG_MAP, "$(MODE)"])
def test_a_mode_by_reference_gets_the_payload_both_handlers_accept(value: Any, container: Any) -> None:
    """The embedding payload alone would break the worker if it turns out to be a chat worker."""
    facts = container(env={"DYN_SGL_EMBEDDING_WORKER": value})
    assert evaluate(facts) == repaired(facts, "mode-unknown", added(EITHER), "env", "DYN_SGL_EMBEDDING_WORKER")
    facts = container(env={"DYN_SGL_EMBEDDING_WORKER": value}, env_from=[TOKEN])
    where = ("env", "DYN_SGL_EMBEDDING_WORKER")
    assert evaluate(facts) == repaired(facts, "mode-unknown-env-from", offered(EITHER), *where)


def test_a_chat_worker_with_a_token_secret_is_no_more_than_an_info(container: Any) -> None:
    """The most common manifest of all gets a payload at the lowest precedence and one quiet line."""
    facts = container("--model-path", "m", env_from=[TOKEN])
    assert evaluate(facts) == repaired(facts, "mode-unknown-env-from", offered(EITHER), "envFrom")
    assert [finding.severity for finding in evaluate(facts, repair=False).findings] == ["info"]


def test_a_source_that_can_carry_the_switch_only_gets_the_payload_as_an_entry(container: Any) -> None:
    """A prefix may let the switch through and not the payload."""
    facts = container(env_from=[{"prefix": "DYN_SGL_", "configMapRef": {"name": "modes"}}])
    assert evaluate(facts) == repaired(facts, "mode-unknown", added(EITHER), "envFrom")


@pytest.mark.parametrize("words", [["--embedding-worker"], ["--no-embedding-worker"]])
def test_a_flag_settles_what_env_from_leaves_open(words: list[str], container: Any) -> None:
    """The command line beats the variable, wherever that comes from."""
    facts = container(*words, env_from=[{"prefix": "DYN_SGL_", "configMapRef": {"name": "modes"}}])
    expected = repaired(facts, "embedding", added(EMBEDDING), "args") if "--no" not in words[0] else NOTHING
    assert evaluate(facts) == expected


@pytest.mark.parametrize(
    ("words", "fields", "why"),
    [
        ([], {"component_type": "prefill"}, "the component is a prefill worker"),
        ([], {"component_type": "decode"}, "the component is a decode worker"),
        (["--disaggregation-mode", "prefill"], {}, "--disaggregation-mode may change what the worker does"),
        (["--disagg-config=f.yaml"], {}, "--disagg-config may change what the worker does"),
        (["--config", "f.yaml"], {}, "--config may change what the worker does"),
        (["--dllm-algorithm=x"], {}, "--dllm-algorithm may change what the worker does"),
        (["--enable-multimodal"], {}, "--enable-multimodal may be on"),
        ([], {"image": "r:1.4.1"}, "the payload for both modes was not tried with runtime 1.4.1"),
    ],
)
def test_where_the_payload_was_not_tried_none_is_set(
    words: list[str], fields: dict[str, str], why: str, container: Any
) -> None:
    """Disaggregated, multimodal and diffusion workers, and older releases, are told about it and left alone."""
    by_reference = container(*words, env={"DYN_SGL_EMBEDDING_WORKER": FROM_CONFIG_MAP}, **fields)
    where = ("env", "DYN_SGL_EMBEDDING_WORKER")
    expected = Verdict((found(by_reference, "mode-unknown-left", "warning", *where, why=why),))
    assert evaluate(by_reference) == expected
    by_source = container(*words, env_from=[TOKEN], **fields)
    assert evaluate(by_source) == Verdict((found(by_source, "mode-unknown-left", "info", "envFrom", why=why),))


def test_text_mode_takes_the_payload_for_both_modes(container: Any) -> None:
    """The payload also holds what a worker with SGLang's own tokenizer asks for."""
    facts = container("--use-sglang-tokenizer", env_from=[TOKEN])
    assert evaluate(facts) == repaired(facts, "mode-unknown-env-from", offered(EITHER), "envFrom")


def test_a_payload_flag_is_not_carried_while_the_mode_is_unknown(container: Any) -> None:
    """The flag's text is ignored by a chat worker too, and might break it as a variable."""
    facts = container("--health-check-payload", EMBEDDING, env_from=[TOKEN])
    why = "whether this is an embedding worker is only known at container start"
    assert evaluate(facts) == Verdict((found(facts, "flag-not-carried", "info", "args", why=why),))


def test_two_workers_of_different_modes_share_the_payload_for_both(container: Any) -> None:
    """They share one environment, so neither payload alone would do."""
    command_line = CommandLine(
        invocations=(
            Invocation(module="dynamo.sglang", argv=("--embedding-worker",), in_shell=True),
            Invocation(module="dynamo.sglang", argv=(), in_shell=True),
        )
    )
    facts = container(command_line=command_line)
    assert evaluate(facts) == repaired(facts, "mode-unknown", added(EITHER), "args")


# The command line cannot be read


def test_a_wrapper_script_is_told_what_to_set_by_hand(container: Any) -> None:
    """It may hide the flag; nothing is guessed."""
    facts = container(module="", opaque="start.sh is a script")
    expected = Verdict((found(facts, "hidden", "info", "args", why="start.sh is a script"),))
    assert evaluate(facts) == expected
    assert evaluate(container(module="", opaque="start.sh is a script", env={"DYN_HEALTH_CHECK_ENABLED": "false"})) == (
        NOTHING
    )


def test_an_argument_by_reference_may_be_any_flag_but_not_in_the_place_of_a_value(container: Any) -> None:
    """`$(EXTRA)` alone may become --embedding-worker, `--model-path $(MODEL)` may not."""
    facts = container("--model-path", "$(MODEL)", "--trust-remote-code", "x", "$(EXTRA)")
    why = "the argument $(EXTRA) is only known at container start"
    assert evaluate(facts) == Verdict((found(facts, "hidden", "info", "args", why=why),))
    assert evaluate(container("--model-path", "$(MODEL)")) == NOTHING


def test_a_switch_that_can_be_seen_counts_and_a_hidden_negation_does_no_harm(container: Any) -> None:
    """A readable switch on a partly readable line gets the payload that also fits a chat worker."""
    facts = container("--embedding-worker", opaque="$EXTRA is expanded by the shell")
    assert evaluate(facts) == repaired(facts, "embedding", added(EITHER), "args")


# The release is not known


def test_an_unresolved_release_is_said_and_nothing_is_done(container: Any) -> None:
    """The worker may be affected: the version has to be declared first."""
    facts = container("--embedding-worker", image="r:latest")
    values = {"why": 'tag "latest" is not X.Y.Z', "affected": ">=1.0.0,<1.6.0"}
    assert evaluate(facts) == Verdict((found(facts, "unresolved", "warning", "args", **values),))


def test_an_unresolved_release_with_checks_off_is_only_an_info(container: Any) -> None:
    """That is what an operator renders for an unknown release: the worker becomes Ready, until it is declared."""
    off = {"DYN_HEALTH_CHECK_ENABLED": "false"}
    facts = container("--embedding-worker", image="r:latest", env=off)
    values = {"why": 'tag "latest" is not X.Y.Z', "affected": ">=1.0.0,<1.6.0"}
    assert evaluate(facts) == Verdict((found(facts, "unresolved", "info", "args", **values),))
    assert evaluate(container(image="r:latest", env=off, env_from=[TOKEN])) == NOTHING


def test_an_unresolved_release_is_no_matter_for_chat_workers_and_configured_payloads(container: Any) -> None:
    """Nothing is said where no release would make a difference."""
    assert evaluate(container(image="r:latest")) == NOTHING
    env = {"DYN_HEALTH_CHECK_PAYLOAD": EMBEDDING}
    assert evaluate(container("--embedding-worker", image="r:latest", env=env)) == NOTHING


# What people read


def test_without_repairs_the_same_findings_weigh_what_they_are(container: Any) -> None:
    """`repair=False` shows what a graph does under an operator that repairs nothing."""
    facts = container("--embedding-worker")
    expected = msgspec.structs.replace(found(facts, "embedding", "error", "args", repair=added(EMBEDDING)), repair="")
    assert evaluate(facts, repair=False) == Verdict((expected,))


def test_the_finding_reads_well(container: Any) -> None:
    """What is wrong, what was done, and what to write to do it oneself."""
    (finding,) = evaluate(container("--embedding-worker")).findings
    assert finding.message == (
        "this SGLang 1.5.0 embedding worker checks itself with a generation request, which its embedding handler "
        "rejects, so it never becomes Ready"
    )
    assert finding.repair == 'sets DYN_HEALTH_CHECK_PAYLOAD={"model":"health-check","input":"Test"}'
    assert yaml.safe_load(finding.fix) == {"name": "DYN_HEALTH_CHECK_PAYLOAD", "value": EMBEDDING}


def test_a_finding_without_a_place_of_its_own_points_to_the_component(container: Any) -> None:
    """Every finding leads somewhere."""
    facts = container("--embedding-worker", locate=lambda *path: None if path else Position("graph.yaml", 3))
    (finding,) = evaluate(facts).findings
    assert finding.location == Position("graph.yaml", 3)
