"""Run a rendered graph as processes on one machine."""
