"""Writes that read the very memory they change: a shifted slice, a transposed view, a row of the whole."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.evaluate import evaluate
from flake8_tensorcopy.engine.facts import AliasedOut, SelfCopy
from flake8_tensorcopy.engine.parts import Index, must_overlap
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    UNSURE,
    VIEW,
    Chain,
    Link,
    Obj,
    Ref,
    Value,
    Write,
    common_prefix,
    exclusive,
)

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args

SHORTEST, LONGEST = 4, 40  # sizes of a dimension for which two slices have to overlap, all of them
_SLICE = re.compile(r"(-?\d+)?:(-?\d+)?:?")
_WHOLE_VIEWS = frozenset({"unsqueeze", "[None]", "[:]", "[...]", "copy.copy", "Parameter"})
_TURNS = frozenset({"t", "T", "mT", "H", "mH", "transpose", "permute", "swapaxes", "swapdims", "movedim", "moveaxis"})


class _View:
    """One side, behind what both have in common: the parts taken, one after the other, and whether it is turned."""

    __slots__ = ("broadcast", "known", "parts", "run", "turned")

    def __init__(self, run: Run, chain: Chain) -> None:
        self.run = run
        self.parts: list[tuple[str, ...]] = []
        self.turned = False
        self.broadcast = False
        self.known = True
        for link in chain:
            self._follow(link)

    def _follow(self, link: Link) -> None:
        if link.kind in (ALIAS, DETACH) or link.op in _WHOLE_VIEWS or _is_whole(link):
            return
        if link.kind == VIEW and isinstance(link.key, Index) and not self.turned:
            self.parts.append(link.key.items)
        elif not self.turned and (item := _loop_index(self.run, link)):
            self.parts.append((item,))
        elif link.kind == VIEW and link.op in _TURNS and link.key is None:
            if not _stays(link):
                # Turned by two calls: perhaps back again.
                self.known = self.known and not self.turned
                self.turned = True
        elif link.op in ("expand", "expand_as", "broadcast_to"):
            self.broadcast = True
        else:
            self.known = False


def _is_whole(link: Link) -> bool:
    """The target `x[:]`."""
    node = link.node
    if link.op != "[]" or link.key is not None or not isinstance(node, ast.Subscript):
        return False
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return all(isinstance(one, ast.Slice) and not (one.lower or one.upper or one.step) for one in items)


def _loop_index(run: Run, link: Link) -> str:
    """The index `k` of `x[k]` in `for k in order:`: what a loop yields is taken for a number, not for a mask."""
    node = link.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Name):
        return ""
    if link.kind != UNSURE and (link.op != "[]" or link.key is not None):
        return ""
    value = run.now.env.get(node.slice.id)
    if run.stmt is None or value is None or all(node is not item for item in ast.walk(run.stmt)):
        return ""
    if not value.refs or any(ref.place is None or ref.place.origin != "loop" for ref in value.refs):
        return ""
    if any(ref.chain[:-1] or ref.obj.kind != "unknown" or run.evidence(ref.obj, run.stmt) for ref in value.refs):
        return ""
    return f"{node.slice.id}@{run.now.version.get(node.slice.id, 0)}"


def operands_of(run: Run, write: Write, operands: list[tuple[ast.expr, Value]]) -> None:
    """Compare what an elementwise operation writes with what it reads."""
    copies = write.how == "subscript"
    name = write.op if write.how == "augmented" else write.op.removesuffix("_")
    target = write.ref
    if (not copies and name not in library.ELEMENTWISE) or write.mixed or write.others or target.kind == "array":
        return
    found: list[tuple[ast.expr, Ref, tuple[str, bool, bool]]] = []
    for node, value in operands:
        source = value.refs[0] if len(value.refs) == 1 else None
        if source is None or source.obj is not target.obj or source.kind == "array":
            continue
        if exclusive(source.arms, target.arms):
            continue
        relation = _relation(run, target, source, copies)
        if relation is not None:
            found.append((node, source, relation))
    if found:
        node, source, (how, refused, in_order) = found[0]
        # Arrays have no `t()`, and no method that ends like `add_`.
        method = write.how == "method" and write.op[-1:] == "_"
        own = 2 if method or any(link.op == "t" for link in source.chain) else 0
        others = tuple(other for other, _, _ in found[1:])
        _report(run, write.node, write.target, node, write.op, how, refused, in_order, source, own, others)


def _report(
    run: Run,
    site: ast.AST,
    target: str,
    operand: ast.expr,
    op: str,
    relation: str,
    refused: bool,
    in_order: bool,
    ref: Ref,
    own: int = 0,
    others: tuple[ast.expr, ...] = (),
) -> None:
    statement = run.stmt if isinstance(run.stmt, (ast.Assign, ast.AugAssign, ast.Expr)) else site
    run.fact(
        SelfCopy(
            site=statement,
            target=run.short(site) if isinstance(site, ast.Subscript) else target,
            source=run.short(operand),
            op=op,
            relation=relation,
            refused=refused,
            in_order=in_order,
            operand=operand,
            others=others,
            evidence=max(own, run.evidence(ref.obj, run.stmt), 2 if _made_a_tensor(run, ref.obj) else 0),
        )
    )
    run.about[(SelfCopy, statement)] = (ref.obj, run.stmt)


def _made_a_tensor(run: Run, obj: Obj) -> bool:
    """An attribute that `__init__` sets to a tensor, though another method sets it anew."""
    owner = obj.parent.data if obj.parent is not None and obj.owner == "attribute" else None
    made = run.module.table(owner).get(obj.slot) if isinstance(owner, Class) else None
    return made is not None and bool(made.refs) and all(ref.kind == "tensor" for ref in made.refs)


def _relation(run: Run, target: Ref, source: Ref, copies: bool) -> tuple[str, bool, bool] | None:
    """How the two overlap, whether torch raises, and whether writing in order would be right; None if they do not
    surely overlap, or are one and the same view."""
    start = common_prefix(target.chain, source.chain)
    mine, theirs = _View(run, target.chain[start:]), _View(run, source.chain[start:])
    if not mine.known or not theirs.known or mine.turned or mine.broadcast:
        return None
    while mine.parts and theirs.parts and mine.parts[0] == theirs.parts[0]:
        mine.parts.pop(0)
        theirs.parts.pop(0)
    if not mine.parts and not theirs.parts:
        if not theirs.turned or theirs.broadcast:
            return None
        items = [item for link in target.chain if isinstance(link.key, Index) for item in link.key.items]
        return "permuted", all(":" not in item for item in items), False
    if not mine.parts:
        # Some of what is written, for all of it; a copy reads each element before another is written.
        if copies or theirs.turned:
            return None
        return _own_part((":",) * len(theirs.parts[0]), theirs.parts[0], theirs.broadcast)
    if len(mine.parts) != 1 or len(theirs.parts) != 1 or theirs.turned or theirs.broadcast:
        return None
    return _sliced(mine.parts[0], theirs.parts[0], copies)


def _aligned(mine: tuple[str, ...], theirs: tuple[str, ...]) -> list[tuple[str, str]] | None:
    """The two indices, dimension by dimension, where that can be told."""
    if "None" in mine + theirs:
        return None
    if "..." in mine or "..." in theirs:
        if len(mine) != len(theirs) or [item == "..." for item in mine] != [item == "..." for item in theirs]:
            return None
    size = max(len(mine), len(theirs))
    full = [(*items, *(":" for _ in range(size - len(items)))) for items in (mine, theirs)]
    return list(zip(*full, strict=True))


def _own_part(mine: tuple[str, ...], theirs: tuple[str, ...], broadcast: bool) -> tuple[str, bool, bool] | None:
    """`x -= x[0]`, `x[k] /= x[k, k]`: the part changes before the rest has been computed with it."""
    theirs = tuple(item for item in theirs if item != "None")
    mine = mine[: len(theirs)] if all(item == ":" for item in mine) else mine
    pairs = [(":", item) for item in theirs] if "..." in theirs and set(mine) <= {":"} else _aligned(mine, theirs)
    cut = [(axis, other) for axis, (one, other) in enumerate(pairs or ()) if other not in (one, "...")]
    if pairs is None or not cut or not all(_within(*pairs[axis]) for axis, _ in cut):
        return None
    axis, item = cut[-1]
    leading = all(":" not in one for one, _ in pairs[:axis]) and "..." not in theirs
    refused = leading and not broadcast
    return "part", refused, not refused and axis > 0 and _literal(item) and item not in ("0", ":1", "0:1")


def _within(one: str, other: str) -> bool:
    """Whether a cut is surely one element of another, which has more."""
    if ":" not in one or (":" in other and not _one_element(other)):
        return False
    if one == ":":
        return True
    name, _, version = other.partition("@")
    index = other.split(":")[0] if ":" in other else other
    return one == f"{name}:@{version}" or _meets(one, index or "0")


def _one_element(item: str) -> bool:
    """`:1`, `-1:`, `2:3`, `k:k + 1`."""
    first, _, last = re.sub(r"@\d+", "", item).partition(":")
    if first.isdigit() and last.isdigit():
        return int(last) == int(first) + 1
    return item in (":1", "-1:") or (bool(first) and last == f"{first} + 1")


def _literal(item: str) -> bool:
    return re.fullmatch(r"[-\d:]+", item) is not None


def _sliced(mine: tuple[str, ...], theirs: tuple[str, ...], copies: bool) -> tuple[str, bool, bool] | None:
    """`x[1:] = x[:-1]`; a part of the written slice."""
    pairs = _aligned(mine, theirs)
    if pairs is None:
        return None
    shifted = [(axis, one, other) for axis, (one, other) in enumerate(pairs) if one != other]
    if not shifted:
        return None
    if not all(":" in one and ":" in other for _, one, other in shifted):
        return None if copies else _own_part(mine, theirs, broadcast=False)
    ahead = []
    for _, one, other in shifted:
        shift = _shift(one, other)
        if shift is None:
            return None if copies else _own_part(mine, theirs, broadcast=False)
        ahead.append(shift)
    axis = shifted[0][0]
    leading = all(":" not in one for one, _ in pairs[:axis])
    refused = leading and len(shifted) == 1 and all(one == ":" for one, _ in pairs[axis + 1 :])
    return "shifted", refused and pairs[0][0] != "...", not refused and all(shift < 0 for shift in ahead)


def _shift(one: str, other: str) -> int | None:
    """By how much a slice is ahead of another of the same length that it overlaps, whatever the size."""
    numbers = [abs(int(n)) for n in re.findall(r"-?\d+", f"{one} {other}")]
    shifts = set()
    for size in range(max(SHORTEST, *numbers), LONGEST):
        mine, theirs = _indices(one, size), _indices(other, size)
        if not mine or not theirs or len(mine) != len(theirs) or max(mine[0], theirs[0]) > min(mine[-1], theirs[-1]):
            return None
        shifts.add(mine[0] - theirs[0])
    return shifts.pop() if len(shifts) == 1 else None


def _indices(item: str, size: int) -> range | None:
    """What a slice written in numbers names of a dimension of that size."""
    found = _SLICE.fullmatch(item)
    return None if found is None else range(size)[slice(*(int(n) if n else None for n in found.groups()))]


def _meets(one: str, index: str) -> bool:
    """Whether an index that exists is in a slice written in numbers."""
    if re.fullmatch(r"-?\d+", index) is None:
        return False
    number = int(index)
    inside = [(size, _indices(one, size)) for size in range(max(SHORTEST, abs(number) + 1), LONGEST)]
    return bool(inside) and all(found is not None and range(size)[number] in found for size, found in inside)


def _stays(link: Link) -> bool:
    """`permute(0, 1, 2)`: nothing is turned."""
    if link.op != "permute" or not isinstance(link.node, ast.Call):
        return False
    given = [item.value for item in link.node.args if isinstance(item, ast.Constant)]
    return bool(given) and given == list(range(len(given)))


def indexed_by_itself(run: Run, target: ast.Subscript, base: Value, value: Value, source: ast.expr, op: str) -> None:
    """`m[m] = values` reads the mask while it writes it; `x[order] = x` the rows."""
    if len(base.refs) != 1 or base.refs[0].kind == "array":
        return
    ref = base.refs[0]
    index = evaluate(run, target.slice) if isinstance(target.slice, (ast.Name, ast.Attribute)) else None
    if index is not None and len(index.refs) == 1 and _same(index.refs[0], ref):
        # A number is filled in by another way, which torch gets right for masks.
        if op != "=" or (value.refs and all(one.kind == "tensor" and not one.obj.zero_dim for one in value.refs)):
            _report(run, target, "", target.slice, op, "index", True, False, ref)
        return
    if op == "=" and len(value.refs) == 1 and value.refs[0].obj is ref.obj:
        one = value.refs[0]
        start = common_prefix(ref.chain, one.chain)
        view, rest = _View(run, one.chain[start:]), _View(run, ref.chain[start:])
        if not view.known or not rest.known or rest.parts or rest.turned:
            return
        if all(":" in item for part in view.parts for item in part):
            whole = all(item == ":" for part in view.parts for item in part[1:])
            _report(run, target, "", source, op, "indexed", whole, False, ref)


def _same(one: Ref, other: Ref) -> bool:
    """Whether two references are surely to the same elements, in the same order."""
    start = common_prefix(one.chain, other.chain)
    links = (*one.chain[start:], *other.chain[start:])
    return one.obj is other.obj and all(link.kind in (ALIAS, DETACH) for link in links)


def aliased_out(run: Run, node: ast.Call, name: str, args: Args) -> None:
    """`torch.mm(a, b, out=a)`: a product reads its factors until the last element of the result."""
    short = name.removeprefix("torch.")
    if short not in library.READ_WHILE_WRITTEN:
        return
    positions = library.READ_WHILE_WRITTEN[short]
    given, out = args.keywords["out"]
    pairs = list(zip(args.nodes, args.values, strict=True))
    read = [pair for at, pair in enumerate(pairs) if positions is None or at in positions]
    first = ("input",) if positions and 0 in positions else ()
    names = (*first, "other", "mat1", "mat2", "mat", "vec", "vec2", "batch1", "batch2", "tensor2")
    read += [args.keywords[word] for word in names if word in args.keywords]
    if positions is None:
        lists = [ref.obj for _, value in read for ref in value.refs if ref.obj.kind in ("list", "tuple")]
        read += [(given, held) for obj in lists for held in run.now.fields(obj).values()]
    for item, value in read:
        if _overlap(out, value):
            run.fact(AliasedOut(site=node, op=short, out=run.short(given), argument=run.short(item)))
            return


def _overlap(out: Value, value: Value) -> bool:
    """Whether every alternative of the two surely shares an element."""
    pairs = [(one, other) for one in out.refs for other in value.refs if not exclusive(one.arms, other.arms)]
    return bool(pairs) and all(
        one.obj is other.obj
        and not any(link.kind not in (ALIAS, DETACH, VIEW) for link in _between(one, other))
        and must_overlap(one.chain, other.chain)
        for one, other in pairs
    )


def _between(one: Ref, other: Ref) -> Chain:
    start = common_prefix(one.chain, other.chain)
    return (*one.chain[start:], *other.chain[start:])
