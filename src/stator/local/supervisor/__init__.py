"""The process that looks after one running graph: starts, probes, restarts and ends its pods, and serves its services.

It imports no part of the engine, waits for events and never polls, so that it costs next to nothing beside the
runtimes it supervises.
"""
