"""Edits of findings written into their files: nothing else of a file changes, or the edit is refused by name."""

from stator.check.fixes.files import difference, write
from stator.check.fixes.fixing import Fixed, Fixing, Unfixed, fix

__all__ = ["Fixed", "Fixing", "Unfixed", "difference", "fix", "write"]
