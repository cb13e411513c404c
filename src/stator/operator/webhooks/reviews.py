"""Questions of the API server and answers to it, as they go over the wire.

`admission.k8s.io/v1` AdmissionReview and `apiextensions.k8s.io/v1` ConversionReview; only what is used is decoded.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

from stator.errors import Problem

Json = dict[str, Any]

_UNPROCESSABLE = 422


class User(msgspec.Struct, frozen=True):
    """Who asks the API server."""

    username: str = ""


class GroupVersionKind(msgspec.Struct, frozen=True):
    """Which kind an object is of."""

    kind: str
    group: str = ""
    version: str = ""


class AdmissionRequest(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One object on its way to storage, as it was submitted. `old_object` is there on UPDATE."""

    uid: str
    kind: GroupVersionKind
    operation: str
    namespace: str = ""
    name: str = ""
    user_info: User = User()
    object: Json | None = None
    old_object: Json | None = None


class ConversionRequest(msgspec.Struct, frozen=True, rename="camel"):
    """Objects that are wanted in another API version (`group/version`)."""

    uid: str
    desired_api_version: str = msgspec.field(name="desiredAPIVersion")
    objects: list[Json] = []


class AdmissionReview(msgspec.Struct, frozen=True):
    """The envelope of an admission question."""

    request: AdmissionRequest


class ConversionReview(msgspec.Struct, frozen=True):
    """The envelope of a conversion question."""

    request: ConversionRequest


class Verdict(msgspec.Struct, frozen=True):
    """Whether an object may be stored: not if there are `problems`. `warnings` are shown to the user either way."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


def allowed(request: AdmissionRequest, patch: Sequence[Json] = ()) -> Json:
    """The answer that lets an object through, with a JSON patch (RFC 6902) if there is one."""
    response: Json = {"uid": request.uid, "allowed": True}
    if patch:
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(msgspec.json.encode(patch)).decode()}
    return _admission(response)


def judged(request: AdmissionRequest, verdict: Verdict) -> Json:
    """The answer for a verdict: every problem at once, as text and as causes with the paths of fields."""
    response: Json = {"uid": request.uid, "allowed": not verdict.problems}
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    if verdict.problems:
        response["status"] = {
            "code": _UNPROCESSABLE,
            "reason": "Invalid",
            "message": "; ".join(_line(problem) for problem in verdict.problems),
            "details": {
                "group": request.kind.group,
                "kind": request.kind.kind,
                "name": request.name,
                "causes": [_cause(problem) for problem in verdict.problems],
            },
        }
    return _admission(response)


def converted(request: ConversionRequest, objects: Sequence[Json]) -> Json:
    """The answer with the objects in the version that was asked for, in the order of the question."""
    return _conversion({"uid": request.uid, "result": {"status": "Success"}, "convertedObjects": list(objects)})


def not_converted(request: ConversionRequest, why: str) -> Json:
    """The answer for objects of which one cannot be converted."""
    return _conversion({"uid": request.uid, "result": {"status": "Failure", "message": why}})


def field_of(problem: Problem) -> str:
    """The path of the field a problem is about, `""` if it is about no single one."""
    return problem.position.field if problem.position else ""


def text_of(problem: Problem) -> str:
    """A problem without its place, in one line."""
    return (
        problem.what + (f": {problem.why}" if problem.why else "") + (f" ({problem.remedy})" if problem.remedy else "")
    )


def _line(problem: Problem) -> str:
    field = field_of(problem)
    return f"{field}: {text_of(problem)}" if field else text_of(problem)


def _cause(problem: Problem) -> Json:
    return {"reason": "FieldValueInvalid", "field": field_of(problem), "message": text_of(problem)}


def _admission(response: Json) -> Json:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def _conversion(response: Json) -> Json:
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}
