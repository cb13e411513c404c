"""Structured logs: one JSON object per line, with the object and the pass that a line is about.

`bound(...)` gives everything that is logged inside it, by whatever function, the object and the reconcile id. Field
values are names, reasons and numbers; bodies of objects are never logged, since they may carry what is secret.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, Literal, TextIO

import structlog

Format = Literal["json", "text"]
Level = Literal["debug", "info", "warning", "error"]

bound = structlog.contextvars.bound_contextvars


def configure(form: Format = "json", level: Level = "info", stream: TextIO | None = None) -> None:
    """Set up logging of the process, once. What libraries log through `logging` goes the same way, from warnings up."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    ]
    stream = stream or sys.stderr
    plain = structlog.dev.ConsoleRenderer(colors=stream.isatty())
    last: Any = structlog.processors.JSONRenderer() if form == "json" else plain
    structlog.configure(
        processors=[
            *shared,
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    rest = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, last]
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=rest))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("stator").setLevel(getattr(logging, level.upper()))


def logger(name: str) -> Any:
    """The logger of a module: `logger(__name__).info("event", key=value)`."""
    return structlog.stdlib.get_logger(name)
