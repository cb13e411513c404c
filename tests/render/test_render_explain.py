"""Provenance as people and programs see it, without anything that should stay secret."""

from __future__ import annotations

import json

import pytest
from rendered import render, worker

from stator.render.explain import explain_json, explain_text


def test_a_line_says_what_who_where_and_what_it_replaced() -> None:
    """One line has the whole history of an entry."""
    text = explain_text([render(worker("env:\n- {name: DYN_SYSTEM_PORT, value: '9999'}"))])
    [line] = [line for line in text.splitlines() if "DYN_SYSTEM_PORT" in line]
    assert (
        " ".join(line.split())
        == "main env DYN_SYSTEM_PORT 9999 component: Worker at -:15 replaced '9090' type-default: worker default"
    )


def test_sources_flags_and_probes_are_there() -> None:
    """Sources with their prefix, the replaced command and the probes have lines of their own."""
    text = explain_text([render(worker("envFrom:\n- {prefix: HF_, secretRef: {name: s}}"))])
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "main envFrom secretRef s prefix HF_ component: Worker at -:15" in lines
    assert "main flag command component: Worker at -:13 replaced '/bin/sh -c' type-default: worker default" in lines
    assert any(line.startswith("main probe livenessProbe GET /live port system") for line in lines)


@pytest.mark.parametrize(
    "entry",
    [
        "{name: HF_TOKEN, value: hunter2}",
        "{name: MY_PASSWORD, value: hunter2}",
        "{name: OPENAI_API_KEY, value: hunter2}",
        "{name: client_secret, value: hunter2}",
        "{name: NATS_SERVER, value: 'nats://user:hunter2@host'}",
    ],
)
def test_credentials_are_masked(entry: str) -> None:
    """A literal that sounds like a credential, or holds one in a URL, is not shown in any form, replaced or not."""
    name = entry.partition(",")[0]
    for text in (worker(f"env: [{entry}]"), worker(f"env: [{name}, value: other}}]", graph=f"env: [{entry}]")):
        manifest = render(text)
        assert "hunter2" not in explain_text([manifest])
        assert "hunter2" not in explain_json([manifest])
        assert "***" in explain_text([manifest])


def test_settings_about_text_are_shown() -> None:
    """A number of tokens is no credential."""
    text = explain_text([render(worker("env: [{name: MAX_TOKENS, value: '8192'}, {name: TOKENIZER, value: fast}]"))])
    assert {"8192", "fast"} <= set(text.split())


def test_the_users_own_arguments_are_not_repeated() -> None:
    """They may carry a credential; the position leads to them."""
    text = worker("args: [--api-key, hunter2]").replace("type: worker", "type: frontend")
    manifest = render(text)
    assert "hunter2" not in explain_text([manifest]) + explain_json([manifest])


def test_references_are_shown_by_name() -> None:
    """A secret's name and key are no secret, also under a name that sounds like one."""
    manifest = render(worker("env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}]"))
    assert "secretKeyRef hf/token" in explain_text([manifest])


def test_the_json_form_has_a_schema_version_and_every_entry() -> None:
    """Programs get the same rows, with positions as text."""
    manifest = render(worker("env:\n- {name: A, value: a}", component="minAvailable: 1"))
    document = json.loads(explain_json([manifest]))
    assert document["schema_version"] == 1
    [component] = document["graphs"][0]["components"]
    assert len(component["provenance"]) == len(manifest.components[0].provenance)
    [entry] = [item for item in component["provenance"] if item["name"] == "A"]
    assert entry == {
        "container": "main",
        "subject": "env",
        "name": "A",
        "layer": "component",
        "detail": "Worker",
        "value": "a",
        "position": "-:16",
        "replaced": [],
    }
    assert [item["path"] for item in document["graphs"][0]["not_rendered"]] == ["spec.components[0].minAvailable"]


def test_no_graphs_are_a_valid_answer() -> None:
    """Empty text, and a JSON document without graphs."""
    assert explain_text([]) == ""
    assert json.loads(explain_json([])) == {"schema_version": 1, "graphs": []}
