"""An address to serve on, and what to do when it cannot be had: most often another operator of this machine has it."""

from __future__ import annotations

from aiohttp import web

from stator.errors import InvalidInputError, Problem


async def listen(site: web.TCPSite, purpose: str, option: str) -> None:
    """Start the site. Raises InvalidInputError naming the address, the reason and the options that choose another."""
    try:
        await site.start()
    except OSError as error:
        raise InvalidInputError(
            Problem(
                what=f"cannot listen on {site.name} for {purpose}",
                why=str(error),
                remedy=f"end what listens there, perhaps another operator, or choose with --{option}-host and "
                f"--{option}-port",
            )
        ) from error
