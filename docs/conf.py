"""Sphinx configuration."""

import os
import sys
from pathlib import Path

from metricwise import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
GALLERY = HERE.parent / "examples" / "gallery"
ON_READ_THE_DOCS = os.environ.get("READTHEDOCS") == "True"

project = "metricwise"
author = "the metricwise developers"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "numpydoc",
    "api_reference",
]

# Links to other projects need their inventories from the network. A build without a network must not fail, and one with
# -W fails for an inventory that cannot be read; so they are linked where a network is certain, or on request.
if ON_READ_THE_DOCS or os.environ.get("METRICWISE_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "dask": ("https://docs.dask.org/en/stable", None),
        "matplotlib": ("https://matplotlib.org/stable", None),
    }

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
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

# Prompts and outputs are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "metricwise"
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "")
html_static_path = ["_static"]
html_css_files = ["metricwise.css"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_sidebars = {"index": [], "install": [], "results": []}
html_theme_options = {
    "logo": {
        "image_light": "_static/logo_light.svg",
        "image_dark": "_static/logo_dark.svg",
        "alt_text": "metricwise, home",
    },
    "switcher": {
        # Relative to the root of the site, which on Read the Docs is that of the version.
        "json_url": "_static/switcher.json",
        "version_match": os.environ.get("READTHEDOCS_VERSION", "latest"),
    },
    # The file is part of the site, so there is nothing to fetch while it is built.
    "check_switcher": False,
    "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "icon_links": [
        {"name": "PyPI", "url": "https://pypi.org/project/metricwise", "icon": "fa-solid fa-box"},
    ],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
