"""The dictionaries say what the published releases accept, and agree with what was measured on them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stator.compat.dictionaries import (
    ComponentDictionary,
    Dictionary,
    Option,
    Parser,
    added_in,
    dictionary,
    releases,
    removed_since,
)
from stator.versions import Version

SGLANG = "dynamo.sglang"
WORKERS = (SGLANG, "dynamo.vllm", "dynamo.trtllm")
EVERY_RELEASE = pytest.mark.parametrize("release", releases(), ids=str)


def read(release: str) -> Dictionary:
    """The dictionary of a release that must be on record."""
    found = dictionary(Version(*map(int, release.split("."))))
    assert found is not None
    return found


def component(release: str, module: str) -> ComponentDictionary:
    """A module that must exist in the release."""
    found = read(release).component(module)
    assert found is not None
    return found


def test_every_minor_of_the_window_is_on_record() -> None:
    """Each minor release from 1.0 to 1.6 can be asked, and 1.5 and 1.6 with both of their patches."""
    assert {release.minor for release in releases()} == set(range(7))
    assert {Version(1, 5, 0), Version(1, 5, 1), Version(1, 6, 0), Version(1, 6, 1)} <= set(releases())


def test_an_unknown_release_is_none_and_an_unknown_module_too() -> None:
    """A release that was not read gives no dictionary instead of an empty one, and so does a module."""
    assert dictionary(Version(0, 9, 1)) is None
    assert read("1.6.1").component("dynamo.nothing") is None


@EVERY_RELEASE
def test_every_release_has_the_deployable_modules(release: Version) -> None:
    """Frontend, planner, router, mocker and the three engine workers exist in all of them."""
    found = dictionary(release)
    assert found is not None
    wanted = {*WORKERS, "dynamo.frontend", "dynamo.planner", "dynamo.router", "dynamo.global_router", "dynamo.mocker"}
    assert wanted <= found.components.keys()
    assert {"sglang", "vllm", "trtllm"} == found.engines.keys()


@EVERY_RELEASE
def test_options_are_well_formed(release: Version) -> None:
    """Spellings start with a dash and belong to one option per parser; negations belong to booleans."""
    found = dictionary(release)
    assert found is not None
    for part in found.components.values():
        seen: set[tuple[int, str]] = set()
        for option in part.options:
            assert option.names or option.dest
            assert all(spelling.startswith("-") for spelling in option.spellings)
            assert not option.negations or option.action == "boolean"
            places = {(option.parser, spelling) for spelling in option.spellings}
            assert not places & seen, (part.module, option.names)
            seen |= places
            assert option.parser < len(part.parsers)


@EVERY_RELEASE
def test_variables_behind_options_are_among_the_modules_variables(release: Version) -> None:
    """What an option takes its default from is a variable of the module."""
    found = dictionary(release)
    assert found is not None
    for part in found.components.values():
        assert {name for option in part.options for name in option.env} <= part.variables


@EVERY_RELEASE
def test_every_spelling_finds_its_option(release: Version) -> None:
    """A spelling, alone or with `=value`, is never taken for an abbreviation of something else in the same parser."""
    found = dictionary(release)
    assert found is not None
    for part in found.components.values():
        first = [option for option in part.options if option.parser == 0]
        for option in first:
            for spelling in option.spellings:
                assert part.find(spelling) == part.find(f"{spelling}=x") == (option,)


@pytest.mark.parametrize("release", ["1.4.2", "1.5.0", "1.6.1"])
@pytest.mark.parametrize(
    ("word", "spelled"),
    [
        ("--embedding-worker", {"--embedding-worker"}),
        ("--no-embedding-worker", {"--embedding-worker"}),
        ("--embedding-w", {"--embedding-worker"}),
        ("--embedding-worker=true", {"--embedding-worker"}),
        ("--no-embedding-w", {"--embedding-worker"}),
        ("--no-emb", {"--embedding-worker"}),
        ("--embedding", {"--embedding-worker", "--embedding-transfer-mode"}),
        ("--emb", {"--embedding-worker", "--embedding-transfer-mode"}),
        ("--is-embedding", {"--is-embedding"}),
        ("--embedding_worker", set()),
        ("--Embedding-Worker", set()),
        ("-embedding-worker", set()),
        ("--", set()),
    ],
)
def test_words_mean_what_the_real_sglang_worker_took_them_for(release: str, word: str, spelled: set[str]) -> None:
    """Exact, abbreviated, ambiguous and unknown words resolve as they did on the real parsers of these releases."""
    assert {option.names[0] for option in component(release, SGLANG).find(word)} == spelled


def test_an_option_whose_default_is_a_list_may_be_abbreviated() -> None:
    """`--connecto` is `--connector`, whose default is a list: it is found."""
    (option,) = component("1.1.1", SGLANG).find("--connecto")
    assert option.names[0] == "--connector"


def test_the_embedding_switch_has_its_variable_and_its_negation() -> None:
    """`--embedding-worker` is a Dynamo option with a negation, off by default, set by DYN_SGL_EMBEDDING_WORKER."""
    (option,) = component("1.5.0", SGLANG).find("--embedding-worker")
    assert option.negations == ("--no-embedding-worker",)
    assert (option.owner, option.env, option.default) == ("dynamo", ("DYN_SGL_EMBEDDING_WORKER",), False)
    assert not option.takes_value


def test_the_engines_own_switch_is_marked_as_the_engines() -> None:
    """`--is-embedding` is SGLang's, which is why it does not make an embedding worker."""
    (option,) = component("1.5.0", SGLANG).find("--is-embedding")
    assert option.owner == "engine"
    assert component("1.5.0", SGLANG).engine == "sglang 0.5.18"


def test_rerank_worker_begins_with_1_6() -> None:
    """`--rerank-worker` is refused up to 1.5 and accepted by 1.6."""
    assert component("1.5.1", SGLANG).find("--rerank-worker") == ()
    assert component("1.6.0", SGLANG).find("--rerank-worker") != ()


@pytest.mark.parametrize(
    ("module", "flag", "last", "first_without"),
    [
        ("dynamo.vllm", "--is-prefill-worker", "1.3.1", "1.4.2"),
        ("dynamo.vllm", "--is-decode-worker", "1.3.1", "1.4.2"),
        ("dynamo.vllm", "--multimodal-worker", "1.3.1", "1.4.2"),
        ("dynamo.vllm", "--multimodal-encode-worker", "1.3.1", "1.4.2"),
        ("dynamo.sglang", "--multimodal-worker", "1.3.1", "1.4.2"),
    ],
)
def test_flags_leave_where_the_release_notes_say(module: str, flag: str, last: str, first_without: str) -> None:
    """A removed flag is in the last release that knew it, and among what the next one stopped accepting."""
    old, new = component(last, module), component(first_without, module)
    assert flag in removed_since(old, new).options
    assert flag in added_in(old, new).options


@EVERY_RELEASE
def test_workers_do_not_know_migration_limit_and_frontends_do(release: Version) -> None:
    """Since 1.0 the migration limit belongs to the frontend only."""
    found = dictionary(release)
    assert found is not None
    assert "--migration-limit" in found.components["dynamo.frontend"].spellings
    assert not any("--migration-limit" in found.components[worker].spellings for worker in WORKERS)


@EVERY_RELEASE
def test_the_planner_takes_a_configuration_and_nothing_else(release: Version) -> None:
    """Single planner flags are gone in every release on record."""
    found = dictionary(release)
    assert found is not None
    assert set(found.components["dynamo.planner"].spellings) == {"-h", "--help", "--config"}
    (config,) = found.components["dynamo.planner"].find("--config")
    assert config.required


@EVERY_RELEASE
def test_only_vllm_refuses_abbreviations(release: Version) -> None:
    """The vLLM worker switches argparse's abbreviations off; the other workers and the frontend have them."""
    found = dictionary(release)
    assert found is not None
    abbreviating = {name: found.components[name].parsers[0].abbreviations for name in (*WORKERS, "dynamo.frontend")}
    assert abbreviating == {SGLANG: True, "dynamo.vllm": False, "dynamo.trtllm": True, "dynamo.frontend": True}


def test_the_request_plane_lost_http_in_1_3() -> None:
    """`http` is a request plane up to 1.2 and none from 1.3 on."""
    (old,), (new,) = (component(release, SGLANG).find("--request-plane") for release in ("1.2.1", "1.3.1"))
    assert set(old.choices or ()) - set(new.choices or ()) == {"http"}


@EVERY_RELEASE
def test_the_compiled_runtime_reads_the_health_check_variables(release: Version) -> None:
    """The canary and system server settings are put together from these beginnings in the compiled runtime."""
    found = dictionary(release)
    assert found is not None
    assert {"DYN_HEALTH_CHECK_", "DYN_CANARY_", "DYN_SYSTEM_"} <= set(found.variable_prefixes)


def test_variables_appear_where_they_were_introduced() -> None:
    """The codec switch begins with 1.3, the host of the event plane with 1.6."""
    assert "DYN_REQUEST_PLANE_CODEC" not in read("1.2.1").binary_variables
    assert "DYN_REQUEST_PLANE_CODEC" in read("1.3.1").binary_variables
    assert "DYN_EVENT_PLANE_HOST" not in read("1.5.1").binary_variables
    assert "DYN_EVENT_PLANE_HOST" in read("1.6.0").binary_variables


def test_trtllm_takes_dotted_options_from_1_1() -> None:
    """`--trtllm.GROUP.KEY` exists from 1.1 on; TensorRT-LLM options are otherwise Dynamo's own."""
    assert component("1.0.2", "dynamo.trtllm").prefixes == ()
    assert component("1.1.1", "dynamo.trtllm").prefixes == ("--trtllm.",)
    assert not component("1.6.1", "dynamo.trtllm").passes_through


def test_a_word_that_is_rewritten_before_parsing_is_still_accepted() -> None:
    """The TensorRT-LLM worker of 1.6 has no option for the old word, but replaces it by the two new ones."""
    (old,) = component("1.5.1", "dynamo.trtllm").find("--publish-events-and-metrics")
    assert old.names[0] == "--publish-kv-events"
    (rewritten,) = component("1.6.0", "dynamo.trtllm").find("--publish-events-and-metrics")
    assert rewritten.becomes == ("--publish-kv-events", "--publish-metrics")


def test_an_engine_that_was_not_read_is_not_compared() -> None:
    """The options of vLLM are passed on unread, so that nothing is claimed about them."""
    vllm = component("1.5.0", "dynamo.vllm")
    assert vllm.passes_through
    assert not vllm.engine_checked
    sglang = component("1.5.0", SGLANG)
    unread = ComponentDictionary(module=SGLANG, parsers=(Parser(),), engine="sglang 9")
    assert not any(sglang.spellings[spelling].owner == "engine" for spelling in removed_since(sglang, unread).options)


names = st.from_regex(r"--[a-z]{1,4}(-[a-z]{1,4})?", fullmatch=True)


@given(st.sets(names, min_size=1, max_size=8), names)
def test_find_agrees_with_argparse(spellings: set[str], word: str) -> None:
    """For any set of options a word is exact, abbreviated, ambiguous or unknown exactly as argparse has it."""
    import argparse  # noqa: PLC0415 - the judge of this test alone

    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for spelling in sorted(spellings):
        parser.add_argument(spelling, action="store_true", dest=spelling)
    options = tuple(Option(names=(spelling,), action="store_true") for spelling in sorted(spellings))
    found = ComponentDictionary(module="m", parsers=(Parser(),), options=options).find(word)
    try:
        namespace, unknown = parser.parse_known_args([word])
    except (argparse.ArgumentError, SystemExit):
        assert len(found) > 1
    else:
        chosen = [spelling for spelling in spellings if getattr(namespace, spelling)]
        assert [option.names[0] for option in found] == chosen
        assert bool(unknown) == (not found)
