"""Text in other encodings than UTF-8, which the parsers take: it is transcoded while it is read."""

from __future__ import annotations

import codecs
import contextlib
from typing import Protocol

from metricwise.io.errors import UndecodableTextError

UTF8 = "utf-8"
_WITHOUT_TRANSCODING = ("utf-8", "utf-8-sig")  # readers pass over the mark that the second allows
_BLOCK_BYTES = 1 << 20
# The longer marks first: the first bytes of one are those of another.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class ByteStream(Protocol):
    """What is read of an open file."""

    def read(self, size: int, /) -> bytes:
        """Return so many bytes; fewer only at the end."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def check_encoding(encoding: str | None) -> str | None:
    """Return the name that Python has for an encoding; None for one that is to be recognised.

    Examples
    --------
    >>> check_encoding("Latin-1"), check_encoding("utf-8-sig")
    ('iso8859-1', 'utf-8')
    """
    if encoding is None:
        return None
    try:
        "".encode(encoding)  # also refuses codecs that are not for text
        name = codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            "encoding must be the name of a text encoding, such as 'utf-8', 'latin-1', 'cp1252' or 'utf-16', got "
            f"{encoding!r}"
        ) from None
    return UTF8 if name in _WITHOUT_TRANSCODING else name


def recognise_encoding(start: bytes) -> str:
    r"""Return the encoding that the first bytes of a text declare by a byte order mark; UTF-8 if there is none.

    Examples
    --------
    >>> recognise_encoding("größe".encode("utf-16")), recognise_encoding(b"age,y\n")
    ('utf-16', 'utf-8')
    """
    return next((encoding for mark, encoding in _MARKS.items() if start.startswith(mark)), UTF8)


def explain_undecodable(text: bytes) -> str:
    r"""Return what is wrong with a text that is not UTF-8, and what to do.

    Examples
    --------
    >>> explain_undecodable(b"caf\xe9")[:47]
    'found the byte 0xe9 of a text that is not UTF-8'
    """
    try:
        text.decode()
        place = 0
    except UnicodeDecodeError as error:
        place = error.start
    return (
        f"found the byte 0x{text[place]:02x} of a text that is not UTF-8: pass the encoding of the file, such as "
        "encoding='latin-1', or save it as UTF-8"
    )


class Utf8Reader:
    r"""A file whose text is read as UTF-8.

    Parameters
    ----------
    file : ByteStream
        The file, open.
    path : str
        What messages call it.
    encoding : str
        How its text is written.

    Examples
    --------
    >>> from io import BytesIO
    >>> Utf8Reader(BytesIO("größe\n".encode("utf-16")), "rows.csv", "utf-16").read(100).decode()
    'größe\n'
    """

    def __init__(self, file: ByteStream, path: str, encoding: str) -> None:
        self._file, self._path, self._encoding = file, path, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = bytearray()
        self._is_over = False
        self._line, self._column = 1, 1  # of the next character

    def read(self, size: int, /) -> bytes:
        """Return so many bytes of the text in UTF-8; fewer only at the end."""
        while len(self._ready) < size and not self._is_over:
            data = self._file.read(_BLOCK_BYTES)
            self._is_over = not data
            self._ready += self._transcode(data)
        found = bytes(self._ready[:size])
        del self._ready[:size]
        return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _transcode(self, data: bytes) -> bytes:
        before = self._decoder.getstate()
        try:
            text = self._decoder.decode(data, final=self._is_over)
            transcoded = text.encode()
        except UnicodeDecodeError as error:
            self._decoder.setstate(before)
            with contextlib.suppress(UnicodeError):  # no byte order mark: then nothing before was decoded
                self._count(self._decoder.decode(data[: max(error.start - len(before[0]), 0)]))
            problem = (
                f"found the byte 0x{error.object[error.start]:02x}, which is not {self._encoding}: pass the encoding "
                "of the file, such as encoding='cp1252'"
            )
            raise UndecodableTextError(self._path, self._line, self._column, problem) from None
        except UnicodeEncodeError as error:
            self._count(text[: error.start])
            problem = (
                f"found the half of a surrogate pair, {text[error.start]!r}, which is no character: remove it, or pass "
                "the encoding of the file"
            )
            raise UndecodableTextError(self._path, self._line, self._column, problem) from None
        except UnicodeError as error:  # such as a text in UTF-16 without a byte order mark
            problem = f"the text cannot be read as {self._encoding} ({error}): pass the encoding of the file"
            raise UndecodableTextError(self._path, self._line, self._column, problem) from None
        self._count(text)
        return transcoded

    def _count(self, text: str) -> None:
        lines = text.count("\n")
        self._line += lines
        self._column = len(text) - text.rfind("\n") if lines else self._column + len(text)
