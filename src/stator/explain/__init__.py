"""Answers to "where does this come from?" about one component."""

from stator.explain.variables import Unread, Variable, Variables, VariableSource, variables

__all__ = ["Unread", "Variable", "VariableSource", "Variables", "variables"]
