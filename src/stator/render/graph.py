"""`render_graph`: a graph as Kubernetes objects, in apply order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stator.errors import InvalidInputError, Problem
from stator.model import Component, Graph
from stator.model.commandline import CommandLine, read_command_line
from stator.render import images, names, rbac, unrendered
from stator.render.backends.detection import backends_of
from stator.render.component import Parts, component_parts
from stator.render.context import Context, discovery
from stator.render.defaults import args_behind, command_of
from stator.render.deployment_config import configured
from stator.render.generation import worker_hash
from stator.render.manifest import Manifest, NotRendered, RenderedComponent, RenderOptions
from stator.render.metadata import annotations_of
from stator.render.multinode import Provider, Role, roles
from stator.render.objects.accounts import accounts
from stator.render.objects.base_model import model_services
from stator.render.objects.claims import claims
from stator.render.provider import provider_of
from stator.render.sidecars import runtime_container
from stator.render.workloads import deployment, leader_worker_set, pod_clique_set, replicas_of
from stator.render.workloads.grove import Clique, check_update_strategy
from stator.versions import InvalidVersionError, ResolvedVersion, resolve

Json = dict[str, Any]

_DEFAULTS = RenderOptions()
# v1beta1 DynamoGraphDeployment, multinode.nodeCount.
_NODES = 2


def render_graph(graph: Graph, options: RenderOptions = _DEFAULTS) -> Manifest:
    """Render every component, and what they share.

    Objects come in apply order: what the components share, then for each component its ConfigMaps, Service and
    workload; a PodCliqueSet, which is the workload of all, comes last. Raises `InvalidInputError` with every problem
    of the graph.
    """
    problems: list[Problem] = []
    notes: list[NotRendered] = []
    provider = provider_of(graph, options, problems, notes)
    check_update_strategy(graph, problems)
    notes[:0] = unrendered.of_graph(graph, provider, options)
    problems.extend(problem for component in graph.components for problem in images.problems(graph, component))
    contexts = _contexts(graph, options, provider, problems)
    parts = [_parts(component, problems) for component in contexts]
    clique_set = _clique_set(graph, parts, problems) if provider == "grove" else None
    components = tuple(_component(item, clique_set, problems) for item in parts)
    if problems:
        raise InvalidInputError(*problems)
    firsts = [component[0] for component in contexts]
    shared, missing = _shared(graph, firsts)
    scripts = {item["metadata"]["name"]: item for component in parts for item in component.shared}
    return Manifest(
        graph=graph.ref,
        name=graph.name,
        namespace=graph.namespace,
        objects=(
            *shared,
            *accounts(firsts),
            *claims(graph),
            *scripts.values(),
            *model_services(firsts),
            *(item for component in components for item in component.objects),
            *([clique_set] if clique_set else ()),
        ),
        components=components,
        generation=next((component[0].generation for component in contexts if component[0].generation), ""),
        provider=provider,
        not_rendered=(
            *notes,
            *missing,
            *(note for component in components for note in component.not_rendered),
        ),
    )


def _contexts(
    graph: Graph, options: RenderOptions, provider: Provider, problems: list[Problem]
) -> list[tuple[Context, ...]]:
    """Settle what has to be known about all components, in each of their roles, before any of them is rendered."""
    in_roles = {component.name: _roles(graph, provider, component, problems) for component in graph.components}
    leaders = {name: found[0][1] for name, found in in_roles.items()}
    versions = {name: _version(graph, leader, options, problems) for name, leader in leaders.items()}
    command_lines = {name: _command_lines(found, options) for name, found in in_roles.items()}
    backends = backends_of(graph, {name: lines[0] for name, lines in command_lines.items()}, problems)
    generation = worker_hash(graph, versions)
    contexts = []
    for component in graph.components:
        own = generation if component.type in names.WORKER_TYPES else ""
        contexts.append(
            tuple(
                Context(
                    graph=graph,
                    component=in_role,
                    options=options,
                    workload=names.workload_name(graph, component, own if provider == "component" else ""),
                    generation=own,
                    annotations=annotations_of(graph, in_role, provider),
                    version=versions[component.name],
                    backend=backends[component.name],
                    command_line=command_line,
                    provider=provider,
                    role=role,
                    runs_native_engine=runtime_container(in_role, options) is not None,
                )
                for (role, in_role), command_line in zip(
                    in_roles[component.name], command_lines[component.name], strict=True
                )
            )
        )
    return contexts


def _roles(
    graph: Graph, provider: Provider, component: Component, problems: list[Problem]
) -> list[tuple[Role, Component]]:
    """A component's roles, each with the component as it is in that role."""
    multinode = component.other.get("multinode")
    nodes = 1 if multinode is None else multinode.get("nodeCount") or _NODES
    return [
        (role, configured(graph, _in_role(component, role), problems))
        for role in roles(provider, component.name, nodes)
    ]


def _in_role(component: Component, role: Role) -> Component:
    """The component with the role's own pod template, if it has one; its path then leads there."""
    for index, own in enumerate(component.other.get("roles") or ()):
        if own["name"] == role.name and own.get("podTemplate"):
            path = (*component.path, "roles", index)
            return msgspec.structs.replace(component, pod_template=own["podTemplate"], path=path)
    return component


def _version(graph: Graph, component: Component, options: RenderOptions, problems: list[Problem]) -> ResolvedVersion:
    """The component's runtime version; a bad override is a problem at its line, not an old runtime."""
    runtime = runtime_container(component, options)
    try:
        found = resolve(component.runtime_version_override, (runtime or component.main).get("image"))
    except InvalidVersionError as error:
        position = graph.locate(*component.path, "runtimeVersionOverride")
        problems.extend(
            Problem(what=problem.what, position=position, why=problem.why, remedy=problem.remedy)
            for problem in error.problems
        )
        return ResolvedVersion(None, "unresolved", component.runtime_version_override or "", "invalid override")
    return msgspec.structs.replace(found, source="runtime-container") if runtime and found.source == "tag" else found


def _command_lines(in_roles: Sequence[tuple[Role, Component]], options: RenderOptions) -> list[CommandLine]:
    """The command line of each role; roles that share a pod template share it too."""
    lines: list[CommandLine] = []
    for index, (_, component) in enumerate(in_roles):
        same = index > 0 and component.main == in_roles[index - 1][1].main
        lines.append(lines[-1] if same else _command_line(component, options))
    return lines


def _command_line(component: Component, options: RenderOptions) -> CommandLine:
    command, args = ((), ()) if runtime_container(component, options) else command_of(component.type)
    main = component.main
    return read_command_line(main.get("command") or command, main.get("args") or args_behind(main, args))


def _parts(contexts: Sequence[Context], problems: list[Problem]) -> Parts:
    first = contexts[0]
    spans_nodes = first.role.nodes > 1 and first.provider == "component"
    name = names.set_name(first.workload) if spans_nodes else first.workload
    problems.extend(names.problems(first.graph, first.component, name, spans_nodes=spans_nodes))
    return component_parts(contexts, problems)


def _clique_set(graph: Graph, parts: Sequence[Parts], problems: list[Problem]) -> Json:
    cliques = [[Clique(context, pod) for context, pod in zip(item.contexts, item.pods, strict=True)] for item in parts]
    return pod_clique_set(graph, cliques, problems)


def _component(parts: Parts, clique_set: Json | None, problems: list[Problem]) -> RenderedComponent:
    context = parts.context
    templates = {pod.role: pod.template for pod in parts.pods}
    if clique_set is not None:
        workload = clique_set
    elif context.role.nodes > 1:
        workload = leader_worker_set(context, templates, parts.labels)
    else:
        workload = deployment(context, templates["main"], parts.labels, problems)
    return RenderedComponent(
        name=context.component.name,
        type=context.type,
        backend=context.backend,
        version=context.version,
        workload=workload,
        service=parts.service,
        objects=(*parts.objects, *(() if clique_set else (workload,))),
        provenance=parts.provenance,
        pods=parts.pods,
        replicas=replicas_of(context),
        findings=parts.findings,
        repairs=parts.repairs,
        not_rendered=(*unrendered.of_component(context), *parts.not_rendered),
        facts=parts.facts,
    )


def _shared(graph: Graph, contexts: list[Context]) -> tuple[tuple[dict[str, Any], ...], tuple[NotRendered, ...]]:
    """Discovery's objects, if any component discovers through Kubernetes.

    A DynamoComponentDeployment that names its graph in a label uses that graph's.
    """
    if all(discovery(context.annotations, context.options) != "kubernetes" for context in contexts):
        return (), ()
    if names.parent_name(graph) != graph.name:
        account = f"ServiceAccount/{graph.namespace}/{rbac.account_name(names.parent_name(graph))}"
        return (), (NotRendered((account,), graph.locate("metadata", "labels"), "the graph it belongs to makes it"),)
    return rbac.discovery_objects(graph), ()
