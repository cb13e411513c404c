"""The options and variables of every published runtime release on record, read from its wheels."""

from stator.compat.dictionaries.differences import Difference, added_in, removed_since
from stator.compat.dictionaries.options import ComponentDictionary, Dictionary, Option, Parser
from stator.compat.dictionaries.release import dictionary, releases

__all__ = [
    "ComponentDictionary",
    "Dictionary",
    "Difference",
    "Option",
    "Parser",
    "added_in",
    "dictionary",
    "releases",
    "removed_since",
]
