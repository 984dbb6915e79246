"""The rules of the house: a room imports only rooms above it, importing is cheap, everything public is described."""

import ast
import dataclasses
import enum
import importlib
import inspect
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object

import laconic
from laconic.methods import SOLVERS

SOURCE = Path(laconic.__file__).parent

# The rooms on the road, from the data to the command line. Each imports only rooms above it.
ROOMS = ["core", "data", "covariance", "proof", "search", "relaxations", "bounds", "model", "report", "cli"]
# The file that gathers the solvers for users, and the rooms that it may import. Rooms after these may import it.
DOORS = {"methods": {"search", "bounds"}}
# Rooms whose files are all on one level.
FLAT = {"core", "covariance", "proof", "search", "relaxations", "bounds", "model", "report", "cli"}
# Modules outside of all rooms, and the room that each opens.
FRONT_DOORS = {"__main__": "cli", "plot": "report"}
# Rooms beside the road, and the rooms that each may import.
BESIDE = {"datasets": {"core"}}
# Rooms beside the road, and the rooms that may import them.
GUESTS = {"datasets": {"cli"}}
# `.plot()` of a path opens the report room when it is called, and not before.
OPENED_WHEN_CALLED = {("model", "report")}
# `verify` recomputes bounds with none of the code below this room.
TRUST_LINE = "proof"
# The lines of code that `import laconic.proof.verify` loads: what `verify` relies on. The aim is 7500.
TRUSTED_LINES = 8900


def allowed_rooms(room):
    """The rooms that a room may import, besides itself."""
    if room in BESIDE:
        return BESIDE[room]
    above = set(ROOMS[: ROOMS.index(room)])
    return above | {guest for guest, hosts in GUESTS.items() if room in hosts}


def modules():
    """Every module of the package: dotted name without the package's own -> file."""
    found = {}
    for file in sorted(SOURCE.rglob("*.py")):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        found[".".join(p for p in parts if p != "__init__")] = file
    return found


def test_no_file_name_stands_for_two_things():
    names = [file.stem for file in SOURCE.rglob("*.py") if file.stem != "__init__"]
    assert {name for name in names if names.count(name) > 1} <= {"rows"}


def imports_of(file):
    """What a file imports of this package: (dotted name, whether it is at the top and for more than type hints)."""
    found = []

    def visit(node, eager):
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            for child in node.body:
                visit(child, False)
            for child in node.orelse:
                visit(child, eager)
            return
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            eager = eager and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                visit(child, eager)
            return
        found.extend((name.removeprefix("laconic.").removeprefix("laconic"), eager) for name in names if _ours(name))

    visit(ast.parse(file.read_text()), True)
    return found


def _ours(name):
    return name == "laconic" or name.startswith("laconic.")


def room_of(name):
    return name.split(".")[0]


def test_every_module_is_in_a_room():
    outside = {name for name in modules() if room_of(name) not in {*ROOMS, *BESIDE}}
    assert outside == {"", *FRONT_DOORS, *DOORS}


def test_files_of_a_room_are_on_one_level():
    assert [name for name in modules() if room_of(name) in FLAT and name.count(".") > 1] == []


@pytest.mark.parametrize("name", [name for name in modules() if name])
def test_a_room_imports_only_rooms_above_it(name):
    own = room_of(name)
    for target, eager in imports_of(modules()[name]):
        other = room_of(target)
        if own in FRONT_DOORS:
            assert other == FRONT_DOORS[own]
        elif own in DOORS:
            assert other in DOORS[own]
        elif other in DOORS:
            assert DOORS[other] <= allowed_rooms(own), f"{name} imports {target}, a later file"
        elif target == "" or other not in {*ROOMS, *BESIDE}:  # the package itself, or a name of it such as __version__
            assert own == "cli", f"{name} imports the package itself"
        elif (own, other) in OPENED_WHEN_CALLED:
            assert not eager, f"{name} imports {target} before it is needed"
        else:
            assert other == own or other in allowed_rooms(own), f"{name} imports {target}, a later room"


def test_verify_uses_little_code_and_none_below_the_trust_line():
    """Load `verify` in a fresh interpreter, and look at the modules of this package that came with it."""
    code = "import sys, laconic.proof.verify; print(*(name for name in sys.modules if name.startswith('laconic.')))"
    run = subprocess.run([sys.executable, "-c", code], check=True, cwd=SOURCE.parent, capture_output=True, text=True)
    loaded = {name.removeprefix("laconic.") for name in run.stdout.split()}
    assert {room_of(name) for name in loaded} == set(ROOMS[: ROOMS.index(TRUST_LINE) + 1])
    files = modules()
    assert sum(len(files[name].read_text().splitlines()) for name in {"", *loaded}) <= TRUSTED_LINES


def classes_in(room, base):
    """Names of the classes of a room that end in a word, such as the kinds of covariance."""
    found = set()
    for name, file in modules().items():
        if room_of(name) == room:
            found |= {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef)}
    return {name for name in found if name.endswith(base) and name != base}


def test_nobody_asks_for_a_concrete_class():
    """Solvers and covariances declare what they can do; `isinstance` on one of them stays in its own room."""
    covariances = classes_in("covariance", "Covariance")
    solvers = {type(solver).__name__ for solver in SOLVERS.values()}
    assert {"DenseCovariance", "FactorCovariance"} <= covariances
    for name, file in modules().items():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                asked = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                forbidden = solvers | (set() if room_of(name) == "covariance" else covariances)
                assert not asked & forbidden, f"{name} asks for {asked & forbidden}"


def test_only_the_gate_makes_an_upper_bound():
    makers = set()
    for name, file in modules().items():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "UpperBound":
                makers.add(name)
    assert makers == {"proof.gate"}


def test_no_module_waits_for_itself():
    files = modules()
    graph = {}
    for name, file in files.items():
        if name:
            targets = {target for target, eager in imports_of(file) if eager}
            graph[name] = {target for target in targets if target in files and target not in {"", name}}
            # a room's __init__ imports its files, and a file of it may not import the room
            assert room_of(name) not in graph[name] or "." not in name, f"{name} imports its own room"
    list(TopologicalSorter(graph).static_order())  # raises CycleError


def test_import_is_cheap():
    """Those who only fit an array wait for nothing beyond what a fit of scikit-learn's own brings in."""
    code = (
        "import sys, numpy as np; from sklearn.decomposition import PCA;"
        "X = np.random.default_rng(0).standard_normal((20, 5)); PCA(2).fit(X).transform(X); before = set(sys.modules);"
        "import laconic; from laconic import SparsePCA;"
        "SparsePCA(2, cardinality=2).fit(X).transform(X); laconic.path(SparsePCA(), X, sizes=3);"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, cwd=SOURCE.parent, capture_output=True, text=True)
    imported = set(run.stdout.split())
    assert "laconic" in imported
    assert not imported & {"matplotlib", "plotly", "pandas", "pyarrow", "polars", "typer", "dask"}


def test_types_are_shipped():
    assert (SOURCE / "py.typed").is_file()


def test_public_names():
    assert laconic.__all__ == sorted(laconic.__all__)
    assert {"SparsePCA", "path", "read_table", "verify"} <= set(laconic.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", laconic.__version__)


PUBLIC_ROOMS = ["laconic", "laconic.datasets", "laconic.search", "laconic.covariance", "laconic.data"]


@pytest.mark.parametrize("room", PUBLIC_ROOMS)
def test_every_public_name_resolves_and_has_a_docstring(room):
    module = importlib.import_module(room)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__
            assert not thing.__doc__.startswith(f"{name}(")  # what a dataclass writes by itself
            for attribute, member in vars(thing).items() if inspect.isclass(thing) else ():
                if inspect.isfunction(member) and not attribute.startswith("_"):
                    assert inspect.getdoc(getattr(thing, attribute)), f"{room}.{name}.{attribute}"


def section(thing, *titles):
    """The names described under a numpydoc title: "a, b : int" describes both."""
    document = get_doc_object(thing, config={"show_class_members": False})
    entries = [entry.name for title in titles for entry in document[title]]
    return {name.strip(" *") for entry in entries for name in entry.split(",")}


def parameters(function):
    return {name for name in inspect.signature(function).parameters if name not in {"self", "cls"}}


def is_protocol(thing):
    return getattr(thing, "_is_protocol", False)


def described():
    """Public functions, classes and methods whose parameters a user gives."""
    for room in ("laconic", "laconic.datasets", "laconic.search", "laconic.model.single_cell"):
        module = importlib.import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            # Nobody calls an enumeration, a warning or a protocol.
            called = inspect.isclass(thing) and not issubclass(thing, enum.Enum | Warning) and not is_protocol(thing)
            if inspect.isfunction(thing) or called:
                yield pytest.param(thing, id=f"{room}.{name}")


@pytest.mark.parametrize("thing", list(described()))
def test_every_parameter_is_described(thing):
    if dataclasses.is_dataclass(thing):
        described = section(thing, "Parameters", "Attributes")
        for base in thing.__mro__[1:]:
            if dataclasses.is_dataclass(base):
                described |= section(base, "Parameters", "Attributes")
        expected = {field.name for field in dataclasses.fields(thing) if not field.name.startswith("_")}
    else:
        described = section(thing, "Parameters")
        expected = parameters(thing.__init__ if inspect.isclass(thing) else thing)
    if len(expected) == 1 and not inspect.isclass(thing) and not described:
        # a function of one argument may say it in its first sentence
        assert next(iter(expected)) in thing.__doc__
        return
    assert expected <= described


def public_methods():
    for name in ("fit", "fit_covariance", "transform", "inverse_transform", "score"):
        yield getattr(laconic.SparsePCA, name)


@pytest.mark.parametrize("method", list(public_methods()), ids=lambda method: method.__name__)
def test_every_parameter_of_the_estimators_methods_is_described(method):
    assert parameters(method) == section(method, "Parameters")


def test_every_fitted_attribute_is_described():
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 4)), columns=list("abcd"))
    model = laconic.SparsePCA(2, cardinality=2).fit(frame)
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert fitted <= section(laconic.SparsePCA, "Attributes")
    promised = section(laconic.SparsePCA, "Attributes")
    assert all(hasattr(model, name) for name in promised)


def test_docstrings_are_well_formed():
    """A title with its rule on one line is a docstring that was wrapped by mistake."""
    for name, file in modules().items():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                assert not re.search(r"(Parameters|Returns|Attributes|Raises|Examples|References) ---", text), name
