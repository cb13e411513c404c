"""What a module stopped or began to accept between two releases."""

from __future__ import annotations

import msgspec

from stator.compat.dictionaries.options import ComponentDictionary


class Difference(msgspec.Struct, frozen=True):
    """Spellings of options and names of variables that one release has and the other has not.

    Engine options count only where both releases have them on record: an engine that was not read proves nothing. For a
    module that passes options on to an engine that is not on record, a spelling that left the module may still be the
    engine's own.
    """

    options: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()


def removed_since(old: ComponentDictionary, new: ComponentDictionary) -> Difference:
    """What `old` accepts and `new` does not."""
    both_engines = old.engine_checked and new.engine_checked
    known = {s for s, option in old.spellings.items() if option.owner == "dynamo" or both_engines}
    return Difference(frozenset(known - new.spellings.keys()), old.variables - new.variables)


def added_in(new: ComponentDictionary, old: ComponentDictionary) -> Difference:
    """What `new` accepts and `old` does not."""
    return removed_since(new, old)
