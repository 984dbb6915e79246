"""Sphinx reads this file: `make docs` builds the manual into build/docs."""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # Examples are small: more threads only wait for each other.

from sphinx_gallery.sorting import ExplicitOrder  # noqa: E402

import laconic  # noqa: E402 - the lines above come before it

sys.modules["laconic.pp"] = laconic.pp  # Sphinx imports what it documents.

project = "laconic"
author = "The laconic developers"
project_copyright = author
version = release = laconic.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
if "READTHEDOCS" in os.environ:  # Elsewhere the manual is built without the web.
    extensions.append("sphinx.ext.intersphinx")
    html_baseurl = os.environ["READTHEDOCS_CANONICAL_URL"]
intersphinx_mapping = {
    "anndata": ("https://anndata.readthedocs.io/en/stable", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "pandas": ("https://pandas.pydata.org/docs", None),
    "python": ("https://docs.python.org/3", None),
    "scipy": ("https://docs.scipy.org/doc/scipy", None),
    "sklearn": ("https://scikit-learn.org/stable", None),
}
root_doc = "index"
exclude_patterns = ["sg_execution_times.rst", "**/sg_execution_times.rst"]  # They load scripts from the web.
templates_path = ["_templates"]
default_role = "py:obj"  # A name in backquotes leads to its page.
suppress_warnings = ["config.cache"]  # The gallery's settings hold an object.

# The Markdown pages are read on code hosts, too, so that links to headings follow their rule.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

# Docstrings write the absolute value of an entry as |X_ij|, which means a substitution here.
ABSOLUTE = ("X_ij", "S_ij", "U_ij", "dual", "estimate")
rst_epilog = "\n".join(f".. |{name}| replace:: \\|{name}\\|" for name in ABSOLUTE)

autosummary_generate = True
autodoc_typehints = "none"  # The docstrings say the types.
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # The template of a class lists its methods.
numpydoc_xref_param_type = False

# The folders of examples, in the order in which they are read.
SECTIONS = ("first_steps", "how_many", "several", "proofs", "data", "scikit_learn")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("laconic",),
    "subsection_order": ExplicitOrder([*(f"../examples/{name}" for name in SECTIONS), "*"]),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 3600,  # Times differ between machines, and are in the benchmarks.
    "remove_config_comments": True,
}

html_theme = "furo"
html_title = "laconic"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style, pygments_dark_style = "friendly", "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Files beside docs/ that are pages of the manual under another name.
PAGES = {
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changes.md",
    "../examples/README.rst": "gallery/index.rst",
    "../README.md": "index.md",
}


def link_within_the_manual(_app, docname, source):
    """Let links to the project's other files lead to the pages that show them."""
    up = "../" * docname.count("/")
    for path, page in PAGES.items():
        source[0] = source[0].replace(f"]({up}{path}", f"]({up}{page}")


def link_from_docstrings(_app, _what, _name, _obj, _options, lines):
    """Let the path of a page in a docstring, such as docs/choosing.md, lead to the page."""
    lines[:] = [re.sub(r"\bdocs/([\w/-]+)\.md\b", r":doc:`docs/\1.md </\1>`", line) for line in lines]


def setup(app):
    """Connect the functions above."""
    app.connect("source-read", link_within_the_manual)
    app.connect("autodoc-process-docstring", link_from_docstrings)
