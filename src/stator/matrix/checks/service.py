"""The frontend's own endpoints: which models it lists, and whether it says that it is healthy and why."""

from __future__ import annotations

from stator.matrix.checks.response import beginning, read_object
from stator.matrix.exchange import Exchange

MODELS = "/v1/models"
HEALTH = "/health"


def judge_models(exchange: Exchange, model: str) -> tuple[str, ...]:
    """A list of model objects, each once, the wanted one among them."""
    body, unread = read_object(exchange)
    if unread:
        return unread
    data = body.get("data")
    if body.get("object") != "list" or not isinstance(data, list):
        return (f"no list of models: {beginning(exchange.body)}",)
    if not all(isinstance(entry, dict) and entry.get("object") == "model" for entry in data):
        return (f"something in the list is no model: {beginning(exchange.body)}",)
    names = [str(entry.get("id")) for entry in data]
    wrong = []
    if model not in names:
        wrong.append(f"{model!r} is not among the models: {', '.join(names) or 'none'}")
    if len(set(names)) != len(names):
        wrong.append(f"a model is listed twice: {', '.join(names)}")
    return tuple(wrong)


def judge_health(exchange: Exchange) -> tuple[str, ...]:
    """Healthy, with at least one instance that generates: healthy alone is also said without any worker."""
    body, unread = read_object(exchange)
    if unread:
        return unread
    wrong: list[str] = []
    if body.get("status") != "healthy":
        wrong.append(f"status is {body.get('status')!r}, not 'healthy'")
    instances = body.get("instances")
    if not isinstance(instances, list) or not any(
        isinstance(instance, dict) and instance.get("endpoint") == "generate" for instance in instances
    ):
        wrong.append("no instance of an endpoint generate")
    return tuple(wrong)


def served_models(exchange: Exchange) -> tuple[str, ...]:
    """The names in a list of models, none if it is not one."""
    data = read_object(exchange)[0].get("data")
    return tuple(
        entry["id"]
        for entry in (data if isinstance(data, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    )
