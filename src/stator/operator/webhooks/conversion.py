"""Objects in the other API version. What converts is `stator.model.conversion`; here a failure becomes an answer."""

from __future__ import annotations

from typing import Any, Literal, cast

from stator.model.conversion import converted as in_version
from stator.model.identity import GRAPH_VERSIONS, GROUP
from stator.model.load import without_nulls
from stator.operator.webhooks.reviews import ConversionRequest, converted, not_converted

Json = dict[str, Any]

_KINDS = frozenset({"DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoGraphDeploymentScalingAdapter"})


def convert(request: ConversionRequest) -> Json:
    """The answer to a conversion question: every object, or why one of them cannot be converted.

    Metadata stays as it is, but for the annotations in which conversion keeps what a version cannot say.
    """
    group, _, version = request.desired_api_version.partition("/")
    if group != GROUP or version not in GRAPH_VERSIONS:
        return not_converted(request, f"there is no conversion to {request.desired_api_version}")
    results = []
    for value in request.objects:
        kind, name = value.get("kind"), value.get("metadata", {}).get("name", "")
        if kind not in _KINDS:
            return not_converted(request, f"{kind}/{name} has one version only")
        try:
            results.append(in_version(without_nulls(value), cast("Literal['v1beta1', 'v1alpha1']", version)))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # Only an object that was stored without a schema can be of other types than it says.
            what = f"{kind}/{name} does not have the types of its schema: {type(error).__name__}"
            return not_converted(request, f"{what}; edit it in the version it is stored in, {value.get('apiVersion')}")
    return converted(request, results)
