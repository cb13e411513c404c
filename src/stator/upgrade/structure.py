"""The differences of two plain JSON values, in the paths of a Kubernetes object.

Lists whose items have a name (containers, env, volumes) are maps in disguise and are compared by name, with their
order as a difference of its own; every other list is compared as a whole. Texts are fit to be shown: lists of words
(a command may hold a credential) and whole structures are not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stator.render.environment import shown
from stator.render.explain import masked_value
from stator.upgrade.change import Change, Subject

_KEYS = ("name", "mountPath", "containerPort")
_ABSENT: Any = object()


def differences(before: Any, after: Any, path: str = "", subject: Subject = "field") -> Iterator[Change]:
    """Every difference, by path (`spec.containers[main].image`), in the order of the keys."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            step = f"{path}.{key}" if path else key
            yield from differences(before.get(key, _ABSENT), after.get(key, _ABSENT), step, subject)
    elif (key := _key(before)) and key == _key(after):
        yield from _items(before, after, path, key, subject)
    else:
        old, new = _text(path, before), _text(path, after)
        if old == new:
            new = f"{new} (another)"
        yield Change(subject=subject, name=path, before=old, after=new)


def _items(before: Any, after: Any, path: str, key: str, subject: Subject) -> Iterator[Change]:
    old, new = ({item[key]: item for item in items} for items in (before, after))
    for name in dict.fromkeys((*old, *new)):
        yield from differences(old.get(name, _ABSENT), new.get(name, _ABSENT), f"{path}[{name}]", subject)
    if [name for name in old if name in new] != [name for name in new if name in old]:
        order = [" ".join(map(str, (name for name in one if name in other))) for one, other in ((old, new), (new, old))]
        yield Change(subject=subject, name=f"{path} (order)", before=order[0], after=order[1])


def _key(value: Any) -> str:
    """The field that tells a list's items apart, or an empty text."""
    if not isinstance(value, list) or not value or not all(isinstance(item, Mapping) for item in value):
        return ""
    unique = (key for key in _KEYS if len({item.get(key, _ABSENT) for item in value}) == len(value))
    return next((key for key in unique if all(key in item for item in value)), "")


def _text(path: str, value: Any) -> str | None:
    if value is _ABSENT:
        return None
    if isinstance(value, Mapping):
        is_env = "name" in value and ("value" in value or "valueFrom" in value)
        return masked_value(str(value["name"]), shown(value)) if is_env else "{...}"
    if isinstance(value, list):
        return f"[{len(value)} item{'' if len(value) == 1 else 's'}]"
    return masked_value(path, str(value).lower() if isinstance(value, bool) else str(value))
