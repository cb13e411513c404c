"""Cells through an operator, one namespace each: what is applied, seen, decided, kept and taken away again.

The plan, the checks and the reports are the same as on one machine; only where a cell runs is another (`place`).
"""
