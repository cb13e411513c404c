"""Run a rendered graph as processes on one machine.

The way of a graph: `planning` turns what was rendered into a `plan` (what the kubelet would compute is in `kubelet`),
`lifecycle` hands the plan to a `supervisor` process, which writes `state`; `routable` asks the running graph.
"""
