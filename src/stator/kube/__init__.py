"""The Kubernetes port: a client, watched caches, a keyed queue and what a controller needs around them.

It knows nothing of the resources it is used for. Objects are plain JSON values; the only things read in them are
metadata and, where a verb of the API says so, the field the verb is about. Every error is an `errors.ApiError`.

The way of a change: `client` streams it, `informer` keeps a projection of it in a `store` and hands keys to a `queue`,
a `controller` takes keys from the queue and reconciles, `apply` writes what differs, `events` says what was done.
`lease` decides which replica may do so, `health` whether the whole is still alive.

Time is the event loop's (`loop.time`, `asyncio.sleep`), chance is a `random.Random` argument: tests run on a loop whose
clock jumps.
"""
