"""The door is light: importing the package, and asking for help or the version, loads nothing heavy."""

import subprocess
import sys

import pytest

import laconic

HEAVY = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "threadpoolctl", "joblib"}
# Run the program as `python -m laconic` does, then print the modules that are loaded.
PROGRAM = (
    "import runpy, sys\n"
    "sys.argv[0] = 'laconic'\n"
    "try:\n    runpy.run_module('laconic', run_name='__main__')\n"
    "except SystemExit as end:\n    assert not end.code\n"
    "print(*sys.modules, file=sys.stderr)"
)


def loaded(code, *arguments):
    """Return the top-level packages that a fresh interpreter has loaded, as the code prints them."""
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in run.stderr.split()}, run.stdout


def test_import_laconic_loads_nothing_heavy():
    found, _ = loaded("import sys, laconic; laconic.__version__; dir(laconic); print(*sys.modules, file=sys.stderr)")
    assert "laconic" in found
    assert not found & {*HEAVY, "typer", "rich"}


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("fit", "--help"), ("verify", "--help")])
def test_version_and_help_load_nothing_heavy(arguments):
    found, printed = loaded(PROGRAM, *arguments)
    assert {"laconic", "typer"} <= found
    assert not found & HEAVY
    assert "laconic" in printed


def test_a_name_loads_only_what_it_needs():
    found, _ = loaded("import sys; from laconic import verify; print(*sys.modules, file=sys.stderr)")
    assert {"numpy", "scipy"} <= found
    assert not found & {"sklearn", "pandas", "pyarrow", "matplotlib"}
    found, _ = loaded("import sys; from laconic import pp; pp.sparse_pca; print(*sys.modules, file=sys.stderr)")
    assert not found & {"anndata", "scanpy", "h5py", "zarr"}


def test_lazy_names_are_the_public_names():
    # `from laconic import *` leaves out `plot`, which needs matplotlib.
    assert {*laconic._MODULES, *laconic._WHOLE} - {"plot"} == set(laconic.__all__)
    assert set(laconic.__all__) < set(dir(laconic))
    for name, module in (laconic._MODULES | laconic._WHOLE).items():
        value = getattr(laconic, name)
        # The table names the module that defines it, not one that imports it.
        assert (value.__name__ if name in laconic._WHOLE else value.__module__) == module
        assert vars(laconic)[name] is value  # the second access does not look it up again


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'laconic' has no attribute 'DensePCA'"):
        _ = laconic.DensePCA
    with pytest.raises(ImportError, match="cannot import name 'DensePCA'"):
        from laconic import DensePCA  # noqa: F401
