"""What can go wrong in a request, as one family; exceptions of the HTTP library never leave this package.

The classes follow the status reasons of the API (API conventions, "Response Status Kind"), because callers decide by
them: a conflict is retried with a fresh read, an expired list is listed anew, a forbidden request needs a person.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from stator.errors import ExitCode, Problem, StatorError

# How the server begins a message (apimachinery, pkg/api/errors): with the object that the request names anyway.
_OF_SUBJECT = re.compile(
    r'^(?:Operation cannot be fulfilled on \S+ "[^"]*": |\S+(?: "[^"]*")? is (?:forbidden|invalid): '
    r'|\S+ "[^"]*" (?=(?:not found|already exists)$))'
)
_CONFLICT_WITH = re.compile(r'conflict with "(?P<manager>.*?)"')
NO_RESPONSE = 0
UNAUTHORIZED = 401
CONFLICT = 409
TOO_MANY_REQUESTS = 429


class Request(NamedTuple):
    """What was asked for, as errors and metrics name it."""

    verb: str
    kind: str
    namespace: str = ""
    name: str = ""

    @property
    def subject(self) -> str:
        """`Kind/namespace/name`, without the parts that are not there."""
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


class ApiError(StatorError):
    """A request to the API server failed. `status` is the HTTP status, `reason` the API's own word for it.

    `message` is why, without what was asked for: that is in `request`.
    """

    exit_code = ExitCode.UNDECIDED
    remedy = ""

    def __init__(
        self,
        request: Request,
        message: str,
        *,
        status: int = NO_RESPONSE,
        reason: str = "",
        details: dict[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.request = request
        self.message = message
        self.status = status
        self.reason = reason
        self.details = details or {}
        self.retry_after = retry_after
        super().__init__(
            Problem(
                what=f"cannot {request.verb} {request.subject}",
                why=message,
                remedy=self.remedy,
            )
        )


class UnreachableError(ApiError):
    """No answer: no connection, a broken one, or none within the timeout. Whether a write was done is unknown."""

    remedy = "see that the API server of the kubeconfig is up and reachable from here"


class UntrustedError(UnreachableError):
    """The server shows a certificate that nobody vouches for who is known here: often it is another server."""

    remedy = "use the kubeconfig of this very cluster, with the authority of its certificate (certificate-authority)"


class BadRequestError(ApiError):
    """400: the request itself is malformed."""


class UnauthorizedError(ApiError):
    """401: the credentials are not accepted, also after they were read anew."""

    remedy = "renew the credentials of the kubeconfig or the service account"


class ForbiddenError(ApiError):
    """403: RBAC or an admission plugin does not allow it."""

    remedy = "grant the verb on this resource to the account that is used (the message names both)"


class NotFoundError(ApiError):
    """404: the object or its whole kind does not exist."""


class AlreadyExistsError(ApiError):
    """409 on creation: another object has the name."""


class ConflictError(ApiError):
    """409: the object changed since it was read, or is not the one (uid) that was meant."""


class FieldConflict(NamedTuple):
    """A field that another manager owns."""

    manager: str
    field: str


class FieldConflictError(ApiError):
    """409 on apply: other managers own fields that the applied object sets differently."""

    remedy = "remove the field from one side, or let the other manager give it up"

    @property
    def conflicts(self) -> tuple[FieldConflict, ...]:
        """Who owns what, as the server lists it."""
        causes = self.details.get("causes") or ()
        return tuple(
            FieldConflict(match["manager"], str(cause.get("field", "")))
            for cause in causes
            if (match := _CONFLICT_WITH.search(str(cause.get("message", ""))))
        )


class ExpiredError(ApiError):
    """410: the resource version or continue token is older than what the server keeps."""


class InvalidError(ApiError):
    """422: validation or a schema refuses the object; `causes` has every field."""

    @property
    def causes(self) -> tuple[tuple[str, str], ...]:
        """`(field, message)` of each refused field."""
        causes = self.details.get("causes") or ()
        return tuple((str(cause.get("field", "")), str(cause.get("message", ""))) for cause in causes)


class TooLargeError(ApiError):
    """413, or 500 with etcd's own refusal: the object is larger than a request, or than what is stored, may be."""

    remedy = "make the object smaller: large values belong into ConfigMaps of their own"


class TooManyRequestsError(ApiError):
    """429: the server asks to come back later, and did so until the retries were used up."""


class ServerError(ApiError):
    """5xx: the server, its storage or a webhook failed."""


class ConfigurationError(StatorError):
    """The kubeconfig (or the service account of the pod) cannot be used."""


class UnfitClusterError(StatorError):
    """The cluster answers, and lacks what was asked about: kinds that are not installed, rights of the account."""

    exit_code = ExitCode.UNDECIDED


# What etcd says of a value above its limit (`--max-request-bytes`); the API server makes a 500 of it.
_TOO_LARGE = "request is too large"

_BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequestError,
    UNAUTHORIZED: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    CONFLICT: ConflictError,
    410: ExpiredError,
    413: TooLargeError,
    422: InvalidError,
    TOO_MANY_REQUESTS: TooManyRequestsError,
}


def from_status(request: Request, code: int, status: Any, *, retry_after: float | None = None) -> ApiError:
    """The error for a `Status` object (or whatever body came with an HTTP status of 400 or more)."""
    value = status if isinstance(status, dict) else {}
    details = value.get("details")
    details = details if isinstance(details, dict) else {}
    reason = str(value.get("reason") or "")
    message = str(value.get("message") or f"HTTP status {code}")
    return _class_of(code, reason, message, details)(
        request,
        _OF_SUBJECT.sub("", message),
        status=code,
        reason=reason,
        details=details,
        retry_after=retry_after,
    )


def _class_of(code: int, reason: str, message: str, details: dict[str, Any]) -> type[ApiError]:
    if code == CONFLICT and reason == "AlreadyExists":
        return AlreadyExistsError
    if code == CONFLICT and any(cause.get("reason") == "FieldManagerConflict" for cause in details.get("causes") or ()):
        return FieldConflictError
    if code >= 500 and _TOO_LARGE in message:  # noqa: PLR2004 # RFC 9110, section 15.6
        return TooLargeError
    return _BY_STATUS.get(code, ServerError if code >= 500 else ApiError)  # noqa: PLR2004 # RFC 9110, section 15.6
