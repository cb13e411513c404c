"""What the API server asks before it stores or shows a graph: defaults, a verdict, another API version.

Pure functions answer (`defaults`, `validation`, `conversion`); `server` carries question and answer over TLS, and
`trust` keeps its certificate, and the API server's trust in it, alive.
"""
