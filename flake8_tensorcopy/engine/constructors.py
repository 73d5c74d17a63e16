"""Constructors that copy: `torch.tensor` of a tensor, of a list of tensors or arrays, of an array made for it alone."""

from __future__ import annotations

import ast
import re

from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.callers import Ask, argument_of, kind_of_items
from flake8_tensorcopy.engine.evaluate import is_imported
from flake8_tensorcopy.engine.facts import FreshArrayCopied, TensorOfTensor
from flake8_tensorcopy.engine.kinds import is_tensor, makes_new_array
from flake8_tensorcopy.engine.linked import on_graph
from flake8_tensorcopy.engine.redundant import new_memory
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.settled import asks_of
from flake8_tensorcopy.engine.shapes import ones_of
from flake8_tensorcopy.engine.transfers import place_of
from flake8_tensorcopy.engine.values import VIEW, Arm, Ref, Value

# They copy what they are given; of the others a tensor comes back as it is, or is converted without a word.
COPYING = frozenset({"tensor", "new_tensor"})
OTHERS = frozenset(
    "as_tensor asarray Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ShortTensor ByteTensor".split()
)
# A test of what a value is: the code beside it takes several kinds.
_KIND_TEST = re.compile(r"isinstance|is_tensor|\btype\(|hasattr|\.shape|\.dim\(|\.ndim|\.size|\.dtype|\blen\(|callable")


def made_from(run: Run, node: ast.Call, short: str, args: Args) -> None:
    """Look at what a constructor is given."""
    if run.quiet or args.spread:
        return
    if args.nodes:
        given, value = args.nodes[0], args.values[0]
    elif "data" in args.keywords:
        given, value = args.keywords["data"]
    else:
        return
    if short in COPYING and value.refs:
        _fresh_array(run, node, short, given, value, args)
    if run.now.arms:
        names = (*run.names_in(given), *_names_of_items(run, value))
        if any(_tests(arm, names) for arm in run.now.arms):
            return
    form = ""
    if short in COPYING and value.refs and all(is_tensor(ref) for ref in value.refs):
        # A binding of one arm only: on the other it may be a number.
        whole = len(value.refs) > 1 or value.refs[0].arms <= run.now.arms
        own = any(ref.obj.node is node for ref in value.refs) or _renews(run, node, given, value)
        form = "tensor" if whole and not own else ""
    elif value.refs:
        form = kind_of_items(run, value)
    if form:
        _state(run, node, short, given, value, form, 3)
    elif short in COPYING | OTHERS and not any(ref.kind == "array" for ref in value.refs):
        _ask(run, node, short, given, value)


def _state(run: Run, node: ast.Call, short: str, given: ast.expr, value: Value, form: str, evidence: int) -> None:
    place = value.refs[0].place
    obj = value.obj
    fresh = obj is not None and obj.kind in ("list", "tuple") and obj.owner == "fresh"
    items = [held for slot, held in run.now.fields(obj).items() if slot[0] == "["] if obj is not None and fresh else []
    refs = [ref for held in items for ref in held.refs]
    off = bool(items) and (run.now.grad is False or all(on_graph(ref) is False for ref in refs))
    some = isinstance(given, (ast.List, ast.Tuple)) and not any(isinstance(one, ast.Starred) for one in given.elts)
    run.fact(
        TensorOfTensor(
            site=node,
            constructor=run.text(node.func),
            short=short,
            argument=run.short(given),
            given=given,
            new=form == "tensor" and len(value.refs) == 1 and new_memory(run, value.refs[0], given),
            graph=False if off else None,
            numbers=some and all(_number_on_host(run, ref) for ref in refs),
            filled=form == "arrays" and _filled(run, given, value),
            flat=not any(ref.kind in ("list", "tuple") or _row_of_one(run, ref) for ref in refs),
            converts=short == "new_tensor" or any(one.arg in ("dtype", "device") for one in node.keywords),
            form=form,
            defined=place.node if place is not None and evidence else None,
            caller=False,
            evidence=evidence,
        )
    )


def _filled(run: Run, given: ast.expr, value: Value) -> bool:
    """Whether a list is written with an item, or with so many; and nothing takes one out of it."""
    match given:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return any(not isinstance(one, ast.Starred) for one in items)
        case ast.ListComp(generators=[ast.comprehension(iter=over, ifs=[])]):
            match over:
                case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))], keywords=[]):
                    return count > 0
            return isinstance(over, (ast.List, ast.Tuple)) and _filled(run, over, value)
        case ast.Name(id=name) if value.obj is not None and isinstance(value.obj.node, ast.expr):
            inner = list(ast.walk(run.function.node))
            grown = {
                node.func.value
                for node in inner
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADD
            }
            uses = [node for node in inner if isinstance(node, ast.Name) and node.id == name and node is not given]
            others = [node for node in uses if node not in grown]
            written = value.obj.node
            bound = [node for node in inner if isinstance(node, ast.Assign) and node.value is written]
            if len(others) != 1 or not any(node.targets == others for node in bound):
                return False
            return not isinstance(written, ast.Name) and _filled(run, written, value)
    return False


_ADD = frozenset({"append", "extend", "insert"})


def _number_on_host(run: Run, ref: Ref) -> bool:
    return ref.obj.zero_dim and not any(link.kind == VIEW for link in ref.chain) and place_of(run, ref) == "cpu"


def _row_of_one(run: Run, ref: Ref) -> bool:
    """`torch.tensor([x])`, `torch.zeros(1)`: its number becomes one of the list's, its dimension does not."""
    match ref.obj.node:
        case ast.Call(args=[ast.List(elts=[_]), *_]) if ref.obj.made == "tensor" and not ref.chain:
            return True
    ones = ones_of(run, ref)
    return ones.count == 1 and 0 in ones.front


def _ask(run: Run, node: ast.Call, short: str, given: ast.expr, value: Value) -> None:
    """What came in as an argument, or was computed from one: the calls of this function may say what it is."""
    obj = value.obj
    if obj is None:
        return
    items = obj.kind in ("list", "tuple") and obj.owner == "fresh"
    if items:
        held = [one.obj for slot, one in run.now.fields(obj).items() if slot[0] == "["]
        if len(held) != 1 or held[0] is None:
            return
        obj = held[0]
    found = argument_of(obj)
    if found is None or found[0].kind not in ("unknown", "list"):
        return
    argument, item, plain = found
    forms: dict[str, str] = {}
    if items or item:
        if items and item and plain:
            forms = {"arrays": "arrays", "tensors": "tensors"}
    elif obj is argument:
        forms = {"arrays": "arrays", "tensors": "tensors"}
    if short in COPYING and not items and not item:
        forms["tensor"] = "tensor"
    if forms:
        _state(run, node, short, given, value, "", 0)
        run.asks.append(Ask((TensorOfTensor, node), argument.key, forms, asks_of(run, run.now.arms)))


def _renews(run: Run, node: ast.Call, given: ast.expr, value: Value) -> bool:
    """`x = torch.tensor(x)` of an argument: whoever writes so does not trust its annotation."""
    if not all(ref.obj.owner == "argument" for ref in value.refs) or not isinstance(run.stmt, ast.Assign):
        return False
    return any(run.text(target) == run.text(given) for target in run.stmt.targets)


def _names_of_items(run: Run, value: Value) -> list[str]:
    """The names that stand for items of a value: `elem = batch[0]`."""
    whole = value.obj
    if whole is None:
        return []
    return [
        name
        for name, held in run.now.env.items()
        if any(ref.obj.owner == "item" and ref.obj.parent is whole for ref in held.refs)
    ]


def _tests(arm: Arm, names: tuple[str, ...]) -> bool:
    """Whether an arm was chosen by the kind of one of these names."""
    test = arm.test[0] if isinstance(arm.test, tuple) else ""
    return (
        isinstance(test, str)
        and _KIND_TEST.search(test) is not None
        and any(re.search(rf"\b{name}\b", test) for name in names)
    )


def _fresh_array(run: Run, node: ast.Call, short: str, given: ast.expr, value: Value, args: Args) -> None:
    """An array that only this call sees; with another dtype or device a copy is needed anyway."""
    ref = value.refs[0]
    if "dtype" in args.keywords or ref.place is not None or len(value.refs) > 1:
        return
    device = args.keywords.get("device")
    if device is not None and not (isinstance(device[0], ast.Constant) and device[0].value == "cpu"):
        return
    sure = ref.kind == "array" and ref.obj.owner == "fresh" and makes_new_array(run, given)
    if not sure and not (ref.kind == "unknown" and _converted(run, given)):
        return
    if short == "tensor":
        run.fact(FreshArrayCopied(site=node, constructor=run.text(node.func), made=run.short(given), sure=sure))


def _converted(run: Run, node: ast.expr) -> bool:
    """`x.astype(np.float32)`, perhaps with arithmetic: x is an array, unless pandas made it."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _converted(run, left) or _converted(run, right)
        case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute(), attr="astype"), args=[dtype], keywords=[]):
            named = (is_imported(run, dtype) or "").startswith("numpy.")
            return named and "pandas" not in run.names.imported.values()
    return False
