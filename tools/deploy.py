"""Writes `deploy/`: the installation as plain definitions, as a kustomize base and as a Helm chart.

    python tools/deploy.py            writes the files
    python tools/deploy.py --check    says which are not what they should be, and exits with 1 if any is

All of it comes from `stator.install`, which also `stator install` prints; `tests/install/test_deploy.py` renders the
base and the chart and compares. The chart is the usual installation with values for image, replicas and what is
refused; for the variants, an operator of one namespace or without webhooks, use `stator install`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from stator import __version__
from stator.install.crds import BETA, custom_resource_definitions
from stator.install.installation import installation
from stator.install.settings import Settings
from stator.install.webhooks import by_service
from stator.operator.names import CONVERT_PATH
from stator.render.output import to_yaml

Json = dict[str, Any]

DEPLOY = Path(__file__).parents[1] / "deploy"
HEADER = "# Made by tools/deploy.py.\n"
# Values that stand for the chart's own while the objects are written.
REPLICAS, REJECT = 9301, "REJECT"
IN_CHART = Settings(
    namespace="{{ .Release.Namespace }}", image="{{ .Values.image }}", replicas=REPLICAS, reject=(REJECT,)
)
KINDS = {
    "rights": ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"),
    "operator": ("Service", "Deployment"),
    "budget": ("PodDisruptionBudget",),
    "webhooks": ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
}
CHART = f"""\
apiVersion: v2
name: stator
description: Operator for LLM inference graphs whose parts are at different versions
type: application
version: {__version__}
appVersion: {__version__}
"""
VALUES = f"""\
# Image of the operator.
image: {Settings().image}
# One replica leads; all of them serve the webhooks.
replicas: {Settings().replicas}
# Rules (DYN201) and severities (error) of findings that refuse a graph; they are warnings otherwise.
reject: []
"""


def files() -> dict[str, str]:
    """Path below `deploy/` -> content."""
    return _definitions() | _kustomize() | _chart()


def _definitions() -> dict[str, str]:
    """The definitions for a cluster without webhooks, one a file."""
    made = {f"crds/{item['metadata']['name']}.yaml": HEADER + to_yaml([item]) for item in custom_resource_definitions()}
    names = [path.removeprefix("crds/") for path in made]
    return made | {"crds/kustomization.yaml": _kustomization(resources=names)}


def _kustomize() -> dict[str, str]:
    objects = installation(Settings())
    rest = [item for item in objects if item["kind"] != "CustomResourceDefinition"]
    patches = [
        {"target": {"kind": "CustomResourceDefinition", "name": item["metadata"]["name"]}, "patch": _conversion(item)}
        for item in objects
        if item["kind"] == "CustomResourceDefinition" and "conversion" in item["spec"]
    ]
    return {
        "kustomize/installation.yaml": HEADER + to_yaml(rest),
        "kustomize/kustomization.yaml": _kustomization(resources=["../crds", "installation.yaml"], patches=patches),
    }


def _kustomization(**fields: Any) -> str:
    return HEADER + to_yaml([{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **fields}])


def _conversion(definition: Json) -> str:
    """The JSON patch that serves the old version and names the webhook that converts."""
    old = [index for index, version in enumerate(definition["spec"]["versions"]) if version["name"] != BETA]
    operations = [{"op": "replace", "path": f"/spec/versions/{index}/served", "value": True} for index in old]
    operations.append({"op": "add", "path": "/spec/conversion", "value": definition["spec"]["conversion"]})
    return to_yaml(operations).replace("---\n", "- ").replace("\n", "\n  ").replace("\n  - ", "\n- ").rstrip() + "\n"


def _chart() -> dict[str, str]:
    objects = installation(IN_CHART)
    definitions = custom_resource_definitions(by_service(IN_CHART)(CONVERT_PATH))
    for item in definitions:
        # Whoever uninstalls the chart keeps the graphs.
        item["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    made = {"crds": to_yaml(definitions)} | {
        name: to_yaml(item for item in objects if item["kind"] in kinds) for name, kinds in KINDS.items()
    }
    made["budget"] = "{{- if gt (int .Values.replicas) 1 }}\n" + made["budget"] + "{{- end }}\n"
    templates = {f"helm/stator/templates/{name}.yaml": HEADER + _with_values(text) for name, text in made.items()}
    return {"helm/stator/Chart.yaml": HEADER + CHART, "helm/stator/values.yaml": HEADER + VALUES, **templates}


def _with_values(text: str) -> str:
    """The text with the chart's values in the places of those that stand for them."""
    lines = []
    for line in text.replace(f"replicas: {REPLICAS}", "replicas: {{ .Values.replicas }}").splitlines():
        if line.strip() == f"- --reject={REJECT}":
            indent = line[: line.index("-")]
            lines += ["{{- range .Values.reject }}", f"{indent}- --reject={{{{ . }}}}", "{{- end }}"]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def stale(directory: Path) -> list[str]:
    """The files that are missing, differ, or are not made any more."""
    wanted = files()
    made = ("crds", "kustomize", "helm")
    found = {
        str(path.relative_to(directory)) for part in made for path in (directory / part).rglob("*") if path.is_file()
    }
    differing = {name for name, text in wanted.items() if name in found and (directory / name).read_text() != text}
    return sorted(differing | (found ^ set(wanted)))


def main() -> None:
    """Write or check."""
    if "--check" in sys.argv[1:]:
        wrong = stale(DEPLOY)
        print("\n".join(f"deploy/{name} is not what tools/deploy.py makes" for name in wrong), end="\n" * bool(wrong))
        sys.exit(bool(wrong))
    for name, text in files().items():
        path = DEPLOY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
