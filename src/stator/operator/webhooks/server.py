"""The webhook server: questions in over TLS, answers out, and nothing kept between two of them.

Only POST of JSON, bodies bounded, and the work in threads: a large object holds up neither the lease nor the caches
that live in the same process. What fails here is logged and answered as a server error, which the API server treats by
each webhook's failure policy.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
import structlog
from aiohttp import web

from stator.operator import names
from stator.operator.listening import listen
from stator.operator.webhooks.conversion import convert
from stator.operator.webhooks.defaults import defaults
from stator.operator.webhooks.reviews import AdmissionReview, ConversionReview, allowed, judged
from stator.operator.webhooks.validation import Policy, validate

Json = dict[str, Any]
Review = TypeVar("Review")

# An API server takes objects of 3 MiB, and asks about two at a time; it converts lists in one question.
LARGEST_ADMISSION = 8 << 20
LARGEST_CONVERSION = 64 << 20
# Questions that are worked on at one time; others wait, as threads share one interpreter.
AT_A_TIME = 4
# The API server gives up after 10 seconds (30 for conversion) anyway.
_SLOWEST_BODY = 30.0


@asynccontextmanager
async def webhook_server(
    policy: Callable[[], Policy], tls: ssl.SSLContext, *, host: str, port: int
) -> AsyncIterator[int]:
    """Serve while the context lasts; the port that was taken (`port` 0 takes a free one).

    `policy` is asked for each question. `tls` may get another certificate at any time.
    Raises InvalidInputError if the address cannot be had.
    """
    slots = asyncio.Semaphore(AT_A_TIME)
    runner = web.AppRunner(_application(policy, slots), access_log=None, keepalive_timeout=90, shutdown_timeout=10)
    await runner.setup()
    try:
        await listen(web.TCPSite(runner, host, port, ssl_context=tls), "the webhooks", "webhook")
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _application(policy: Callable[[], Policy], slots: asyncio.Semaphore) -> web.Application:
    def default(review: AdmissionReview) -> Json:
        return allowed(review.request, defaults(review.request, policy().options))

    def judge(review: AdmissionReview) -> Json:
        return judged(review.request, validate(review.request, policy()))

    def converted(review: ConversionReview) -> Json:
        return convert(review.request)

    application = web.Application(client_max_size=LARGEST_CONVERSION)
    application.add_routes(
        [
            web.post(names.DEFAULT_PATH, _answering(default, AdmissionReview, LARGEST_ADMISSION, slots)),
            web.post(names.VALIDATE_PATH, _answering(judge, AdmissionReview, LARGEST_ADMISSION, slots)),
            web.post(names.CONVERT_PATH, _answering(converted, ConversionReview, LARGEST_CONVERSION, slots)),
        ]
    )
    return application


def _answering(
    answer: Callable[[Review], Json], kind: type[Review], largest: int, slots: asyncio.Semaphore
) -> Callable[[web.Request], Awaitable[web.Response]]:
    decode = msgspec.json.Decoder(kind).decode
    log = structlog.get_logger("stator.webhooks")

    def work(body: bytes) -> bytes:
        return msgspec.json.encode(answer(decode(body)))

    async def handler(request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="a question is application/json")
        if (request.content_length or 0) > largest:
            raise web.HTTPRequestEntityTooLarge(largest, request.content_length or 0)
        body = await _body(request, largest)
        async with slots:
            try:
                answered = await asyncio.to_thread(work, body)
            except msgspec.MsgspecError as error:
                raise web.HTTPBadRequest(text=f"this is no {kind.__name__}: {error}") from error
            except Exception as error:
                log.exception("webhook failed", path=request.path)
                raise web.HTTPInternalServerError(text="the webhook failed; its log says more") from error
        return web.Response(body=answered, content_type="application/json")

    return handler


async def _body(request: web.Request, largest: int) -> bytes:
    """The body; raises for one that is too large or takes too long to come."""
    body = bytearray()
    try:
        async with asyncio.timeout(_SLOWEST_BODY):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > largest:
                    raise web.HTTPRequestEntityTooLarge(largest, len(body))
    except TimeoutError as error:
        raise web.HTTPRequestTimeout(text="the question did not come in time") from error
    return bytes(body)
