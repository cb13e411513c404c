"""A rolling upgrade of a graph that is being used: old and new serve at once, and what fails is counted.

`moves` says in which order parts change, `traffic` uses the graph all the while, `units` are pods that start and stop
one by one, `perform` conducts, `report` says what came of it.
"""
