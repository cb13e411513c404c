"""`render_graph`: a graph as the objects of the component path, single node, one Deployment per component."""

from __future__ import annotations

from typing import Any

from stator.errors import InvalidInputError, Problem
from stator.model import Component, Graph
from stator.model.commandline import CommandLine, read_command_line
from stator.render import names, nixl, rbac, unrendered
from stator.render.backend import backends_of
from stator.render.container import main_container
from stator.render.context import Context, discovery
from stator.render.defaults import command_of, defaults_of
from stator.render.generation import worker_hash
from stator.render.manifest import Manifest, NotRendered, RenderedComponent, RenderOptions
from stator.render.metadata import pod_annotations, workload_labels
from stator.render.pod import pod_spec
from stator.render.repair import repaired
from stator.render.service import service
from stator.render.workload import deployment
from stator.versions import InvalidVersionError, ResolvedVersion, resolve

_DEFAULTS = RenderOptions()


def render_graph(graph: Graph, options: RenderOptions = _DEFAULTS) -> Manifest:
    """Render every component, and what they share.

    Objects come in apply order: discovery's account and role, then for each component its ConfigMaps, Service and
    Deployment. Raises `InvalidInputError` with every problem of the graph.
    """
    problems: list[Problem] = []
    contexts = _contexts(graph, options, problems)
    components = tuple(_component(context, problems) for context in contexts)
    if problems:
        raise InvalidInputError(*problems)
    shared, notes = _shared(graph, contexts)
    return Manifest(
        graph=graph.ref,
        name=graph.name,
        namespace=graph.namespace,
        objects=(*shared, *(item for component in components for item in component.objects)),
        components=components,
        generation=next((context.generation for context in contexts if context.generation), ""),
        not_rendered=(
            *unrendered.of_graph(graph),
            *notes,
            *(note for component in components for note in component.not_rendered),
        ),
    )


def _contexts(graph: Graph, options: RenderOptions, problems: list[Problem]) -> list[Context]:
    """Settle what has to be known about all components before any of them is rendered."""
    versions = {component.name: _version(graph, component, problems) for component in graph.components}
    command_lines = {component.name: _command_line(component) for component in graph.components}
    backends = backends_of(graph, command_lines, problems)
    generation = worker_hash(graph, versions)
    return [
        Context(
            graph=graph,
            component=component,
            options=options,
            workload=names.workload_name(graph, component, generation),
            generation=generation if component.type in names.WORKER_TYPES else "",
            annotations=pod_annotations(graph, component),
            version=versions[component.name],
            backend=backends[component.name],
            command_line=command_lines[component.name],
        )
        for component in graph.components
    ]


def _version(graph: Graph, component: Component, problems: list[Problem]) -> ResolvedVersion:
    """The component's runtime version; a bad override is a problem at its line, not an old runtime."""
    try:
        return resolve(component.runtime_version_override, component.main.get("image"))
    except InvalidVersionError as error:
        position = graph.locate(*component.path, "runtimeVersionOverride")
        problems.extend(
            Problem(what=problem.what, position=position, why=problem.why, remedy=problem.remedy)
            for problem in error.problems
        )
        return ResolvedVersion(None, "unresolved", component.runtime_version_override or "", "invalid override")


def _command_line(component: Component) -> CommandLine:
    command, args = command_of(component.type)
    main = component.main
    return read_command_line(main.get("command") or command, main.get("args") or args)


def _component(context: Context, problems: list[Problem]) -> RenderedComponent:
    graph, component = context.graph, context.component
    problems.extend(unrendered.refused(component, graph, context.options))
    problems.extend(names.problems(graph, component, context.workload))
    notes: list[NotRendered] = list(unrendered.of_component(component, graph))
    labels = workload_labels(context)
    defaults = defaults_of(context)
    main = main_container(context, defaults, problems)
    result = repaired(context, main, labels)
    body = main.body
    if ports := nixl.exporter_ports(context, body, main.env, problems):
        body["ports"] = ports
    body["env"] = [dict(entry.body) for entry in result.env]
    if result.env_from:
        body["envFrom"] = list(result.env_from)
    workload = deployment(context, pod_spec(context, body, defaults, notes), labels, problems)
    own_service = service(context, labels)
    objects = (*result.config_maps, *([own_service] if own_service else ()), workload)
    return RenderedComponent(
        name=component.name,
        type=context.type,
        backend=context.backend,
        version=context.version,
        workload=workload,
        service=own_service,
        objects=objects,
        provenance=(
            *(entry.provenance("main") for entry in result.env),
            *result.env_from_provenance,
            *main.provenance,
        ),
        findings=result.findings,
        repairs=result.rules,
        not_rendered=tuple(notes),
        facts=result.facts,
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
