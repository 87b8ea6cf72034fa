"""Sphinx configuration."""

import sys
from pathlib import Path

from metricwise import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
GALLERY = HERE.parent / "examples" / "gallery"

project = "metricwise"
author = "the metricwise developers"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "api_reference",
]
if any(GALLERY.rglob("plot_*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": str(GALLERY),
        "gallery_dirs": "gallery",
        "download_all_examples": False,
        "remove_config_comments": True,
        "abort_on_example_error": True,
    }

templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]

default_role = "py:obj"  # names in single backticks are links
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "metricwise"
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": False, "show_prev_next": True, "show_toc_level": 2}
