"""Fixtures, and the probes that hold each of their claims against torch.

A fixture is a file of `fixtures/TSCNNN/`: a docstring, `CLAIM = "<kind>"`, and functions `bad_x` and `good_x` without
arguments.  Reading one needs no torch; running a function of one does.  What a function returns depends on the claim:

- `values`: `(what torch gives, what the author meant)`.
- `raises`: anything; whether torch raises or warns is what counts.
- `storage`: `(a, b, shared)`, where `shared` is what the program takes to be true of the tensors `a` and `b`.
- `trains`: `(before, after)`: copies of tensors, and the tensors themselves once the program should have moved them.
- `graph`: any result that is to be had without a graph.
- `transfers`: any result; what is printed belongs to it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from flake8_tensorcopy.verify.watch import GraphWatch, TransferWatch

MARK_KINDS = ("expect", "expect-preview", "path", "todo", "todo-ok")
_MARK = re.compile(r"#\s*(expect-preview|expect|path|todo-ok|todo):\s*(TSC\d{3}(?:\s*,\s*TSC\d{3})*)\b\s*([^#]*)")
_LOOKS_LIKE_A_MARK = re.compile(r"#\s*(?:expect|path|todo)\b", re.IGNORECASE)


class FixtureError(ValueError):
    """A fixture that breaks the shape of fixtures: file, line where there is one, and what is wrong."""


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """What a fixture says about one of its lines: a kind of MARK_KINDS, a code, and a note."""

    line: int
    code: str
    kind: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Fixture:
    """One fixture file: its text, its claim, its marks in source order, and its functions in source order."""

    path: Path
    source: str
    claim: str
    marks: tuple[Mark, ...]
    bad: tuple[str, ...]
    good: tuple[str, ...]

    @property
    def rule(self) -> str:
        """The code of the rule that the fixture belongs to: the name of its folder."""
        return self.path.parent.name

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions to measure, those with the bug first."""
        return self.bad + self.good

    def lines(self, *kinds: str, code: str | None = None) -> list[tuple[int, str]]:
        """The sorted (line, code) of the marks of these kinds, of one code if it is given."""
        return sorted((m.line, m.code) for m in self.marks if m.kind in kinds and code in (None, m.code))


def pair(name: str) -> str:
    """The function that a function is measured against: `good_x` of `bad_x` and the other way round."""
    side, _, rest = name.partition("_")
    return f"{'good' if side == 'bad' else 'bad'}_{rest}"


def load(path: Path) -> Fixture:
    """Reads a fixture without running it; raises FixtureError where the file has not the shape of one."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source, str(path))
    claims = [
        node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and [ast.unparse(target) for target in node.targets] == ["CLAIM"]
    ]
    if len(claims) != 1 or claims[0] not in PROBES:
        raise FixtureError(f"{path}: CLAIM must be given once, as one of {', '.join(PROBES)}")
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    bad = tuple(name for name in names if name.startswith("bad_"))
    good = tuple(name for name in names if name.startswith("good_"))
    return Fixture(path, source, str(claims[0]), tuple(_marks(path, source)), bad, good)


def load_all(folder: Path) -> list[Fixture]:
    """The fixtures below a folder, in the order of their paths."""
    return [load(path) for path in sorted(folder.glob("TSC*/*.py"))]


def _marks(path: Path, source: str) -> Iterator[Mark]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        found = list(_MARK.finditer(token.string))
        if len(found) != len(_LOOKS_LIKE_A_MARK.findall(token.string)):
            raise FixtureError(f"{path}:{line}: no mark can be read from {token.string!r}")
        for match in found:
            for code in match[2].split(","):
                yield Mark(line, code.strip(), match[1], match[3].strip())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a probe made of one function: is the function's side of the claim true, and what was measured."""

    name: str
    claim: str
    confirmed: bool
    measured: str


class Run(NamedTuple):
    """One execution of a fixture function."""

    result: Any
    printed: str
    warned: list[str]
    error: Exception | None


def run(fixture: Fixture, name: str) -> Outcome:
    """Measures the claim of one function, in this process: seeded, with torch's global state put back afterwards.

    Raises FixtureError where the function fails, or does not return what its claim needs.
    """
    bad = name in fixture.bad
    confirmed, measured = PROBES[fixture.claim](fixture, name, bad)
    return Outcome(name, fixture.claim, confirmed, measured)


def _execute(fixture: Fixture, name: str, watch: GraphWatch | TransferWatch | None = None) -> Run:
    """Runs a function in a new module made of the fixture's text, seen by `watch` if there is one."""
    module = ModuleType(fixture.path.stem)
    code = compile(fixture.source, str(fixture.path), "exec")
    result, error = None, None
    with _settled(), warnings.catch_warnings(record=True) as caught, redirect_stdout(io.StringIO()) as printed:
        warnings.simplefilter("always")
        try:
            exec(code, vars(module))
            with watch or nullcontext():
                result = vars(module)[name]()
        except Exception as raised:
            error = raised
    return Run(result, printed.getvalue(), [str(warning.message) for warning in caught], error)


@contextmanager
def _settled() -> Iterator[None]:
    """A fixed seed and deterministic algorithms within; torch's random state, modes and defaults as before after."""
    import torch

    grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_always = torch.is_warn_always_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        torch.use_deterministic_algorithms(True)
        torch.set_warn_always(True)  # else only the first function to be warned sees it
        try:
            yield
        finally:
            torch.set_grad_enabled(grad)
            torch.set_default_dtype(dtype)
            torch.use_deterministic_algorithms(deterministic)
            torch.set_warn_always(warn_always)


def _completed(fixture: Fixture, name: str, watch: GraphWatch | TransferWatch | None = None) -> Run:
    outcome = _execute(fixture, name, watch)
    if outcome.error is not None:
        raise FixtureError(f"{fixture.path}: {name} failed: {outcome.error!r}") from outcome.error
    return outcome


def _unpack(fixture: Fixture, name: str, size: int) -> Sequence[Any]:
    result = _completed(fixture, name).result
    if not isinstance(result, tuple) or len(result) != size:
        raise FixtureError(f"{fixture.path}: {name} must return {size} things for the claim {fixture.claim!r}")
    return result


def same(left: Any, right: Any) -> bool:
    """Are two results equal by value: tensors and arrays in shape, dtype and every element, containers item by item?"""
    import torch

    match left, right:
        case torch.Tensor(), torch.Tensor():
            alike = left.dtype == right.dtype and left.device == right.device
            return alike and bool(torch.equal(left, right))
        case (dict(), dict()):
            return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
        case (list() | tuple(), list() | tuple()):
            return len(left) == len(right) and all(map(same, left, right))
        case _ if hasattr(left, "__array__") and hasattr(right, "__array__"):
            import numpy as np

            return type(left) is type(right) and left.dtype == right.dtype and np.array_equal(left, right)
        case _:
            return type(left) is type(right) and bool(left == right)


def share_storage(left: Any, right: Any) -> bool:
    """Do the storages of two tensors on one device have bytes in common?

    Whole storages are compared: `data_ptr()` of a tensor says where its first element lies and misses offsets, and the
    storage of a slice that came back from NumPy begins in the middle of another.
    """
    if left.device != right.device:
        return False
    one, other = left.untyped_storage(), right.untyped_storage()
    first = max(one.data_ptr(), other.data_ptr())
    last = min(one.data_ptr() + one.nbytes(), other.data_ptr() + other.nbytes())
    return bool(first < last)


def _values(fixture: Fixture, name: str, bad: bool) -> tuple[bool, str]:
    """A function and its pair must also mean the same, or one of them could be right about something else."""
    given, meant = _unpack(fixture, name, 2)
    measured = f"torch gives {given!r}, meant was {meant!r}"
    other = pair(name)
    if other in fixture.functions:
        _, wanted = _unpack(fixture, other, 2)
        if not same(meant, wanted):
            return False, f"{measured}, and {other} means {wanted!r}"
    return same(given, meant) is not bad, measured


def _raises(fixture: Fixture, name: str, bad: bool) -> tuple[bool, str]:
    """RuntimeError and TypeError are torch's refusals; anything else would be a slip of the fixture's author."""
    outcome = _execute(fixture, name)
    match outcome:
        case Run(error=None, warned=[]):
            return not bad, "nothing was raised"
        case Run(error=None, warned=[first, *_]):
            return bad, f"warned: {first}"
        case Run(error=RuntimeError() | TypeError() as error) if not isinstance(error, NotImplementedError):
            return bad, f"{type(error).__name__}: {error}"
        case _:
            raise FixtureError(f"{fixture.path}: {name} failed: {outcome.error!r}") from outcome.error


def _storage(fixture: Fixture, name: str, bad: bool) -> tuple[bool, str]:
    left, right, believed = _unpack(fixture, name, 3)
    shared = share_storage(left, right)
    return (believed is shared) is not bad, f"storage is {'' if shared else 'not '}shared, the program says {believed}"


def _trains(fixture: Fixture, name: str, bad: bool) -> tuple[bool, str]:
    import torch

    before, after = ([side] if isinstance(side, torch.Tensor) else list(side) for side in _unpack(fixture, name, 2))
    if not before or len(before) != len(after):
        raise FixtureError(f"{fixture.path}: {name} returns {len(before)} tensors before and {len(after)} after")
    if any(share_storage(old, new) for old in before for new in after):
        raise FixtureError(f"{fixture.path}: {name} compares a tensor with itself: `before` needs clone()")
    moved = [not torch.equal(old, new) for old, new in zip(before, after, strict=True)]
    return not any(moved) if bad else all(moved), f"{sum(moved)} of {len(moved)} tensors moved"


def _graph(fixture: Fixture, name: str, bad: bool) -> tuple[bool, str]:
    """Autograd nodes for nothing: recorded and read by no other node and no backward, or held by the result.

    A function and its pair must also give the same values.
    """
    from flake8_tensorcopy.verify.watch import GraphWatch, reachable

    watch = GraphWatch()
    result = _completed(fixture, name, watch).result
    held = reachable(result)
    unread = watch.unread(held)
    equal = _like_its_pair(fixture, name)
    confirmed = equal and (unread + len(held) > 0) is bad
    return confirmed, f"{unread} nodes recorded and not read, {len(held)} held by the result" + _differs(equal)


def _transfers(fixture: Fixture, name: str, bad: bool) -> tuple[bool, str]:
    """Host copies that serve only to be read or shown, or more bytes to the host than the pair; the values equal."""
    from flake8_tensorcopy.verify.watch import TransferWatch

    watch = TransferWatch()
    kept = _completed(fixture, name, watch)  # while it lives, a host copy that the program keeps lives too
    idle = watch.idle()
    measured = f"{len(watch.made)} host copies, {idle} of them only to be read, {watch.bytes} bytes to the host"
    del kept
    other = pair(name)
    more = False
    if other in fixture.functions:
        against = TransferWatch()
        _completed(fixture, other, against)
        more = watch.bytes > against.bytes
        measured += f", {against.bytes} in {other}"
    equal = _like_its_pair(fixture, name)
    return equal and (idle > 0 or more) is bad, measured + _differs(equal)


def _like_its_pair(fixture: Fixture, name: str) -> bool:
    other = pair(name)
    if other not in fixture.functions:
        return True
    one, two = _completed(fixture, name), _completed(fixture, other)
    return one.printed == two.printed and same(_plain(one.result), _plain(two.result))


def _differs(equal: bool) -> str:
    return "" if equal else ", and the pair gives other values"


def _plain(result: Any) -> Any:
    """A result with its 0-d tensors as numbers: a cost claim is about what is paid for a value, not about its type."""
    import torch

    match result:
        case torch.Tensor() if result.dim() == 0:
            return result.item()
        case list() | tuple():
            return [_plain(item) for item in result]
        case dict():
            return {key: _plain(value) for key, value in result.items()}
        case _:
            return result


PROBES: dict[str, Callable[[Fixture, str, bool], tuple[bool, str]]] = {
    "values": _values,
    "raises": _raises,
    "storage": _storage,
    "trains": _trains,
    "graph": _graph,
    "transfers": _transfers,
}
