"""Tables of facts that are executed: the rows of a fixture's docstring, measured again.

A fixture with `CLAIM = "table"` shows a Markdown table in its docstring.  For each row it has a function `row_x` whose
last statement but one is the row's code, such as `b = a.view(-1)`, and whose last one returns `(a, b)`.  The header
names what is measured: the columns of `COLUMNS`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flake8_tensorcopy.verify.devices import Device
from flake8_tensorcopy.verify.fixtures import Fixture, FixtureError


@dataclass(frozen=True, slots=True)
class Table:
    """A Markdown table: the names of its measured columns, and its rows by their first cell, as they are written."""

    columns: tuple[str, ...]
    rows: dict[str, str]
    text: str


def of(fixture: Fixture) -> Table:
    """The table in a fixture's docstring; raises FixtureError where there is none or a column cannot be measured."""
    lines = (ast.get_docstring(ast.parse(fixture.source)) or "").splitlines()
    table = [line for line in lines if line.startswith("|")]
    if len(table) < 3:
        raise FixtureError(f"{fixture.path}: no Markdown table in the docstring")
    head, _, *rows = (line.strip().strip("|").strip() for line in table)
    columns = tuple(cell.strip() for cell in head.split("|"))[1:]
    if unknown := [column for column in columns if column not in COLUMNS]:
        raise FixtureError(f"{fixture.path}: nothing measures {unknown[0]!r}; there are {', '.join(COLUMNS)}")
    return Table(columns, {row.partition("|")[0].strip(): row for row in rows}, "\n".join(table))


def row(fixture: Fixture, name: str, columns: tuple[str, ...], make: Callable[[], Any], device: Device) -> str:
    """One row as it is measured: `make` returns a fresh `(a, b)` at each call."""
    function = next(
        node
        for node in ast.parse(fixture.source).body
        if isinstance(node, ast.FunctionDef) and node.name == name and len(node.body) > 1
    )
    code = ast.get_source_segment(fixture.source, function.body[-2])
    cells = []
    for column in columns:
        a, b = make()
        cells.append(COLUMNS[column](a, b, device))
    return " | ".join([f"`{code}`", *cells])


def _new_storage(a: Any, b: Any, device: Device) -> str:
    from flake8_tensorcopy.verify.probes import share_storage

    return "no" if share_storage(device.host(a), device.host(b)) else "yes"


def _graph_kept(a: Any, b: Any, device: Device) -> str:
    """Does a gradient reach `a` through `b`?"""
    import torch

    if not b.requires_grad:
        return "no"
    (gradient,) = torch.autograd.grad(b.sum(), [a], allow_unused=True)
    return "no" if gradient is None else "yes"


def _data_shared(a: Any, b: Any, device: Device) -> str:
    """Does a write to `b` show in `a`?"""
    import torch

    before = a.detach().clone()
    with torch.no_grad():
        b.add_(1)
    return "no" if torch.equal(a.detach(), before) else "yes"


def _same_address(a: Any, b: Any, device: Device) -> str:
    return "yes" if device.host(a).data_ptr() == device.host(b).data_ptr() else "no"


def _elements_written(a: Any, b: Any, device: Device) -> str:
    """How many elements of `b` does a write to one element change?"""
    import torch

    before = b.detach().clone()
    with torch.no_grad():
        b[(0,) * b.dim()] = -1.0
    return str(int((b.detach() != before).sum()))


def _gradient(a: Any, b: Any, device: Device) -> str:
    """The gradient of `a` for the sum of `b` weighted with 1, 2, 3 and so on."""
    import torch

    weights = torch.arange(1.0, b.numel() + 1).view(b.shape)
    (gradient,) = torch.autograd.grad((b * weights).sum(), [a])
    return f"`{gradient.tolist()}`"


def _bytes(a: Any, b: Any, device: Device) -> str:
    return str(device.host(b).untyped_storage().nbytes())


COLUMNS: dict[str, Callable[[Any, Any, Device], str]] = {
    "New storage": _new_storage,
    "Graph kept": _graph_kept,
    "Data shared": _data_shared,
    "Same address": _same_address,
    "Elements that one write changes": _elements_written,
    "Gradient": _gradient,
    "Bytes of storage": _bytes,
}
