"""Transfers: which of them could cost or clash, by what stands before them, after them, and around."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.features import ASYNC, TO_HOST
from flake8_tensorcopy.engine.library import DEVICE
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.costs import to_host
from flake8_tensorcopy.engine.screens.sketch import Sketch, sketch_of
from flake8_tensorcopy.engine.source import Survey, called_name, collators

_WIDE = ("float", "double", "long", "int", "half", "bfloat16", "short")
# Functions that make a tensor which lies on the host.
_ON_HOST = frozenset(
    "arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_strided eye fftfreq "
    "from_dlpack from_file from_numpy frombuffer full get_rng_state hamming_window hann_window kaiser_window linspace "
    "logspace normal ones rand randint randn randperm range rfftfreq scalar_tensor sparse_coo_tensor "
    "sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices zeros Tensor FloatTensor DataLoader numpy "
    "array pin_memory".split()
)
_NARROW = frozenset("bool bool_ uint8 int8 int16 short half float16 bfloat16 byte char astype dtype".split())
_NARROW_TYPES = ("BoolTensor", "ByteTensor", "CharTensor", "ShortTensor", "HalfTensor", "BFloat16Tensor")
_COPY = frozenset({"copy_"})
_OF_ARRAYS = frozenset("from_numpy from_dlpack as_tensor asarray tensor new_tensor Tensor FloatTensor Variable".split())


def moves(sketch: Sketch) -> list[ast.Call]:
    """The calls that may move a tensor to a device other than the host."""
    found: list[ast.Call] = []
    for node in sketch.calls_of(("to", "cuda")):
        if isinstance(node.func, ast.Attribute):
            given = [one.value for one in node.keywords if one.arg == "device"] or node.args[:1]
            if node.func.attr == "cuda" or (given and _may_be_device(sketch, given[0])):
                found.append(node)
    return found


def _may_be_device(sketch: Sketch, node: ast.expr) -> bool:
    """Whether an expression may name a device that is not the host, or be a tensor that lies there."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (str, int)) and value != "cpu"
        case ast.Attribute(attr=name):
            return DEVICE.search(name) is not None
        case ast.Name(id=name):
            return "dtype" not in name
        case ast.Call():
            return called_name(node).endswith("device")
        case ast.Subscript(value=inner):
            return _may_be_device(sketch, inner)
        case ast.IfExp(body=yes, orelse=no):
            return _may_be_device(sketch, yes) or _may_be_device(sketch, no)
        case ast.JoinedStr():
            return True
    return False


def widened_move(sketch: Sketch) -> bool:
    """A move of what a cast to a wider dtype gave, of something narrow that was made on the host."""
    known = sketch.function.calls
    if "to" not in known and "cuda" not in known:
        return False
    casts = {node for node in sketch.calls_of(_WIDE) if isinstance(node.func, ast.Attribute)}
    casts.update(
        node
        for node in sketch.calls_of(("to", "type"))
        if isinstance(node.func, ast.Attribute)
        and any(sketch.torch_name(one) for one in (*node.args, *(item.value for item in node.keywords)))
    )
    if not casts:
        return False
    moved = [node.func.value for node in moves(sketch)]  # type: ignore[attr-defined]
    if not moved or not sketch.reached_by(casts, moved):  # type: ignore[arg-type]
        return False
    if not any(sketch.from_where.reaches(one, casts.__contains__) for one in moved):
        return False
    narrow = host = kept = False
    for node in sketch.closure([node.func.value for node in casts]):  # type: ignore[attr-defined]
        match node:
            case ast.Compare(ops=[op, *_]):
                narrow = narrow or not isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn))
            case ast.UnaryOp(op=ast.Invert()) | ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor()):
                narrow = True
            case ast.Call():
                name = called_name(node)
                typed = name in _NARROW_TYPES
                narrow = narrow or name in sketch.callees or name in _NARROW or typed or _is_bool(name)
                host = host or name in sketch.callees or name in _ON_HOST or typed or to_host(node)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                kept = True
                host = host or any(one.assigns.get(name) == {"__init__"} for one in sketch.survey.classes.values())
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                narrow = narrow or name in _NARROW
            case ast.Name(id=name):
                narrow = narrow or name in _NARROW
                kept = kept or name in sketch.survey.body.stores
    narrow = narrow or kept or _narrow_argument(sketch)
    return narrow and (host or sketch.in_file("DataLoader", "pin_memory"))


def _is_bool(name: str) -> bool:
    op = ops.method(name) or ops.function("torch." + name)
    return op is not None and op.dtype == "bool"


def _narrow_argument(sketch: Sketch) -> bool:
    """Whether an argument is annotated as a tensor of a narrow dtype."""
    spec = getattr(sketch.function.node, "args", None)
    if spec is None:
        return False
    given = (one.annotation for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs))
    return any(word in ast.unparse(one) for one in given if one is not None for word in _NARROW_TYPES)


def round_trip(sketch: Sketch) -> bool:
    """A copy to the host, an array, a tensor of an array, and a move to a device."""
    if not any(to_host(node) for node in sketch.calls_of(("cpu", "to"))):
        return False
    if not moves(sketch) and not any(
        one.arg == "device" for node in sketch.calls_of(_OF_ARRAYS) for one in node.keywords
    ):
        return False
    return sketch.comes_to_call(_OF_ARRAYS)


# ----- numbers


def host_scalar(sketch: Sketch) -> bool:
    """A move to the host whose result is read as a number, shown, reduced, indexed or compared, and nothing else."""
    made = {node for node in sketch.calls_of(("cpu", "to")) if isinstance(node.func, ast.Attribute) and to_host(node)}
    if not made:
        return False
    found = sketch.function.found
    if any(node.value in made for node in found.get(ast.Subscript, ())):
        return True
    apart = set(made)  # of what these stand in nothing is known yet
    named: set[str] = set()
    for kind in (ast.Assign, ast.AnnAssign):
        for node in found.get(kind, ()):
            value = node.value
            if value in made or (type(value) is ast.Tuple and not made.isdisjoint(value.elts)):
                apart.discard(value)
                targets = node.targets if kind is ast.Assign else [node.target]
                named.update(one.id for target in targets for one in walk(target) if isinstance(one, ast.Name))
    for node in found[ast.Call]:
        func = node.func
        if type(func) is ast.Attribute and func.value in made:
            apart.discard(func.value)
            op = ops.method(func.attr)
            if func.attr in ("item", "tolist") or (op is not None and op.shrinks):
                return True
        if node.args or node.keywords:
            given = [*node.args, *(one.value for one in node.keywords)]
            given += [item for one in node.args if type(one) is ast.Dict for item in one.values]
            if any(one in made or (named and type(one) is ast.Name and one.id in named) for one in given):
                op = ops.function(f"torch.{name}") if (name := sketch.torch_name(func)) else None
                if _shows(node) or (op is not None and op.shrinks):
                    return True
                apart.difference_update(given)
    for node in found.get(ast.Return, ()):
        apart.discard(node.value)
    return bool(apart or named) and _shown(sketch, made, named)


def _shown(sketch: Sketch, made: set[ast.Call], named: set[str]) -> bool:
    """Whether a text is made of one of the values, or one is compared."""
    for statement in sketch.function.node.body:
        for node in walk(statement):
            parts: list[ast.expr] = []
            match node:
                case ast.FormattedValue(value=part):
                    parts = [part]
                case ast.BinOp(op=ast.Mod(), right=right):
                    parts = right.elts if isinstance(right, ast.Tuple) else [right]
                case ast.Compare(left=left, comparators=others):
                    if left in made or not made.isdisjoint(others):
                        return True
            if any(one in made or (isinstance(one, ast.Name) and one.id in named) for one in parts):
                return True
    return False


def _shows(node: ast.Call) -> bool:
    """Whether a call may show its arguments, or make numbers of them."""
    func = node.func
    if isinstance(func, ast.Name):
        return func.id in ("print", "tqdm", "str", "repr", "float", "int", "bool", "round")
    return isinstance(func, ast.Attribute) and (hasattr(str, func.attr) or library.logs(ast.unparse(func)))


# ----- loaders


def dataset_move(sketch: Sketch) -> bool:
    """What a DataLoader calls, or the making of one that pins memory or is given a lambda."""
    function = sketch.function
    if _loads(sketch, function.name):
        return True
    if any(_loads(sketch, node.name) for node in function.found.get(ast.FunctionDef, ())):
        return True
    for node in function.found.get(ast.Call, ()):
        if any(
            (one.arg == "pin_memory" and isinstance(one.value, ast.Constant) and one.value.value is True)
            or (one.arg == "collate_fn" and isinstance(one.value, ast.Lambda))
            for one in node.keywords
        ):
            return True
    return False


def _loads(sketch: Sketch, name: str) -> bool:
    """Whether a function of that name may run where a loader loads."""
    if "collate" in name or name in sketch.survey.collates or name in ("__getitem__", "__getitems__", "__iter__"):
        return True
    cls = sketch.function.cls
    if cls is None:
        return False
    collates = cls.name in sketch.of_file(collators)
    methods = ("__getitem__", "__iter__", *(("__call__",) if collates else ()))
    reads = [cls.methods[one] for one in methods if one in cls.methods]
    return name in methods or any(name in method.calls for method in reads)


# ----- copies in flight


def unwaited_read(sketch: Sketch) -> bool:
    """A copy to the host, or into pinned memory, that is not waited for, here or in what is called."""
    if _starts(sketch):
        return True
    starting = sketch.of_file(_starting)
    return bool(starting) and sketch.comes_to_call(starting)


def _starts(sketch: Sketch) -> bool:
    if not flagged(sketch):
        return False
    if sketch.features & TO_HOST:
        return True
    return sketch.calls(_COPY) and sketch.of_file(_pins)


def _starting(survey: Survey) -> frozenset[str]:
    """The names of the functions of the file that start such copies."""
    found: set[str] = set()
    for one in survey.all:
        if one.features & ASYNC and _starts(sketch_of(survey, one)):
            found.add(one.name)
            if one.name == "__init__" and one.cls is not None:
                found.add(one.cls.name)
    return frozenset(found)


def _pins(survey: Survey) -> bool:
    """Whether memory is pinned anywhere in the file."""
    return any(
        "pin_memory" in one.calls
        or any(flag.arg in ("pin_memory", None) for node in one.found.get(ast.Call, ()) for flag in node.keywords)
        for one in survey.all
        if one.features & ASYNC
    )


def overwritten_source(sketch: Sketch) -> bool:
    """A copy that is not waited for, and pinned memory."""
    return flagged(sketch) and sketch.of_file(_pins)


def flagged(sketch: Sketch) -> bool:
    """A move that is told not to block."""
    return any(
        isinstance(flag, ast.Constant) and flag.value is True
        for node in sketch.calls_of(("to", "cuda", "copy_"))
        for flag in (*node.args[-1:], *(one.value for one in node.keywords if one.arg == "non_blocking"))
    )
