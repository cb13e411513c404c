"""Every supported pair of frontend and worker, run for real, and a rolling upgrade rehearsed under traffic.

The way of a cell: `releases` says which patch stands for a minor line, `cells` plans the pairs, `scenarios` makes the
graph of each, `running` brings it up through `stator.local` and asks it what `checks` want to know, `results` keeps
what was seen, `reports` show it. `rehearsal` upgrades a graph that is being used.
"""
