"""What is applied has the form in which the API server keeps it."""

from __future__ import annotations

from stator.operator.completed import completed


def test_a_variable_without_a_value_is_sent_as_it_is_kept() -> None:
    """The server drops an empty value; sent with one, an operator that starts would apply the Deployment again."""
    env = [{"name": "A", "value": ""}, {"name": "B", "value": "b"}]
    pod = {"containers": [{"name": "main", "env": env}]}
    made = completed({"kind": "Deployment", "spec": {"template": {"spec": pod}}})
    assert made["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A"}, {"name": "B", "value": "b"}]
