"""Where inputs come from: files of folders, mutated files, random programs, odd bytes."""

from __future__ import annotations

import codecs
import encodings
import pkgutil
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from tests.survival.mutations import about_torch, in_function, mutated
from tests.survival.odd import written
from tests.survival.shapes import DEEP, HEAD, KNOWN, WIDE

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
Input = tuple[str, str, bytes]  # kind, name, content


def fixtures() -> list[str]:
    """The texts of all fixtures."""
    return [path.read_text(encoding="utf-8") for path in sorted(FIXTURES.glob("*/*.py"))]


def files(folders: Sequence[str], random: Random) -> Iterator[Input]:
    """Each Python file of the folders once, in random order, as it is and where it has no torch with torch as well."""
    paths = sorted({path for folder in folders for path in Path(folder).rglob("*.py") if path.is_file()})
    random.shuffle(paths)
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError:
            continue
        yield "file", str(path), data
        if b"torch" not in data:
            yield "file with torch", str(path), with_torch(data)


def with_torch(data: bytes) -> bytes:
    """The file with `import torch` in front, behind what must be first; torch's methods are all over any program."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    lines = data.removeprefix(mark).splitlines(keepends=True)
    at = next((n for n, line in enumerate(lines) if not line.startswith(b"#")), len(lines))
    return mark + b"".join(lines[:at]) + b"import torch\n" + b"".join(lines[at:])


def mutations(folders: Sequence[str], random: Random) -> Iterator[Input]:
    """Mutated fixtures and files, without end."""
    texts = fixtures()
    paths = sorted({path for folder in folders for path in Path(folder).rglob("*.py") if path.is_file()})
    while True:
        if paths and random.random() < 0.4:
            path = random.choice(paths)
            try:
                text = path.read_bytes().decode("utf-8")
            except (OSError, UnicodeError):
                continue
            if len(text) > 60_000:
                continue
            name = path.name
        else:
            text, name = random.choice(texts), "fixture"
        kind, made = mutated(text, random, texts)
        yield kind, name, made.encode("utf-8", "surrogatepass")


def programs(random: Random) -> Iterator[Input]:
    """Random programs of Python's grammar that speak of torch, without end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import hypothesmith
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis.strategies import DataObject, booleans, data

    found: list[str] = []

    @settings(
        max_examples=10, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(data())
    def collect(data: DataObject) -> None:
        found.append(data.draw(hypothesmith.from_node() if data.draw(booleans()) else hypothesmith.from_grammar()))

    while True:
        found.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                seed(random.getrandbits(64))(collect)()
            except Exception:  # of the generator itself
                continue
        for text in found:
            made = about_torch(text, random)
            if random.random() < 0.5:
                made = in_function(made)
            yield "random program", "program", made.encode("utf-8", "surrogatepass")


def odd_programs(random: Random) -> Iterator[Input]:
    """Programs of constructs that are seldom written together, without end."""
    for text in written(random):
        yield "odd program", "program", text.encode()


def shapes(random: Random, sizes: Sequence[int]) -> Iterator[Input]:
    """Deep and wide programs of the sizes."""
    for size in sizes:
        for name, build in (DEEP | WIDE).items():
            yield "shape", f"{name} {size}", build(size).encode()


def odd_bytes() -> Iterator[Input]:
    """One program under every name of an encoding, with every newline and mark, whole and torn."""
    text = HEAD + "# é ß 変数 \u2028 \x85 \x1c \x0c\n" + "\x0c" + KNOWN.lstrip()
    plain = (HEAD + KNOWN).encode()
    names = sorted({module.name for module in pkgutil.iter_modules(encodings.__path__)} | {*encodings.aliases.aliases})
    for name in names:
        cookie = f"# -*- coding: {name} -*-\n"
        for kind, body in (("encoding", text), ("encoding of ascii", HEAD + KNOWN)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    data = (cookie + body).encode(name, "replace")
            except Exception:  # no encoding of text, or not on this system
                continue
            yield kind, name, data
        yield "cookie", name, cookie.encode() + plain
        yield "cookie that lies", name, cookie.encode() + text.encode() + b"\xff\xfe\xe9"
        yield "cookie and mark", name, codecs.BOM_UTF8 + cookie.encode() + plain
    marks = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
    for mark in marks:
        yield "mark", mark.hex(), mark + plain
        yield "mark", f"twice {mark.hex()}", mark + mark + plain
        yield "mark", f"within {mark.hex()}", plain[:20] + mark + plain[20:]
        yield "mark", f"alone {mark.hex()}", mark
    newlines = ("\r", "\r\n", "\n\r", "\x0c\n", "\n\x0c", "\x0b\n", "\\\n", "\x85", "\u2028", "\x1c")
    for newline in map(str.encode, newlines):
        for end in (b"", newline):
            yield "newline", newline.hex(), plain.replace(b"\n", newline).rstrip(newline) + end
            yield "newline", f"mixed {newline.hex()}", plain.replace(b"\n", newline, 5).rstrip(b"\n") + end
    for odd in (b"\x00", b"\xed\xa0\x80", b"\xff", b"\xc3", b"\x1a", b"\x7f", b"\xf4\x90\x80\x80", b"\xef\xbf\xbe"):
        for at in (0, 12, len(plain) - 1, len(plain)):
            yield "byte", f"{odd.hex()} at {at}", plain[:at] + odd + plain[at:]
        yield "byte", f"{odd.hex()} in a comment", plain.replace(b"\n\n\n", b"  # " + odd + b"\n\n\n", 1)
        yield "byte", f"{odd.hex()} in a text", plain + b"s = '" + odd + b"'\n"
    for name, data in _SMALL.items():
        yield "small", name, data
    for cut in range(0, len(plain), 3):
        yield "cut", str(cut), plain[:cut]


_SMALL = {
    "empty": b"",
    "a newline": b"\n",
    "a space": b" ",
    "a backslash": b"\\",
    "a form feed": b"\x0c",
    "only comments": b"# torch\n# import torch",
    "only a text": b'"torch"',
    "only torch": b"torch",
    "no newline": b"import torch; x = torch.zeros(1); b = x; x += 1; print(b)",
    "semicolons": b"import torch;;\n",
    "a tab": b"\timport torch\n",
    "ends in a backslash": b"import torch\\\n",
    "ends in an indentation": b"import torch\nif torch:\n    pass\n    ",
    "a long line": b"import torch\nx = [" + b"torch, " * 50_000 + b"]\n",
    "a long name": b"import torch\n" + b"x" * 300_000 + b" = torch\n",
    "a long comment": b"import torch  # " + b"x" * 300_000 + b"\n",
    "many lines": b"import torch\n" + b"\n" * 200_000 + b"x = torch.zeros(1)\n",
}
