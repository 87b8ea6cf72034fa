"""Show the progress of training: a bar on terminals and in notebooks, lines elsewhere if they are asked for.

In notebooks the bar is one output of the cell, which is replaced: redrawn text would be stored line after line.

The outermost `show_progress` owns the bar. What runs inside adds stages to its line, so that model selection shows the
candidate, the fold and the iteration of its solver together.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from html import escape
from typing import Any, Literal

_LOG = logging.getLogger("metricwise")
_DELAY = 2.0  # seconds before anything is shown
_BETWEEN_REDRAWS, _BETWEEN_LINES = 0.2, 10.0  # seconds
_BAR_WIDTH = 12  # characters, so that the text fits beside it on a line of 80

Display = Literal["bar", "notebook", "lines", "none"]


class Stage:
    """One stage of the work: what runs, and the completed fraction and the end if they are known."""

    def __init__(self) -> None:
        self.text = ""
        self.fraction: float | None = None
        self.ends_at: float | None = None  # by the monotonic clock

    def update(self, text: str, fraction: float | None = None, seconds_left: float | None = None) -> None:
        """Replace the text, the fraction and the time left.

        Parameters
        ----------
        text : str
            What runs now, such as "fold 2 of 5"; also logged, for debugging.
        fraction : float, optional
            The part that is completed.
        seconds_left : float, optional
            Seconds until the work is probably finished.
        """
        self.text, self.fraction = text, fraction
        self.ends_at = None if seconds_left is None else time.monotonic() + seconds_left
        _LOG.debug(text)


class ProgressBar:
    """A line with a bar, the time and the stages of the work, redrawn by a thread until the work is finished.

    Parameters
    ----------
    title : str
        What the line begins with.
    display : {"bar", "notebook", "lines", "none"}
        Redraw one line, replace one output of a notebook's cell, write a line now and then, or show nothing.
    is_verbose : bool
        Whether a line with the time stays when the work is finished.
    """

    def __init__(self, title: str, display: Display, is_verbose: bool = False) -> None:
        self._title, self._display, self._is_verbose = title, display, is_verbose
        self._stages: list[Stage] = []
        self._finished = threading.Event()
        self._started = time.monotonic()
        self._width = 0
        self._output: Any = None  # of the cell of a notebook

    @contextmanager
    def add_stage(self) -> Iterator[Stage]:
        """Yield a stage that is shown until the block ends."""
        stage = Stage()
        self._stages.append(stage)
        try:
            yield stage
        finally:
            self._stages.remove(stage)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Show the bar until the block ends."""
        if self._display == "none":
            yield
            return
        # Notebooks find the cell that runs by the context, which threads do not inherit.
        ticker = threading.Thread(target=copy_context().run, args=(self._tick,), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            self._finished.set()
            ticker.join()
        if self._is_verbose:
            self._finish(f"{self._time()}  {self._title}: finished")

    def line(self, width: int | None = None) -> str:
        """Return the line as it is now, shortened to a width: without title, inner stages, the bar, and cut at last.

        Parameters
        ----------
        width : int, optional
            The largest number of characters.

        Examples
        --------
        >>> bar = ProgressBar("MultivariateSVC", "none")
        >>> with bar.add_stage() as fold, bar.add_stage() as iteration:
        ...     fold.update("fold 2 of 4", 0.25, seconds_left=40)
        ...     iteration.update("iteration 7")
        ...     print(bar.line())
        ...     print(bar.line(60))
        [###---------]  25 %  0:00, about 40 s left  MultivariateSVC: fold 2 of 4, iteration 7
        [###---------]  25 %  0:00, about 40 s left  fold 2 of 4
        """
        stages, fraction = list(self._stages), self._fraction
        texts = [stage.text for stage in stages if stage.text]
        ends_at = next((stage.ends_at for stage in stages if stage.ends_at is not None), None)
        left = "" if ends_at is None else describe_seconds_left(ends_at - time.monotonic())
        times = f"{self._time()}{left}"
        of_all, of_outer = (", ".join(some) or self._title for some in (texts, texts[:1]))
        bar, percent = _draw_bar(fraction), _show_percent(fraction)
        whole = f"{bar}{times}  {self._title}: {of_all}" if texts else f"{bar}{times}  {self._title}"
        narrow = "" if left else percent
        shorter = [(bar, of_all), (bar, of_outer), (percent, of_all), (percent, of_outer), (narrow, of_outer)]
        lines = [whole, *(f"{start}{times}  {text}" for start, text in shorter)]
        if width is None:
            return whole
        return next((line for line in lines if len(line) <= width), lines[-1][:width])

    @property
    def _fraction(self) -> float | None:
        return next((stage.fraction for stage in list(self._stages) if stage.fraction is not None), None)

    def _time(self) -> str:
        seconds = int(time.monotonic() - self._started)
        return f"{seconds // 60}:{seconds % 60:02d}"

    def _tick(self) -> None:
        pause = _BETWEEN_LINES if self._display == "lines" else _BETWEEN_REDRAWS
        wait = _DELAY
        while not self._finished.wait(wait):
            wait = pause
            if self._display == "lines":
                self._write(f"{self.line()}\n")
            elif self._display == "notebook":
                self._replace(self.line(), self._fraction)
            else:
                self._redraw(self.line(shutil.get_terminal_size().columns - 1))
        if self._width:
            self._redraw("")
            self._write("\r")
        if self._output is not None:
            self._replace("")

    def _finish(self, line: str) -> None:
        """Leave a line when the work is finished."""
        if self._display == "notebook":
            self._replace(line)
        else:
            self._write(f"{line}\n")

    def _replace(self, line: str, fraction: float | None = None) -> None:
        """Replace what the cell of a notebook shows."""
        from IPython.display import display

        shown = {"text/plain": line, "text/html": _show_line(line, fraction)}
        if self._output is None:
            self._output = display(shown, raw=True, display_id=True)
        else:
            self._output.update(shown, raw=True)

    def _redraw(self, line: str) -> None:
        # Spaces instead of a control sequence, which not every terminal knows.
        self._write(f"\r{line.ljust(self._width)}")
        self._width = len(line)

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


# The bar of this context: a thread that is started with a copy of the context adds to it, others have none.
_current: ContextVar[ProgressBar | None] = ContextVar("progress_bar", default=None)


@contextmanager
def show_progress(title: str, verbose: int | None = None) -> Iterator[Stage]:
    """Show a bar while the block runs, after two seconds; inside another such block, add a stage to its bar.

    Parameters
    ----------
    title : str
        What is trained or read.
    verbose : int or None
        None: a bar on terminals and in notebooks. 1: also lines where there is neither. 0: nothing.
    """
    outer = _current.get()
    if outer is not None:
        with outer.add_stage() as stage:
            yield stage
        return
    bar = ProgressBar(title, choose_display(verbose), is_verbose=bool(verbose))
    token = _current.set(bar)
    try:
        with bar.run(), bar.add_stage() as stage:
            yield stage
    finally:
        _current.reset(token)


@contextmanager
def add_stage() -> Iterator[Stage]:
    """Yield a stage of the bar of this context, or one that nobody sees if there is none."""
    bar = _current.get()
    if bar is None:
        yield Stage()
        return
    with bar.add_stage() as stage:
        yield stage


@contextmanager
def hide_progress() -> Iterator[None]:
    """Show nothing of what runs in the block, neither in the bar of this context nor in one of its own."""
    token = _current.set(ProgressBar("", "none"))
    try:
        yield
    finally:
        _current.reset(token)


def choose_display(verbose: int | None) -> Display:
    """Return how progress is shown on standard error; worker processes leave it to the process that started them.

    Parameters
    ----------
    verbose : int or None
        As in `show_progress`.
    """
    if verbose == 0 or sys.stderr is None or multiprocessing.current_process().name != "MainProcess":
        return "none"
    if type(sys.stderr).__module__.startswith("ipykernel"):
        return "notebook"
    if sys.stderr.isatty():
        return "bar"
    return "none" if verbose is None else "lines"


def share_of_gap(gap: float, tol: float) -> float | None:
    """Return how far, in orders of magnitude, a relative gap has come from one to the tolerance; None if unbounded.

    Examples
    --------
    >>> round(share_of_gap(0.1, 0.001), 6)
    0.333333
    """
    if not 0.0 < tol < 1.0 or not 0.0 <= gap < math.inf:
        return None
    return 1.0 if gap <= tol else max(0.0, math.log(gap) / math.log(tol))


def describe_seconds_left(seconds: float) -> str:
    """Return roughly how much time is left, to follow the time that has passed; nothing if it should be over.

    Examples
    --------
    >>> [describe_seconds_left(seconds) for seconds in (0.0, 3.0, 42.0, 100.0, 7000.0)]
    ['', ', about 5 s left', ', about 45 s left', ', about 2 min left', ', about 1.9 h left']
    """
    if not 0.0 < seconds < math.inf:
        return ""
    if seconds <= 60.0:
        return f", about {5 * math.ceil(seconds / 5.0)} s left"
    return f", about {round(seconds / 60.0)} min left" if seconds < 5400.0 else f", about {seconds / 3600.0:.1f} h left"


def _show_line(line: str, fraction: float | None) -> str:
    """Return a line for a notebook, with a bar of its own in the place of the one of letters."""
    if not line:
        return ""
    bar, words = "", line
    if fraction is not None:
        bar = f'<progress max="1" value="{fraction:.3f}" style="vertical-align:middle;width:10em"></progress> '
        words = line.partition("] ")[2]
    return f'<div style="font-variant-numeric:tabular-nums">{bar}{escape(words)}</div>'


def _draw_bar(fraction: float | None) -> str:
    if fraction is None:
        return ""
    filled = round(_BAR_WIDTH * min(max(fraction, 0.0), 1.0))
    return f"[{'#' * filled}{'-' * (_BAR_WIDTH - filled)}] {_show_percent(fraction)}"


def _show_percent(fraction: float | None) -> str:
    return "" if fraction is None else f"{100 * min(max(fraction, 0.0), 1.0):3.0f} %  "
