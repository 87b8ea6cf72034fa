"""Sphinx extension of the API reference: a directive that describes the command, and what templates need to know."""

from __future__ import annotations

import inspect
import re
from typing import Any

import click
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from metricwise.cli import main


def escape_markup(text: str) -> str:
    r"""Return a text that reStructuredText shows as it is, with options as code.

    Examples
    --------
    >>> print(escape_markup("*.csv and ndcg_, unless --stream is given"))
    \*.csv and ndcg\_, unless ``--stream`` is given
    """
    escaped = re.sub(r"([\\*`|_@])", r"\\\1", text)
    return re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"``\g<0>``", escaped)


def describe_help(text: str) -> list[str]:
    """Return the paragraphs of a help text; those that click does not wrap, marked by a backspace, are literal."""
    lines: list[str] = []
    for paragraph in inspect.cleandoc(text.partition("\f")[0]).split("\n\n"):
        if paragraph.startswith("\b"):
            lines += ["::", "", *(f"    {line}" for line in paragraph.removeprefix("\b\n").splitlines()), ""]
        else:
            lines += [escape_markup(" ".join(paragraph.split())), ""]
    return lines


def describe_command(name: str, command: click.Command) -> list[str]:
    """Return a section on one command: what it does, how it is called, and its options with their help texts."""
    context = click.Context(command, info_name=f"metricwise {name}", **main.context_settings)
    usage = f"metricwise {' '.join([name, *command.collect_usage_pieces(context)])}"
    lines = [name, "-" * len(name), "", *describe_help(command.help or "")]
    lines += [".. code-block:: text", "", f"    {usage}", ""]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            flags, explanation = record
            lines += [f"``{flags}``", f"    {escape_markup(explanation)}", ""]
    epilog = context.make_formatter()
    command.format_epilog(context, epilog)
    if epilog.getvalue():
        lines += ["::", "", *(f"    {line}" for line in epilog.getvalue().strip("\n").splitlines()), ""]
    return lines


def describe_commands() -> str:
    """Return the reference of the command ``metricwise`` as reStructuredText: a section per subcommand."""
    lines = describe_help(main.help or "")
    for name, command in main.commands.items():
        lines += describe_command(name, command)
    return "\n".join(lines)


class CommandReference(SphinxDirective):
    """``.. command-reference::`` is replaced by what the options of ``metricwise`` are when the page is built."""

    def run(self) -> list[nodes.Node]:
        """Return the sections of all subcommands."""
        found: list[nodes.Node] = self.parse_text_to_nodes(describe_commands(), allow_section_headings=True)
        return found


def tell_templates_of_the_gallery(_: Any, config: Any) -> None:
    """Let templates of autosummary show the examples of an object, if sphinx-gallery notes which objects they use."""
    gallery = getattr(config, "sphinx_gallery_conf", None) or {}
    config.autosummary_context["has_backreferences"] = bool(gallery.get("backreferences_dir"))


def setup(app: Any) -> dict[str, bool]:
    """Register the extension."""
    app.add_directive("command-reference", CommandReference)
    app.connect("config-inited", tell_templates_of_the_gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
