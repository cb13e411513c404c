"""Sources to an inventory."""

from __future__ import annotations

import io
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from stator.errors import InvalidInputError, Problem
from stator.model import Inventory, load

GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: NAME}
spec:
  components:
  - name: main
    podTemplate: {spec: {containers: [{name: main, image: "x:1.6.1"}]}}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team}\n"
OPAQUE = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"

Load = Callable[..., Inventory]
Problems = Callable[..., list[Problem]]


def graph(name: str) -> str:
    """A small valid graph."""
    return GRAPH.replace("NAME", name)


def problems(*sources: Path | str) -> list[str]:
    """All problems of the sources, as text."""
    with pytest.raises(InvalidInputError) as raised:
        load([str(source) for source in sources])
    return [str(problem) for problem in raised.value.problems]


def test_directories_are_read_recursively_in_order(tmp_path: Path) -> None:
    """Manifests of every suffix are found by name, hidden files and other files are left out."""
    for name in ("b.yml", "a.yaml", "sub/c.json", ".hidden.yaml", ".git/d.yaml", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(graph(Path(name).stem.lstrip(".")))
    assert [found.name for found in load([str(tmp_path)]).graphs] == ["a", "b", "c"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    """A directory and a file in it may both be given."""
    (tmp_path / "a.yaml").write_text(graph("a"))
    (tmp_path / "link.yaml").symlink_to("a.yaml")
    assert len(load([str(tmp_path), str(tmp_path / "a.yaml")]).graphs) == 1


def test_standard_input_may_be_text_or_bytes(load_text: Load) -> None:
    """`-` reads what it is given, and positions call it `-`."""
    (found,) = load(["-"], stdin=StringIO(graph("a"))).graphs
    assert str(found.locate("metadata", "name")) == "-:3"
    assert load_text(graph("a")).graphs[0].name == "a"


def test_every_problem_of_every_source_is_raised_at_once(tmp_path: Path) -> None:
    """A missing file, a broken file, an empty directory and a wrong field are one report, in the order of reading."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.yaml").write_text("a: [1\n")
    (tmp_path / "wrong.yaml").write_text(graph("a") + "    replicas: two\n")
    (tmp_path / "blank.yaml").write_text("---\n# nothing\n")
    sources = [tmp_path / name for name in ("missing.yaml", "empty", "broken.yaml", "wrong.yaml", "blank.yaml")]
    starts = [
        f"{tmp_path}/{start}"
        for start in (
            "missing.yaml: cannot be read",
            "empty: holds no manifests",
            "broken.yaml:2: not readable as YAML",
            "wrong.yaml:8: spec.components[0].replicas: must be an integer from 0 to",
            "blank.yaml: holds no document",
        )
    ]
    found = problems(*sources)
    for text, start in zip(found, starts, strict=True):
        assert text.startswith(start)


def test_no_source_is_a_problem() -> None:
    """Nothing to load is said, not passed over."""
    assert "nothing to load" in problems()[0]


def test_an_object_given_twice_names_both_places(tmp_path: Path) -> None:
    """The same object in two files, even in two versions, is refused with both places."""
    (tmp_path / "a.yaml").write_text(graph("a"))
    (tmp_path / "b.yaml").write_text(graph("a").replace("v1beta1", "v1alpha1"))
    found = problems(tmp_path)
    assert any(f"{tmp_path}/b.yaml:3" in text and f"{tmp_path}/a.yaml:3" in text for text in found)


def test_objects_of_other_kinds_are_kept(load_text: Load) -> None:
    """Kinds that are not acted on are counted as documents, Dynamo's own and foreign ones."""
    text = "".join(
        f"---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n"
        for version, kind in (
            ("v1", "Service"),
            ("nvidia.com/v1beta1", "DynamoGraphDeploymentRequest"),
            ("nvidia.com/v1alpha1", "DynamoModel"),
            ("nvidia.com/v1", "ClusterPolicy"),
        )
    )
    assert [other.value["kind"] for other in load_text(text).others] == [
        "Service",
        "DynamoGraphDeploymentRequest",
        "DynamoModel",
        "ClusterPolicy",
    ]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("- a\n", 1, "is not a Kubernetes object"),
        ("text\n", 1, "is not a Kubernetes object"),
        ("apiVersion: v1\nmetadata: {name: x}\n", 1, "kind: is required"),
        ("kind: Service\n", 1, "apiVersion: is required"),
        ("apiVersion: 1\nkind: Service\n", 1, "apiVersion: is required"),
        ("kind: DynamoGraphDeployment\napiVersion: nvidia.com/v1\nmetadata: {name: x}\n", 2, "nvidia.com/v1beta1 and"),
        ("kind: DynamoGraphDeployment\napiVersion: v1alpha1.nvidia.com\nmetadata: {name: x}\n", 2, "known in"),
        ("apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployments\n", 2, "DynamoGraphDeployments is not known"),
        ("apiVersion: v1\nkind: Service\nmetadata: []\n", 3, "metadata: must be an object"),
        ("apiVersion: v1\nkind: Service\nmetadata:\n  name: 1\n", 4, "metadata.name: must be a string"),
    ],
)
def test_what_is_no_known_object_is_refused(problems_of: Problems, text: str, line: int, what: str) -> None:
    """A document without identity, or of a version that does not exist, is an error at its line."""
    found = problems_of(text)[0]
    assert found.position is not None
    assert found.position.line == line
    assert what in found.what


def test_a_generated_name_is_refused(problems_of: Problems) -> None:
    """Objects cannot be rendered for a graph whose name only the server knows."""
    found = problems_of(graph("a").replace("name: a", "generateName: a-"))
    assert "metadata.generateName" in found[0].what
    assert found[0].remedy == "write metadata.name"


def test_a_graph_without_a_name_is_refused(problems_of: Problems) -> None:
    """A graph is never taken for an object of another kind."""
    assert [found.what for found in problems_of(graph("a").replace("{name: a}", "{}"))] == [
        "metadata.name: is required"
    ]
    component = "apiVersion: nvidia.com/v1beta1\nkind: DynamoComponentDeployment\nspec: {}\n"
    assert problems_of(component)[0].what == "metadata: is required"


def test_other_objects_may_have_generated_names(load_text: Load) -> None:
    """A Secret whose name the server makes up cannot be referred to, and its value is shown nowhere."""
    inventory = load_text("apiVersion: v1\nkind: Secret\nmetadata: {generateName: s-}\nstringData: {a: hunter2}\n")
    assert len(inventory.others) == 1
    assert "hunter2" not in repr(inventory)


def test_the_namespace_is_given_asked_for_or_default(load_text: Load) -> None:
    """An object's own namespace counts, then the one asked for, then `default`."""
    assert load_text(graph("a")).graphs[0].namespace == "default"
    assert load_text(graph("a"), "team").graphs[0].namespace == "team"
    own = graph("a").replace("{name: a}", "{name: a, namespace: own}")
    assert load_text(own).graphs[0].ref == "DynamoGraphDeployment/own/a"
    assert load_text(own, "own").graphs[0].namespace == "own"


def test_a_namespace_that_contradicts_is_refused(problems_of: Problems) -> None:
    """As kubectl does, an object is never moved to another namespace than it names."""
    (found,) = problems_of(CONFIG, "other")
    assert "does not match" in found.what
    assert '"team"' in found.what
    assert '"other"' in found.what


def test_config_maps_give_their_text(load_text: Load) -> None:
    """`data` and the UTF-8 part of `binaryData` are values; binary ones are no environment and left out."""
    text = CONFIG + "data: {a: '1', b: ''}\nbinaryData: {c: 'aGVsbG8=', d: /w==}\n"
    assert load_text(text).config_maps == {("team", "c"): {"a": "1", "b": "", "c": "hello"}}


def test_secrets_give_bytes_and_never_show_them(load_text: Load) -> None:
    """Secret values are decoded, `stringData` wins, and no repr of the inventory holds one."""
    inventory = load_text(OPAQUE + "data: {a: aGVsbG8=, b: aGVsbG8=}\nstringData: {b: plain}\n")
    assert inventory.secrets["default", "s"].values == {"a": b"hello", "b": b"plain"}
    assert "hello" not in repr(inventory)
    assert "plain" not in repr(inventory.secrets)


@pytest.mark.parametrize("data", ["data: {key: hunter2!}", "data: {key: 12345678}", "stringData: {key: 12345678}"])
def test_a_wrong_secret_is_reported_without_its_value(problems_of: Problems, data: str) -> None:
    """The key and the line are enough to find it."""
    (found,) = problems_of(OPAQUE + data + "\n")
    assert ".key: must be" in found.what
    assert "hunter2" not in str(found)
    assert "12345678" not in str(found)


def test_a_list_loads_like_its_items(load_text: Load) -> None:
    """What `kubectl get -o json` prints can be loaded, and positions lead into it."""
    items = "\n".join("  " + line for line in graph("a").splitlines())
    (found,) = load_text(f"apiVersion: v1\nkind: List\nitems:\n-{items[1:]}\n").graphs
    assert found.locate("metadata", "name").line == 6


@pytest.mark.parametrize("namespace", ["../x", "Upper", "", "a/b", "x" * 64])
def test_a_namespace_that_is_no_name_is_refused(namespace: str) -> None:
    """`-n` becomes part of paths and objects, so it has to be what Kubernetes accepts."""
    with pytest.raises(InvalidInputError, match="is no namespace"):
        load(["-"], namespace=namespace, stdin=io.StringIO("{}"))
