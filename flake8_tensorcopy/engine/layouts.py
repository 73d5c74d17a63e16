"""The layout of what a reference holds: from what made it, step by step along its derivation.

The sizes that a call was given are noted when it runs, since a name may stand for another number later.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import NamedTuple

from flake8_tensorcopy.engine import axes
from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.axes import ONE, Layout, Of, Size, number, product, symbol
from flake8_tensorcopy.engine.evaluate import evaluate, is_imported
from flake8_tensorcopy.engine.library import KEEPS_LAYOUT, LAYS_IN_ORDER, MAKERS, REDUCTIONS
from flake8_tensorcopy.engine.parts import literal
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Class, called_name
from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    MAYBE,
    SNAPSHOT,
    UNSURE,
    VIEW,
    Link,
    Obj,
    Ref,
    Shape,
    Sizes,
    Value,
)

MAX_STEPS = 12
MAX_LINKS = 40  # of views of views

# Of what is not a reduction: the dimensions come first (`x.sum(1)`), or behind another argument (`x.norm(2, 1)`).
_SECOND = frozenset({"norm"})
_PAIRS = frozenset({"max", "min", "median"})
_PARTS = frozenset({".values", ".indices", "[0]", "[1]"})
_TURNS = frozenset("t T mT mH H adjoint transpose swapaxes swapdims permute movedim moveaxis matrix_transpose".split())
_SEVERAL = frozenset({"unbind", "chunk", "split", "tensor_split", "unsafe_chunk", "unsafe_split"})
_OPERATORS = frozenset({"+", "-", "*", "/", "**", "//", "%", "compare", "~", "abs"})
_FRESH = frozenset({"cat", "stack", "embedding"})
_PRODUCTS = frozenset({"@", "mm", "bmm", "matmul"})
_MODULES = frozenset(f"torch.nn.{name}" for name in ("Embedding", "LayerNorm", "Softmax"))


class Given(NamedTuple):
    """The sizes that a call was given; None is -1."""

    sizes: tuple[Size | None, ...]
    wholly: bool  # each of them is known to be one size
    written: bool = False  # some are numbers that are written out
    kept: bool = False  # those that there were: `b, n = x.shape; x.expand(b, n)`


# ----- sizes


def size_of(run: Run, node: ast.expr, depth: int = 0) -> Size | None:
    """A size as a product; None is -1, the rest."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return number(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return None
        case ast.BinOp(op=ast.Mult() | ast.FloorDiv() as op) if depth < MAX_STEPS:
            left, right = size_of(run, node.left, depth + 1), size_of(run, node.right, depth + 1)
            if left is not None and right is not None and right.number:
                return left.times(right, 1 if isinstance(op, ast.Mult) else -1)
        case ast.Name(id=name):
            held = run.now.env.get(name)
            if held is not None:
                known = size_in(held)
                if known is not None:
                    return known
            return symbol((name, run.now.version.get(name, 0)))
        case ast.Subscript(value=ast.Attribute(attr="shape")) | ast.Call(func=ast.Attribute(attr="size")):
            known = size_in(evaluate(run, node))
            if known is not None:
                return known
        case ast.Attribute():
            names = run.names_in(node)
            return symbol((run.text(node), tuple((name, run.now.version.get(name, 0)) for name in names)))
    return symbol((node, run.loop))


def size_in(value: Value) -> Size | None:
    """The size that a number is known to be."""
    if value.refs:
        return None
    if isinstance(value.const, Size):
        return value.const
    if isinstance(value.const, int) and not isinstance(value.const, bool) and value.const > 0:
        return number(value.const)
    return None


def note_sizes(run: Run, node: ast.Call, args: Args, first: int) -> None:
    """Keep the sizes that a call is given, as they are now."""
    given = node.args[first:]
    values = args.values[first:]
    if not given:
        given = [one.value for one in node.keywords if one.arg in ("size", "shape")][:1]
        values = [args.keywords[name][1] for name in ("size", "shape") if name in args.keywords][:1]
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        given = given[0].elts
        values = []
    sizes: list[Size | None] = []
    wholly = True
    for place, item in enumerate(given):
        value = values[place] if place < len(values) else None
        starred = isinstance(item, ast.Starred)
        shape = evaluate(run, item.value) if isinstance(item, ast.Starred) else value
        if shape is not None and isinstance(shape.const, (Shape, Sizes)) and (starred or len(given) == 1):
            several = _in_shape(run, shape.const, item)
            if several is None:
                wholly = False
            else:
                sizes.extend(several)
        elif starred or (value is not None and len(given) == 1 and not _one_size(item, value)):
            wholly = False  # perhaps a tuple of sizes
        else:
            sizes.append(size_of(run, item))
    written = any((literal(item) or 0) > 1 for item in given)
    run.sizes[node] = Given(tuple(sizes), wholly, written)


def _in_shape(run: Run, shape: Shape | Sizes, node: ast.AST) -> list[Size | None] | None:
    """The sizes in what `x.shape` or a part of it gave; what is not known of one is no other one's."""
    if isinstance(shape, Sizes):
        return [size for size in shape.sizes if size is None or isinstance(size, Size)]
    layout = layout_of(run, shape.ref)
    if layout is None or layout.more is not None:
        return None
    return [axis.size if axis.sure else symbol((node, place)) for place, axis in enumerate(layout.axes)]


def sizes_of(run: Run, node: ast.expr) -> list[Size | None] | None:
    """The sizes of `x.shape[:-1] + (n,)`; None if it is not known how many there are."""
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items) if not any(isinstance(item, ast.Starred) for item in items):
            return [size_of(run, item) for item in items]
        case ast.BinOp(op=ast.Add(), left=one, right=other):
            left, right = sizes_of(run, one), sizes_of(run, other)
            return [*left, *right] if left is not None and right is not None else None
        case ast.Subscript(value=inner, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            whole = sizes_of(run, inner)
            ends = [literal(end) if end is not None else None for end in (lower, upper)]
            known = all(end is None or found is not None for end, found in zip((lower, upper), ends, strict=True))
            return whole[ends[0] : ends[1]] if whole is not None and known else None
        case ast.Name() | ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size"), args=[]):
            shape = evaluate(run, node).const
            return _in_shape(run, shape, node) if isinstance(shape, (Shape, Sizes)) else None
    return None


def _one_size(node: ast.expr, value: Value) -> bool:
    """Whether the only argument is one size, not a tuple of them."""
    match node:
        case ast.Constant() | ast.UnaryOp() | ast.BinOp(op=ast.Mult() | ast.FloorDiv()):
            return True
        case ast.Call(func=ast.Attribute(attr="numel" | "nelement")) | ast.Call(func=ast.Name(id="len" | "int")):
            return True
    return size_in(value) is not None


def axis_size(run: Run, shape: Shape, index: ast.expr) -> Value:
    """`x.shape[1]`, `x.size(1)`."""
    position = literal(index)
    layout = layout_of(run, shape.ref) if position is not None else None
    found = axes.axis_of(layout, position) if layout is not None and position is not None else None
    if found is None:
        return Value(kind="number")
    axis = found[0].axes[found[1]]
    return Value(kind="number", const=axis.size if axis.sure else None)


def unpacked(run: Run, shape: Shape, count: int) -> list[Value]:
    """`b, n, c = x.shape`: the sizes, and how many there are."""
    ref = shape.ref
    if all(link.kind in (ALIAS, DETACH, MAYBE) and link.op in (*KEEPS_LAYOUT, "=", "data") for link in ref.chain):
        run.ranks[ref.obj] = count
    layout = layout_of(run, ref)
    known = axes.of_rank(layout, count) if layout is not None else None
    if known is None:
        return [Value(kind="number")] * count
    return [Value(kind="number", const=axis.size if axis.sure else None) for axis in known.axes]


def literals(nodes: list[ast.expr]) -> list[int] | None:
    """Integers that are written out, one by one or as one tuple or list."""
    if len(nodes) == 1 and isinstance(nodes[0], (ast.Tuple, ast.List)):
        nodes = nodes[0].elts
    found = [value for value in map(literal, nodes) if value is not None]
    return found if len(found) == len(nodes) else None


# ----- layouts


def layout_of(run: Run, ref: Ref, depth: int = 0) -> Layout | None:
    """The layout of what a reference holds; None where a step on the way to it is not understood."""
    obj = ref.obj
    chain = ref.chain
    if obj in run.relaid:
        own = _tensor(ref)
        if any(own[: len(one)] == one for one in run.relaid[obj]):
            return None
    if obj.parent is not None and obj.slot in _PARTS and obj.parent.made.rsplit(".", 1)[-1] in _PAIRS:
        obj = obj.parent  # `x.max(1).values`
    elif obj.made.rsplit(".", 1)[-1] in _PAIRS and _reduced_over(run, obj) is not None:
        if not chain or not _takes_half(chain[0]):
            return None  # a pair
        chain = chain[1:]
    layout = _made(run, obj, depth) if len(chain) <= MAX_LINKS else None
    for link in chain:
        if layout is None:
            return None
        layout = _step(run, layout, link)
    return layout


def relaid(run: Run, refs: tuple[Ref, ...], inside: tuple[object, ...] = ()) -> None:
    """A tensor, or a view of it that a callee made, is given other axes in place (`t_`, `unsqueeze_`): whatever its
    name, nothing is known of them any more; other views of the same memory are as they were."""
    for ref in refs:
        known = run.relaid.setdefault(ref.obj, [])
        changed = (*_tensor(ref), *inside)
        if changed not in known:
            known.append(changed)
    run.layouts.clear()


def _tensor(ref: Ref) -> tuple[object, ...]:
    """What tells the tensors over one storage apart: the steps that surely or perhaps made another one."""
    return tuple((link.inner or link.node, link.key) for link in ref.chain if link.kind not in (ALIAS, MAYBE))


def _takes_half(link: Link) -> bool:
    """`x.max(1)[0]`, `values, indices = x.max(1)`."""
    node = link.node
    return link.op == "unpacking" or (isinstance(node, ast.Subscript) and literal(node.slice) in (0, 1))


def _made(run: Run, obj: Obj, depth: int) -> Layout | None:
    """The layout that an object was made with; asked for once a statement, however many ways lead to the object."""
    mark = (run.clock, len(run.ranks))
    if run.layouts_at != mark:
        run.layouts_at = mark
        run.layouts.clear()
    known = run.layouts.get(obj)
    if known is None or known[0] > depth:  # from further away it was not looked as deep into
        known = run.layouts[obj] = (depth, _make(run, obj, depth))
    return known[1]


def _make(run: Run, obj: Obj, depth: int) -> Layout | None:
    if depth > MAX_STEPS or obj.kind not in ("tensor", "unknown", "array"):
        return None
    node, made = obj.node, obj.made.rsplit(".", 1)[-1]
    source = obj.copied
    if obj.owner == "fresh":
        if made in MAKERS and isinstance(node, ast.Call):
            return _ranked(run, obj, _from_sizes(run, node, made, obj))
        if made in _OPERATORS or made in ("add", "sub", "mul", "div"):
            return _elementwise(run, obj, depth)
        if source is not None and isinstance(node, ast.Call):
            before = layout_of(run, source, depth + 1)
            if before is not None and made in REDUCTIONS:
                return _reduced(run, before, node, made)
            if before is not None and (made in KEEPS_LAYOUT or made in ("contiguous", "reshape", "flatten")):
                return _converted(run, before, node, made)
        if made == "topk" and isinstance(node, ast.Call):
            return _ranked(run, obj, _chosen(run, node, obj))
        if made in LAYS_IN_ORDER:
            before = layout_of(run, source, depth + 1) if source is not None else None
            return (
                in_axis_order(before)
                if before is not None and before.dense
                else _ranked(run, obj, axes.unnamed(obj, dense=False))
            )
        if made in _PRODUCTS and (multiplied := _product(run, obj, depth)) is not None:
            return _ranked(run, obj, multiplied)
        if made in _FRESH or obj.made in _MODULES or _wide(run, obj):
            return _ranked(run, obj, axes.unnamed(obj))
    given = obj.owner == "argument" or obj.param
    return _ranked(run, obj, axes.unnamed(obj, dense=given))


def _chosen(run: Run, node: ast.Call, obj: Obj) -> Layout | None:
    """`x.topk(1, 1)`: one of the axes has the size that is asked for."""
    given = _own_arguments(run, node)
    named = {one.arg: one.value for one in node.keywords}
    count, dim = ((given[place] if len(given) > place else named.get(key)) for place, key in enumerate(("k", "dim")))
    place = literal(dim) if dim is not None else -1
    one = count is not None and literal(count) == 1
    layout = axes.unnamed(obj)
    return axes.sized(layout, place, ONE) if one and place is not None else layout


def _wide(run: Run, obj: Obj) -> bool:
    """What an `nn.Linear` of more than one feature made."""
    if obj.made != "torch.nn.Linear" or not obj.operands:
        return False
    module = obj.operands[0]
    made, owner = module.node, module.parent.data if module.parent is not None else None
    if isinstance(owner, Class):
        held = run.module.table(owner).get(module.slot)
        made = held.obj.node if held is not None and held.obj is not None else None
    return isinstance(made, ast.Call) and len(made.args) > 1 and literal(made.args[1]) != 1


def _product(run: Run, obj: Obj, depth: int) -> Layout | None:
    """What a product of matrices made, of which none is known to be a row or a column."""
    layouts = []
    for value in obj.given:
        known = [layout_of(run, ref, depth + 1) for ref in value.refs]
        if any(map(_has_one, known)):
            return None
        layouts.append(known[0] if known and all(one == known[0] for one in known) else None)
    if len(layouts) != 2:
        return axes.unnamed(obj)
    left, right = (one.sizes if one is not None else None for one in layouts)
    if left is not None and right is not None and len(left) >= len(right) >= 2:
        return axes.contiguous((*left[:-1], right[-1]))
    # A matrix may be what rows of any number of axes are multiplied by; of more, both have as many.
    rank = len(layouts[1].axes) if layouts[1] is not None and layouts[1].more is None else 0
    ranked = axes.of_rank(axes.unnamed(obj), rank) if rank > 2 and (left is None or len(left) == rank) else None
    if ranked is None:
        return axes.unnamed(obj)
    return replace(ranked, axes=tuple(axis._replace(sure=False) for axis in ranked.axes))


def note_row(run: Run, made: Obj, given: Value) -> None:
    """Keep that a module was given something with an axis of size 1."""
    if any(_keeps_row(run, ref) for ref in given.refs):
        run.rows.add(made)
        if any(_has_single_row(run, ref) for ref in given.refs):
            run.single.add(made)


def from_row(run: Run, obj: Obj, depth: int = 0) -> bool:
    """Whether something that it was computed from has an axis of size 1, which the result may have kept."""
    made = obj.made.rsplit(".", 1)[-1]
    if obj.owner != "fresh" or depth > MAX_STEPS or made in _FRESH:
        return False
    if obj in run.rows:
        return True
    if made in _PRODUCTS:
        sources = tuple(ref for value in obj.given for ref in value.refs)
    elif obj.copied is not None:
        sources = (obj.copied,)
    else:
        sources = next((value.refs for value in obj.given if value.refs), obj.inputs[:1])
    return any(_keeps_row(run, ref, depth) for ref in sources)


def of_single_row(run: Run, obj: Obj, depth: int = 0) -> bool:
    """Whether something that it was computed from has a first axis of size 1, which layers keep."""
    if obj in run.single:
        return True
    return obj.owner == "fresh" and obj.copied is not None and _has_single_row(run, obj.copied, depth + 1)


def _has_single_row(run: Run, ref: Ref, depth: int = 0) -> bool:
    if depth > MAX_STEPS:
        return False
    layout = layout_of(run, ref)
    first = axes.axis_of(layout, 0) if layout is not None else None
    return (first is not None and first[0].axes[0].size == ONE) or of_single_row(run, ref.obj, depth)


def _keeps_row(run: Run, ref: Ref, depth: int = 0) -> bool:
    return _has_one(layout_of(run, ref)) or from_row(run, ref.obj, depth + 1)


def _has_one(layout: Layout | None) -> bool:
    return layout is not None and any(axis.size == ONE for axis in layout.axes)


def _ranked(run: Run, obj: Obj, layout: Layout | None) -> Layout | None:
    """With as many axes as somebody unpacked."""
    rank = run.ranks.get(obj)
    if rank is None or layout is None:
        return layout
    return axes.of_rank(layout, rank) or layout


def _from_sizes(run: Run, node: ast.Call, made: str, obj: Obj) -> Layout | None:
    """`zeros(2, n)`, `tensor([[1, 2]])`."""
    if made == "tensor":
        sizes = _nested(node.args[0]) if node.args else None
        return axes.contiguous(map(number, sizes)) if sizes else axes.unnamed(obj)
    if made == "arange":
        one = size_of(run, node.args[0]) if len(node.args) == 1 else symbol(Of(obj, 0))
        return axes.contiguous([one or ONE])
    given = run.sizes.get(node)
    if given is None or not given.wholly or made == "randint":
        return axes.unnamed(obj)
    known = [size for size in given.sizes if size is not None]
    if made == "eye" and len(known) == 1:
        known *= 2
    return axes.contiguous(known) if known else None


def _nested(node: ast.expr) -> list[int] | None:
    """The shape of lists in lists."""
    sizes = []
    while isinstance(node, ast.List) and node.elts:
        if any(isinstance(item, (ast.Starred, ast.Name, ast.Call, ast.Attribute)) for item in node.elts):
            return None
        sizes.append(len(node.elts))
        node = node.elts[0]
    return sizes if isinstance(node, (ast.Constant, ast.UnaryOp)) else None


def _elementwise(run: Run, obj: Obj, depth: int) -> Layout | None:
    """The first operand decides, where the others are numbers or have no more axes than it."""
    tensors = [value for value in obj.given if value.refs]
    if not tensors or len(tensors[0].refs) != 1:
        return None
    first = layout_of(run, tensors[0].refs[0], depth + 1)
    if first is not None and obj.made == "compare" and first.more is not None and first.turned is None:
        return None  # a threshold of scores, which may be one column
    if first is None or not all(value.kind == "number" or value.refs for value in obj.given):
        return None
    for value in tensors[1:]:
        if all(ref.obj.zero_dim and not ref.chain for ref in value.refs):
            continue
        other = layout_of(run, value.refs[0], depth + 1) if len(value.refs) == 1 else None
        if other == first:
            continue
        if other is None or other.more is not None or first.more is not None or len(other.axes) > len(first.axes):
            return None
        if any(axis.size == ONE for axis in first.axes):
            return None
    return axes.packed(first)


def _converted(run: Run, before: Layout, node: ast.Call, made: str) -> Layout | None:
    """A copy by `clone`, `to`, `contiguous`, `reshape` or an operation on each element."""
    if made in ("reshape", "flatten"):
        return _reshaped(run, before, node, made)
    formats = [run.text(one.value) for one in node.keywords if one.arg == "memory_format"]
    if made == "contiguous" or any(text.endswith("contiguous_format") for text in formats):
        in_order = made == "contiguous" or made == "clone"
        return in_axis_order(before) if in_order and not node.args else replace(before, dense=False)
    if formats and not formats[0].endswith("preserve_format"):
        return replace(before, dense=False)
    return axes.packed(before)


def in_axis_order(layout: Layout) -> Layout:
    """A copy in the order of the axes."""
    more = layout.more
    owner = layout.axes[more].more if more is not None else None
    sizes = [axis.size for axis in layout.axes]
    plain = axes.contiguous(sizes, sure=[axis.sure for axis in layout.axes])
    if more is None:
        return plain
    rebuilt = tuple(axis._replace(more=owner if place == more else None) for place, axis in enumerate(plain.axes))
    return Layout(rebuilt)


def _reduced_over(run: Run, obj: Obj) -> ast.expr | None:
    """The dimensions that a reduction names."""
    if not isinstance(obj.node, ast.Call):
        return None
    given = _own_arguments(run, obj.node)
    return next((one.value for one in obj.node.keywords if one.arg in ("dim", "axis")), given[0] if given else None)


def _own_arguments(run: Run, node: ast.Call) -> list[ast.expr]:
    """The arguments behind the tensor."""
    method = isinstance(node.func, ast.Attribute) and is_imported(run, node.func) is None
    return list(node.args if method else node.args[1:])


def _reduced(run: Run, before: Layout, node: ast.Call, made: str) -> Layout | None:
    """`x.mean(1)`: without the axes that are reduced, or with size 1 in their place."""
    given = _own_arguments(run, node)
    keywords = {one.arg: one.value for one in node.keywords}
    if made in _SECOND and given:
        given = given[1:]
    dims = keywords.get("dim", keywords.get("axis", given[0] if given else None))
    kept = keywords.get("keepdim", keywords.get("keepdims", given[1] if len(given) > 1 else None))
    if dims is None or None in keywords or len(given) > 2:
        return None
    if made in ("std", "var") and len(given) > 1:
        return None
    keeps = isinstance(kept, ast.Constant) and kept.value is True
    if kept is not None and not isinstance(kept, ast.Constant):
        return None
    places = literals([dims])
    if places is None or len({place < 0 for place in places}) != 1:
        return None
    layout: Layout | None = before
    for place in sorted(places, key=abs, reverse=True):
        if layout is None:
            return None
        layout = axes.sized(layout, place, ONE) if keeps else axes.dropped(layout, place)
        if not keeps and layout is not None and place < -1 and len(places) > 1:
            return None
    return axes.packed(layout) if layout is not None else None


def _reshaped(run: Run, before: Layout, node: ast.Call, made: str) -> Layout | None:
    """New sizes over the same elements."""
    given = run.sizes.get(node)
    if given is None:
        return _reshaped_inside(run, before, node)
    if not given.wholly:
        return None
    if made == "flatten":
        if node.args or node.keywords or before.sizes is None:
            return None
        return axes.contiguous([product(before.sizes)], dense=before.in_order)
    if not given.sizes or (made in ("view", "reshape") and node.keywords):
        return None
    sizes: list[Size] = []
    sure = []
    for size in given.sizes:
        if size is None and before.sizes is not None:
            known = product(one for one in given.sizes if one is not None)
            size = product(before.sizes).times(known, -1) if known.number else None
        sizes.append(size or symbol(Of(node, len(sizes))))
        sure.append(size is not None)
    if before.in_order:
        return axes.contiguous(sizes, sure=sure)
    copies = made == "reshape" and before.dense and axes.fits(before, list(given.sizes)) is False
    return axes.contiguous(sizes, dense=copies, sure=sure)


def _reshaped_inside(run: Run, before: Layout, node: ast.Call) -> Layout | None:
    """The same in a function that was called: its names stand for other sizes here, but there are as many."""
    runs = (done for done in run.module.runs.values() if done is not None)
    given = next((done.sizes[node] for done in runs if node in done.sizes), None)
    if given is None or not given.wholly or not given.sizes:
        return None
    sizes = [ONE if size == ONE else symbol(Of(node, place)) for place, size in enumerate(given.sizes)]
    return axes.contiguous(sizes, dense=before.in_order, sure=[size == ONE for size in sizes])


def _step(run: Run, layout: Layout, link: Link) -> Layout | None:
    """One step of a derivation."""
    node, op = link.inner or link.node, link.op
    if link.kind in (ALIAS, DETACH):
        return layout
    if isinstance(node, ast.Subscript) and link.kind in (VIEW, UNSURE):
        return _indexed(layout, node.slice)
    if link.kind in (SNAPSHOT, UNSURE):
        return None
    if op in _TURNS:
        return _turned(run, layout, link)
    if op in _SEVERAL or (op == "iteration" and _splits(run, node)):
        return _part(run, layout, node)
    if op == "iteration":
        return axes.dropped(layout, 0)
    if op in ("Parameter", "Variable"):
        return layout
    if not isinstance(node, ast.Call):
        return None
    given = node.args if is_imported(run, node.func) is None else node.args[1:]
    places = literals(list(given)) if not node.keywords else None
    match op:
        case "unsqueeze" if places is not None and len(places) == 1:
            return axes.inserted(layout, places[0])
        case "squeeze" if places is not None and len(places) == 1:
            found = axes.axis_of(layout, places[0])
            one = found is not None and found[0].axes[found[1]].size == ONE
            return axes.dropped(layout, places[0]) if one else None
        case "select" if given:
            return axes.dropped(layout, literal(given[0]) or 0)
        case "narrow":
            place = literal(given[0]) if given else None
            return axes.sized(layout, place, None) if place is not None else None
        case "view" | "reshape" | "flatten":
            return _reshaped(run, layout, node, op)
        case "expand" | "broadcast_to" | "expand_as":
            return _expanded(run, layout, node)
        case "contiguous":
            return in_axis_order(layout)
    if op in KEEPS_LAYOUT and link.kind == MAYBE:
        if any(one.arg == "memory_format" for one in node.keywords):
            return replace(layout, dense=False)
        return layout
    return None


def _splits(run: Run, node: ast.AST) -> str:
    """The name of the operation, if a call makes several views of one tensor."""
    name = (is_imported(run, node.func) or called_name(node)) if isinstance(node, ast.Call) else ""
    short = name.rpartition(".")[2]
    return short if short in _SEVERAL else ""


def _part(run: Run, layout: Layout, node: ast.AST) -> Layout | None:
    """One of what `unbind`, `chunk` or `split` makes: a part may be a single row, so strides are not known."""
    name = _splits(run, node)
    if not isinstance(node, ast.Call) or not name:
        return None
    given = _own_arguments(run, node)
    named = {one.arg: one.value for one in node.keywords}
    unbound = name == "unbind"
    place = 0 if unbound else 1
    dim = named.get("dim", given[place] if len(given) > place else None)
    axis = literal(dim) if dim is not None else 0
    if axis is None or None in named:
        return None
    if unbound:
        return axes.dropped(layout, axis)
    part = axes.sized(layout, axis, None)
    return replace(part, dense=False) if part is not None else None


def _expanded(run: Run, layout: Layout, node: ast.Call) -> Layout | None:
    given = run.sizes.get(node)
    if given is None or not given.wholly or layout.more is not None or len(given.sizes) < len(layout.axes):
        return None
    new = len(given.sizes) - len(layout.axes)
    sizes = [
        size if size is not None else layout.axes[place - new].size if place >= new else ONE
        for place, size in enumerate(given.sizes)
    ]
    return axes.contiguous(sizes, dense=False)


def _turned(run: Run, layout: Layout, link: Link) -> Layout | None:
    """`t`, `transpose`, `permute`, `mT` and the like."""
    node, op = link.inner or link.node, link.op
    if op in ("t", "T", "H"):
        rank = len(layout.axes) if layout.more is None else 2
        return axes.permuted(layout, list(range(rank))[::-1], node)
    if op in ("mT", "mH", "adjoint", "matrix_transpose"):
        return axes.exchanged(layout, -1, -2, node)
    if not isinstance(node, ast.Call):
        return None
    function = is_imported(run, node.func) is not None
    given = [*(node.args[1:] if function else node.args)]
    if node.keywords:
        named = {one.arg: one.value for one in node.keywords}
        keys = ("dim0", "dim1") if set(named) == {"dim0", "dim1"} else ("source", "destination")
        if op == "permute" and set(named) == {"dims"}:
            given = [named["dims"]]
        elif set(named) == set(keys) and not given:
            given = [named[key] for key in keys]
        else:
            return None
    if any(isinstance(item, ast.Starred) for item in given):
        return None
    places = literals(given)
    if places is None:
        return None
    if op == "permute":
        return axes.permuted(layout, places, node)
    if len(places) != 2 or isinstance(given[0], (ast.Tuple, ast.List)):
        return None
    if op in ("movedim", "moveaxis"):
        return axes.moved(layout, places[0], places[1], node)
    return axes.exchanged(layout, places[0], places[1], node)


def _indexed(layout: Layout, index: ast.expr) -> Layout | None:
    """`x[0]`, `x[:, None]`, `x[..., 1:]`."""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    dots = [place for place, item in enumerate(items) if isinstance(item, ast.Constant) and item.value is ...]
    if len(dots) > 1:
        return None
    ahead = items[: dots[0]] if dots else items
    result: Layout | None = layout
    place = 0
    for item in ahead:
        if result is None:
            return None
        result, place = _item(result, item, place, 1)
    place = -1
    for item in reversed(items[dots[0] + 1 :] if dots else []):
        if result is None:
            return None
        result, place = _item(result, item, place, -1)
    return result


def _item(layout: Layout, item: ast.expr, place: int, step: int) -> tuple[Layout | None, int]:
    """What one item of an index makes of the axis at that place, and the next place."""
    match item:
        case ast.Constant(value=None):
            return axes.inserted(layout, place), place + step
        case ast.Slice(lower=None, upper=None, step=None):
            return layout, place + step
        case ast.Slice(lower=lower, upper=upper, step=None):
            start = literal(lower) if lower is not None else 0
            stop = literal(upper) if upper is not None else -1 if start == -1 else None
            single = (start is not None and stop is not None and stop - start == 1) or (start == -1 and upper is None)
            one = single or _next(lower, upper)
            return axes.sized(layout, place, ONE if one else None), place + step
        case ast.Slice():
            return axes.sized(layout, place, None), place + step
        case ast.Constant(value=int()) | ast.UnaryOp():
            return axes.dropped(layout, place), place
    return None, place


def _next(lower: ast.expr | None, upper: ast.expr | None) -> bool:
    """`x[i : i + 1]`."""
    match upper:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1)) if lower is not None:
            return ast.dump(left) == ast.dump(lower)
    return False
