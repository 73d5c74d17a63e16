"""Calls that are given sizes: `view`, `reshape` and `expand` where the axes of the tensor contradict them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flake8_tensorcopy.engine import axes
from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.axes import ONE, Axis, Layout, Of, Size, product
from flake8_tensorcopy.engine.evaluate import evaluate, is_imported
from flake8_tensorcopy.engine.facts import ClashingExpand, ScrambledAxes, TurnedView
from flake8_tensorcopy.engine.features import STRIDES
from flake8_tensorcopy.engine.layouts import from_row, layout_of, note_sizes, of_single_row
from flake8_tensorcopy.engine.library import MAKERS, REDUCTIONS, RESHAPES, STRIDED, TAKES_ARRAYS
from flake8_tensorcopy.engine.parts import literal
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.strides import array_taken, strides_given
from flake8_tensorcopy.engine.tiling import REPEATS, note_repeat
from flake8_tensorcopy.engine.values import ALIAS, UNKNOWN, Obj, Ref, Shape, Value

_WIDENS = frozenset({"pad", "cat", "concat", "concatenate", "hstack"})
SIZED = RESHAPES | MAKERS | {"expand_as"}


def shape_call(run: Run, node: ast.Call, base: Value, name: str, args: Args, first: int) -> None:
    """A call that is given sizes, strides or counts; `first` is where they begin."""
    if name in SIZED:
        _sized(run, node, base, name, args, first)
    elif name in STRIDED:
        strides_given(run, node, name, args, first)
    elif name in REPEATS and len(base.refs) == 1:
        note_repeat(run, node, base.refs[0], name, args, first, base.refs[0].kind == "array")


def imported_shape_call(run: Run, node: ast.Call, name: str, args: Args) -> None:
    """The same by a function of torch or NumPy, and what torch makes of an array."""
    library, short = name.split(".", 1)
    if name in TAKES_ARRAYS and run.function.features & STRIDES:
        array_taken(run, node, short, args)
    if "." in short or (library == "numpy" and short not in ("repeat", "tile")):
        return
    if library == "numpy" and len(args.values) > 0 and len(args.values[0].refs) == 1:
        note_repeat(run, node, args.values[0].refs[0], short, args, 1, True)
    elif short in MAKERS or short == "empty_strided":
        shape_call(run, node, UNKNOWN, short, args, 0)
    elif args.values:
        shape_call(run, node, args.values[0], short, args, 1)


def _sized(run: Run, node: ast.Call, base: Value, name: str, args: Args, first: int) -> None:
    if not any(is_imported(run, item) for item in node.args[first:]):  # `x.view(torch.int32)` has none
        note_sizes(run, node, args, first)
    refs = base.refs
    if not refs:
        return
    match name:
        case "view":
            _turned_view(run, node, refs)
            _scrambled(run, node, refs, name)
        case "reshape":
            _scrambled(run, node, refs, name)
        case "expand" | "expand_as" | "broadcast_to":
            _clashing(run, node, refs, name, args, first)
            given = run.sizes.get(node)
            if given is not None and given.wholly and all(_has(layout_of(run, ref), given.sizes) for ref in refs):
                run.sizes[node] = given._replace(kept=True)


def _has(layout: Layout | None, sizes: tuple[Size | None, ...]) -> bool:
    """Whether a tensor surely has these sizes, new axes of size 1 aside; None is whatever it has."""
    own = layout.sizes if layout is not None else None
    if own is None or len(own) > len(sizes):
        return False
    had = (*[ONE] * (len(sizes) - len(own)), *own)
    return all(size is None or size == old for size, old in zip(sizes, had, strict=True))


def _receiver(node: ast.Call) -> ast.expr:
    return node.func.value if isinstance(node.func, ast.Attribute) else node


def _turned_view(run: Run, node: ast.Call, refs: tuple[Ref, ...]) -> None:
    given = run.sizes.get(node)
    if given is None or not given.wholly or not given.sizes:
        return
    found: Layout | None = None
    asked = any("is_contiguous" in str(arm.test) for arm in run.now.arms)
    if run.quiet or asked or any(ref.obj in run.guarded for ref in refs):
        return  # tried, or asked whether it is contiguous
    for ref in refs:
        layout = layout_of(run, ref)
        if layout is None or not layout.dense or layout.turned is None:
            return
        if axes.fits(layout, list(given.sizes)) is not False or from_row(run, ref.obj):
            return
        found = layout
    turned = found.turned if found is not None else None
    if not isinstance(turned, (ast.Call, ast.Attribute)):
        return
    op = turned.attr if isinstance(turned, ast.Attribute) else getattr(turned.func, "attr", "")
    copied = refs[0].obj.made if refs[0].obj.copied is not None and refs[0].obj.made == "clone" else ""
    run.fact(TurnedView(site=node, receiver=run.short(_receiver(node)), op=op, turned=turned, copied=copied))


def _scrambled(run: Run, node: ast.Call, refs: tuple[Ref, ...], name: str) -> None:
    given = run.sizes.get(node)
    if given is None or not given.wholly or len(refs) != 1:
        return
    _shifted(run, refs[0], given.sizes)
    sizes = given.sizes
    layout = layout_of(run, refs[0])
    if layout is not None and layout.more is not None:
        layout = axes.of_rank(layout, len(given.sizes))
    own = layout.sizes if layout is not None else None
    if own is not None and of_single_row(run, refs[0].obj):
        single = Of(refs[0].obj, 0)
        own = tuple(size.where(single, ONE) for size in own)
        sizes = tuple(size.where(single, ONE) if size is not None else None for size in sizes)
    wanted = [size for size in sizes if size != ONE]
    if own is None or refs[0].kind == "array" or axes.empty((*own, *wanted)):
        return
    mine = [size for size in own if size != ONE]
    if len(mine) < 2 or mine == wanted or len(set(mine)) != len(mine):
        return
    order, moved = "", -1
    if set(mine) == set(wanted) and len(wanted) == len(mine) and None not in wanted:
        if given.written:
            return
        order = ", ".join(str(own.index(size)) for size in sizes if size in own)
    elif layout is None or layout.turned is not None or (moved := _moved_axis(run, own, list(sizes))) < 0:
        return
    receiver = node.args[0] if is_imported(run, node.func) is not None else _receiver(node)
    run.fact(
        ScrambledAxes(
            site=node,
            receiver=run.short(receiver),
            op=name,
            order=order,
            moved=moved,
            evidence=run.evidence_of(refs[0], run.stmt),
        )
    )
    run.scrambled[node] = own


def _shifted(run: Run, ref: Ref, sizes: tuple[Size | None, ...]) -> None:
    """A part of what was laid over the memory in another order gets its first order back: that shifts each row by one
    place more than the row before, which is meant."""
    for place, link in enumerate(ref.chain):
        own = run.scrambled.get(link.node) if link.node is not None else None
        if own is None or all(later.key is None for later in ref.chain[place + 1 :]):
            continue
        back = [mine for mine, size in zip(own, sizes, strict=False) if mine == size]
        if len(sizes) == len(own) == len(back) + 1:
            run.facts.pop((ScrambledAxes, link.node), None)


def padded_and_shifted(run: Run, node: ast.Subscript, base: Value) -> None:
    """`F.pad(x, (1, 0)).view(n + 1, n)[1:]`: a column more, and the first row less; that shifts each row, too."""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    cut = [item for item in items if isinstance(item, ast.Slice) and item.lower is not None]
    if len(cut) != 1 or cut[0].lower is None or literal(cut[0].lower) != 1 or cut[0].upper is not None:
        return
    for ref in base.refs:
        if ref.obj.made in _WIDENS:
            for link in ref.chain:
                if link.node in run.scrambled:
                    run.facts.pop((ScrambledAxes, link.node), None)


def _moved_axis(run: Run, own: tuple[Size, ...], sizes: list[Size | None]) -> int:
    """The axis whose size is there still, but behind more or less than before: `x.view(b, heads, t, c // heads)` of
    `b, t, c = x.shape`; -1 if there is none."""
    rest = product(own).times(product(size for size in sizes if size is not None), -1)
    if None not in sizes:
        known = [size for size in sizes if size is not None]
        return _moved(own, known) if rest == ONE and not _of_one_batch(known, own) else -1
    filled = [rest if size is None else size for size in sizes]
    foreign = [symbol for symbol, power in rest.symbols if power < 0]
    if len(foreign) > 1 or rest.number != 1 or not _named(run, own, rest):
        return -1
    # What -1 is divided by may be one of the axes, by another name.
    meanings = [size for size in own if size not in sizes] if foreign else [ONE]
    moved = {_moved(own, [size.where(foreign[0], one) if foreign else size for size in filled]) for one in meanings}
    if _of_one_batch(own, filled):
        return -1
    return moved.pop() if len(moved) == 1 else -1


def _of_one_batch(batched: Sequence[Size], flat: Sequence[Size]) -> bool:
    """Whether no axis moves between the two if there is a batch of one: `x.view(c, -1)` of `b, c, h, w = x.shape`, and
    the way back."""
    if batched[0] in flat or not _is_axis(batched[0]):
        return False
    ((batch, _),) = batched[0].symbols
    others = [size.where(batch, ONE) for size in flat]
    return _moved((ONE, *batched[1:]), others) < 0


def _moved(own: tuple[Size, ...], sizes: list[Size]) -> int:
    for place, size in enumerate(own):
        if _is_axis(size) and sizes.count(size) == 1:
            if product(own[:place]) != product(sizes[: sizes.index(size)]):
                return place
    return -1


def _named(run: Run, own: tuple[Size, ...], rest: Size) -> bool:
    """Whether somebody has given names to all the axes whose sizes are in a product."""
    held = (value.const for name, value in run.now.env.items() if name.strip("_"))
    named = {size for size in held if isinstance(size, Size)}
    return all(size in named for size in own if _is_axis(size) and not size.symbols.isdisjoint(rest.symbols))


def _is_axis(size: Size) -> bool:
    """Whether a size is that of one axis of something, by its name."""
    (symbol, power), *more = size.symbols or ((None, 0),)
    return isinstance(symbol, Of) and power == 1 and not more and size.number == 1


def _clashing(run: Run, node: ast.Call, refs: tuple[Ref, ...], name: str, args: Args, first: int) -> None:
    target = _target(run, node, name, args, first) if not run.quiet else None
    clashes = []
    for ref in refs:
        layout = layout_of(run, ref)
        clash = _clash(layout, target) if layout is not None and target is not None else None
        if clash is None:
            return
        clashes.append(clash)
    own, wanted = clashes[0]
    reduced = _reduction(refs[0].obj)
    if reduced is None and own is not None and own.symbols:
        return  # made with sizes that another tensor has: they may be equal
    receiver = _receiver(node) if first == 0 else node.args[0]
    whole = len(refs) == 1 and all(
        link.kind == ALIAS
        or link.op == "values"
        or (isinstance(link.node, ast.Subscript) and link.node.value is reduced)
        for link in refs[0].chain
    )
    run.fact(
        ClashingExpand(
            site=node,
            receiver=run.short(receiver),
            op=name,
            reduced=reduced,
            own=_text(own),
            wanted=_text(wanted),
            given=receiver,
            keeps=whole and reduced is not None and _only_for(run, reduced, receiver),
            dropped=_dropped_axis(run, reduced) if whole else None,
            repeats=() if reduced is not None else _repeats(layout_of(run, refs[0]), target),
        )
    )


def _only_for(run: Run, reduced: ast.AST, receiver: ast.expr) -> bool:
    """A reduction made in the expression that is expanded, or under a name that is read there and nowhere else."""
    if any(one is reduced for one in ast.walk(receiver)):
        return True
    mentions = run.mentions(receiver.id) if isinstance(receiver, ast.Name) else []
    if [isinstance(one.ctx, ast.Load) for one in mentions] != [False, True]:
        return False
    statement = run.parents().get(mentions[0])
    return isinstance(statement, ast.Assign) and any(one is reduced for one in ast.walk(statement.value))


def _dropped_axis(run: Run, reduced: ast.AST | None) -> int | None:
    if not isinstance(reduced, ast.Call) or (reduced not in run.method_calls and reduced not in run.function_calls):
        return None
    first = 1 if reduced in run.function_calls else 0
    given = next((one.value for one in reduced.keywords if one.arg in ("dim", "axis")), None)
    if given is None and len(reduced.args) == first + 1 and run.text(reduced.func).rpartition(".")[2] != "norm":
        given = reduced.args[first]
    match given:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def _repeats(layout: Layout | None, target: Layout | list[Axis | None] | None) -> tuple[int, ...]:
    """How often each axis of a tensor is to be there, if `repeat` was meant."""
    if layout is None or not isinstance(target, list) or len(target) < len(layout.axes):
        return ()
    found: list[int] = []
    own: list[Axis | None] = [*(None for _ in range(len(target) - len(layout.axes))), *layout.axes]
    for mine, wanted in zip(own, target, strict=True):
        if wanted is None:
            found.append(1)
            continue
        sizes = [_text(wanted.size), _text(mine.size) if mine is not None else "1"]
        if not all(size.isdigit() and int(size) for size in sizes) or int(sizes[0]) % int(sizes[1]):
            return ()
        found.append(int(sizes[0]) // int(sizes[1]))
    return tuple(found)


def _reduction(obj: Obj | None) -> ast.AST | None:
    """The reduction that a value comes from."""
    for _ in range(8):
        if obj is None:
            return None
        if obj.made.rsplit(".", 1)[-1] in REDUCTIONS:
            return obj.node
        given = next((value.obj for value in obj.given if value.refs), None)
        obj = obj.copied.obj if obj.copied is not None else given if given is not None else obj.parent
    return None


def _text(size: Size | None) -> str:
    return str(size.number) if size is not None and not size.symbols else ""


def _target(run: Run, node: ast.Call, name: str, args: Args, first: int) -> Layout | list[Axis | None] | None:
    """The axes to expand to; None for one that is to stay."""
    value = args.values[first] if len(args.values) > first else None
    ref: Ref | None = None
    if value is not None and len(node.args) == first + 1:
        if name == "expand_as" and len(value.refs) == 1:
            ref = value.refs[0]
        elif isinstance(value.const, Shape):
            ref = value.const.ref
        elif isinstance(starred := node.args[first], ast.Starred):
            held = evaluate(run, starred.value).const
            ref = held.ref if isinstance(held, Shape) else None
    if ref is not None:
        return layout_of(run, ref)
    given = run.sizes.get(node)
    if name == "expand_as" or given is None or not given.wholly or not given.sizes:
        return None
    return [None if size is None else Axis(size, ONE, 0) for size in given.sizes]


def _clash(layout: Layout, wanted: Layout | list[Axis | None]) -> tuple[Size | None, Size | None] | None:
    """The two sizes that do not go together, from the last axis on; None if none is known to."""
    own = list(layout.axes)
    target = list(_named_like(wanted, layout).axes) if isinstance(wanted, Layout) else wanted
    for place, axis in enumerate(reversed(own)):
        if place >= len(target):
            short = axis.more is None and all(one is None or one.more is None for one in target)
            return (None, None) if short else None
        other = target[-1 - place]
        if axis.more is not None:
            if other is not None and other.more == axis.more:
                continue
            # Without its last axis a tensor of two axes or more ends in another one, which may be one of size 1 by now.
            before = own[-2 - place].size if len(own) > place + 1 else None
            last = other is not None and axis.more.back == 1 and _is(other.size, axis.more.owner, -1) and before != ONE
            return (axis.size, other.size) if last and other is not None else None
        if other is None:
            continue
        if other.more is not None or not axis.sure or not other.sure:
            return None
        if axis.size not in (ONE, other.size) and axes.independent(axis.size, other.size):
            return axis.size, other.size
        if axis.size not in (ONE, other.size):
            return None
    return None


def _named_like(layout: Layout, other: Layout) -> Layout:
    """With names for as many axes as the other one has of the same tensor."""
    more = next((axis.more for axis in other.axes if axis.more is not None), None)
    mine = next((axis.more for axis in layout.axes if axis.more is not None), None)
    if more is None or mine is None or more.owner is not mine.owner:
        return layout
    for count, position in ((more.front - mine.front, more.front - 1), (more.back - mine.back, -more.back)):
        found = axes.axis_of(layout, position) if count > 0 else None
        layout = found[0] if found is not None else layout
    return layout


def _is(size: Size, owner: object, position: int) -> bool:
    return size == axes.symbol(Of(owner, position))
