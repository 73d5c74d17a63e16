"""NumPy's strides in torch: bytes taken for elements, views that run backwards."""

from __future__ import annotations

import ast
import re

from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.evaluate import is_imported
from flake8_tensorcopy.engine.facts import ByteStrides, NegativeStrides
from flake8_tensorcopy.engine.library import STRIDED
from flake8_tensorcopy.engine.parts import keeps_dimension
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import ALIAS, NUMPY, VIEW, Obj, Ref, Value

# Where torch takes strides: the position of the argument in the method, and in the function.
_FLIPS = frozenset({"flip", "fliplr", "flipud", "rot90"})
_ONE_BYTE = re.compile(r"\b(uint8|int8|bool_?|byte|ubyte)\b|frombytes|b'")


# ----- bytes and elements


def _array(run: Run, value: Value) -> Ref | None:
    """The array whose strides these are, as they are; its elements have more than one byte, as far as known."""
    pending = list(value.refs)
    for ref in value.refs:
        if ref.obj.kind == "tuple" or (ref.obj.kind == "list" and ref.place is None):
            pending.extend(one for held in run.now.fields(ref.obj).values() for one in held.refs)
    for ref in pending:
        for obj in (ref.obj, ref.obj.parent):
            array = run.byte_strides.get(obj) if obj is not None else None
            if array is not None and _is_array(run, array):
                return array
    return None


def _is_array(run: Run, ref: Ref) -> bool:
    made = [ref.obj.node, *(link.node for link in ref.chain)]
    if any(isinstance(node, ast.expr) and _ONE_BYTE.search(run.text(node)) for node in made):
        return False
    if ref.kind == "array":
        return True
    numpy = any(name.split(".")[0] == "numpy" for name in run.names.imported.values())
    return ref.kind == "unknown" and numpy and ref.obj.owner in ("argument", "unknown")


def strides_given(run: Run, node: ast.Call, name: str, args: Args, first: int) -> None:
    """`torch.as_strided(t, a.shape, a.strides)`."""
    place = STRIDED[name] + first
    given = args.keywords.get("stride")
    value = given[1] if given is not None else args.values[place] if len(args.values) > place else None
    array = _array(run, value) if value is not None else None
    if array is not None:
        run.fact(ByteStrides(site=node, array=_name(run, array), op=name))


def strides_compared(run: Run, node: ast.expr, sides: list[ast.expr], values: list[Value]) -> None:
    """`a.strides == t.stride()`."""
    if len(sides) != 2:
        return
    for mine, theirs in ((0, 1), (1, 0)):
        array = _array(run, values[mine])
        if array is not None and _counts_elements(sides[theirs]):
            run.fact(ByteStrides(site=node, array=_name(run, array), op=""))
            return


def _counts_elements(node: ast.expr) -> bool:
    """`t.stride()`, `tuple(t.stride())`, `t.stride()[0]`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="stride")):
            return True
        case ast.Call(func=ast.Name(id="tuple" | "list"), args=[inner]) | ast.Subscript(value=inner):
            return _counts_elements(inner)
    return False


def _name(run: Run, ref: Ref) -> str:
    if ref.place is not None:
        return ref.place.name
    return ref.obj.key or "the array"


# ----- backwards


def array_taken(run: Run, node: ast.Call, name: str, args: Args) -> None:
    """`torch.from_numpy(a[::-1])`."""
    if not args.values or args.spread or run.quiet:
        return
    for ref in args.values[0].refs:
        found = _backwards(run, ref)
        if found is not None:
            flipped, flip, proven = found
            run.fact(
                NegativeStrides(
                    site=node,
                    array=run.short(args.nodes[0]),
                    op=name,
                    flip=flip,
                    flipped=flipped,
                    array_proven=proven or name == "from_numpy",
                    copied=flipped if flipped in run.parents() else args.nodes[0],
                )
            )
            return


def _backwards(run: Run, ref: Ref) -> tuple[ast.AST, str, bool] | None:
    """What made the strides of an array negative, how that is called, and whether it is an array for certain."""
    if ref.kind not in ("array", "unknown"):
        return None
    found = _flipped(run, ref.obj)
    proven = ref.kind == "array"
    for link in ref.chain:
        node = link.inner or link.node
        index = node.slice if isinstance(node, ast.Subscript) else None
        if index is not None and link.kind == VIEW:
            items = index.elts if isinstance(index, ast.Tuple) else [index]
            step = next((item for item in items if _negative(item)), None)
            if step is not None:
                found = None if found is not None else (node, f"[{', '.join(map(run.text, items))}]")
                proven = proven or isinstance(index, ast.Tuple)
            elif not all(isinstance(item, (ast.Slice, ast.Constant)) and keeps_dimension(item) for item in items):
                found = None
        elif link.kind not in (ALIAS, VIEW, NUMPY) or link.op in ("ascontiguousarray", "reshape", "ravel", "copy"):
            found = None
    return (*found, proven) if found is not None else None


def _flipped(run: Run, obj: Obj) -> tuple[ast.AST, str] | None:
    """What `np.flip` and its like made, of something that is in order."""
    node = obj.node
    if obj.kind != "array" or obj.made not in _FLIPS or not isinstance(node, ast.Call) or not node.args:
        return None
    inner = run.text(node.args[0])
    if "-1" in inner or any(name in inner for name in _FLIPS):
        return None
    if obj.made == "rot90":
        turns = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "k"), None)
        if isinstance(turns, ast.Constant) and isinstance(turns.value, int) and turns.value % 4 == 0:
            return None
    name = is_imported(run, node.func)
    return (node, f"np.{obj.made}") if name is not None else None


def _negative(item: ast.expr) -> bool:
    return isinstance(item, ast.Slice) and isinstance(item.step, ast.UnaryOp) and isinstance(item.step.op, ast.USub)
