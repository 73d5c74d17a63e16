"""Functions outside the op table: builtins, copy, constructors, NumPy and einops."""

from __future__ import annotations

import ast
import builtins

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.aliases import shallow
from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.backward import autograd_backward
from flake8_tensorcopy.engine.containers import Special, defaulting, double_ended, iterator, listed, shallow_copy
from flake8_tensorcopy.engine.copied_graph import copied
from flake8_tensorcopy.engine.cuts import made_leaf
from flake8_tensorcopy.engine.evaluate import CONTAINERS, fresh, is_imported
from flake8_tensorcopy.engine.expanded import parameter_over
from flake8_tensorcopy.engine.features import EXPAND
from flake8_tensorcopy.engine.freezing import applied, asked_by, switch
from flake8_tensorcopy.engine.generators import spent_by_call
from flake8_tensorcopy.engine.gradients import accumulate, grad_call
from flake8_tensorcopy.engine.host import host_scalar, moved_to_host
from flake8_tensorcopy.engine.leaves import marked, to_array
from flake8_tensorcopy.engine.loops import note_sync
from flake8_tensorcopy.engine.moved_leaf import begins
from flake8_tensorcopy.engine.names import TYPED
from flake8_tensorcopy.engine.operators import arithmetic
from flake8_tensorcopy.engine.parameters import wrap
from flake8_tensorcopy.engine.replaced import stored
from flake8_tensorcopy.engine.rewrapped import rewrapped
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.saved import record
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.storages import buffer_of, mapped
from flake8_tensorcopy.engine.unwrapped import parameter_made, reaches
from flake8_tensorcopy.engine.values import (
    ALIAS,
    MAYBE,
    NONE,
    NUMBER,
    NUMPY,
    SLICE,
    STRING,
    UNKNOWN,
    VIEW,
    Link,
    Obj,
    Place,
    Ref,
    Value,
    join_values,
)
from flake8_tensorcopy.engine.writes import write_to


def _number(run: Run, node: ast.Call, args: Args) -> Value:
    return NUMBER


def _slice(run: Run, node: ast.Call, args: Args) -> Value:
    args.use(run)
    return SLICE


def _to_number(run: Run, node: ast.Call, args: Args) -> Value:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    for given, value in args.all():
        if name in ("str", "repr"):
            run.use_logged(value, given)
            continue
        run.use(value, given, "argument")
        if run.now.flights:
            run.host_use(value, given, "number")
        note_sync(run, node, "number", value)
        for ref in value.refs:
            move = moved_to_host(run, ref)
            if move is not None and given is move and name in ("float", "int"):
                host_scalar(run, move, ref, name)
    return NUMBER if name != "str" else STRING


def _log(run: Run, node: ast.Call, args: Args) -> Value:
    for given, value in args.all():
        run.use_logged(value, given)
    return NONE


def _builtin_abs(run: Run, node: ast.Call, args: Args) -> Value:
    args.use(run, "operand", deep=False)
    return arithmetic(run, node, "abs", *args.values[:1])


def _builtin_sum(run: Run, node: ast.Call, args: Args) -> Value:
    for given, value in args.all():
        run.use_iterated(value, given)
        if run.now.flights:
            run.host_use(value, given, "number")
    result = fresh(run, node, "unknown", "sum", *args.values[:1])
    record(run, node, "sum", None, args.values[:1], result.refs[0].obj)
    return result


def _filter(run: Run, node: ast.Call, args: Args) -> Value:
    if len(args.values) != 2 or args.spread:
        args.use(run)
        return UNKNOWN
    run.use(args.values[0], args.nodes[0], "argument")
    return Value((Ref(Obj("iter", "fresh", node, made="filter", data=("filter", [(args.nodes[1], args.values[1])]))),))


def _map(run: Run, node: ast.Call, args: Args) -> Value:
    args.use(run)
    if len(args.values) == 2 and not args.spread:
        applied(run, args.values[1], args.nodes[0], args.values[0])
    return Value((Ref(Obj("unknown", "unknown", node, made="map", refuted=True, operands=args.objs())),))


def _bytes(run: Run, node: ast.Call, args: Args) -> Value:
    args.use(run)
    return Value((Ref(Obj("bytes", "fresh", node)),))


def _setattr(run: Run, node: ast.Call, args: Args) -> Value:
    """`setattr(net, "fc", layer)`: an assignment of `net.fc`, or of an attribute unknown."""
    args.use(run)
    if len(args.values) == 3:
        base, name, value = args.values
        for ref in base.refs:
            if name.const == "requires_grad":
                switch(run, ref, asked_by(run, args.nodes[2]))
                continue
            shown = f"{ref.obj.key}.{name.const}" if isinstance(name.const, str) else run.short(args.nodes[0])
            reaches(run, ref.obj, shown, value, node, args.nodes[2])
            stored(run, ref.obj, None, value, node, shown)
            if isinstance(name.const, str):
                place = Place(shown, run.stmt, root=ref.obj.key, origin="attribute", loop=run.loop)
                run.now.set_field(ref.obj, "." + name.const, run.bound(value, place, args.nodes[2]))
            elif ref.obj.kind in ("dict", "list", "instance") or ref.obj.refuted:
                run.now.forget(ref.obj)
    return NONE


def _getattr(run: Run, node: ast.Call, args: Args) -> Value:
    return UNKNOWN


def _exception(run: Run, node: ast.Call, args: Args) -> Value:
    """`ValueError(..)` only holds what it is given."""
    args.use(run)
    return Value((Ref(Obj("unknown", "unknown", node, made="call", refuted=True, operands=args.objs())),))


_EXCEPTIONS = [name for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, BaseException)]

BUILTINS: dict[str, Special] = {
    **dict.fromkeys(_EXCEPTIONS, _exception),
    **dict.fromkeys(("len", "isinstance", "issubclass", "hasattr", "id", "type", "callable"), _number),
    **dict.fromkeys(("float", "int", "bool", "str", "repr", "round"), _to_number),
    **dict.fromkeys(("print", "tqdm"), _log),
    **{kind: iterator(kind) for kind in ("zip", "enumerate", "reversed", "iter", "sorted")},
    "range": iterator("range"),
    "slice": _slice,
    **dict.fromkeys(("list", "tuple", "dict", "set"), listed),
    "abs": _builtin_abs,
    "sum": _builtin_sum,
    "getattr": _getattr,
    "filter": _filter,
    "map": _map,
    "bytes": _bytes,
    "setattr": _setattr,
}


def _deepcopy(run: Run, node: ast.Call, args: Args) -> Value:
    args.use(run)
    value = args.values[0] if args.values else UNKNOWN
    copied(run, node, value)
    obj = value.obj
    if obj is None:
        kinds = {ref.kind for ref in value.refs}
        kind = "unknown" if len(kinds) != 1 or kinds & CONTAINERS else kinds.pop()
        return fresh(run, node, kind if kind in ("tensor", "array") else "unknown", "deepcopy", value)
    made = Obj(obj.kind, "fresh", node, made="deepcopy", source=(obj,), cls=obj.cls, dtype=obj.dtype)
    made.data = obj.data if isinstance(obj.data, (Class, str)) else None
    made.param, made.graph, made.zero_dim = obj.param, obj.graph, obj.zero_dim
    made.leaf = True if obj.kind == "tensor" else None  # torch copies no other tensors
    overlapping = tuple(link for ref in value.refs for link in ref.chain if link.overlap)
    return Value((Ref(made, overlapping[:1]),))


def _copy(run: Run, node: ast.Call, args: Args) -> Value:
    value = args.values[0] if args.values else UNKNOWN
    obj = value.obj
    if obj is not None and obj.kind in CONTAINERS:
        return shallow_copy(run, node, value, "copy.copy()")
    if obj is not None and obj.kind == "tensor":
        return Value(tuple(ref.derive(Link(VIEW, "copy.copy", node)) for ref in value.refs))
    args.use(run)
    return shallow(run, node, value) or fresh(run, node, "unknown", "copy")


def _legacy_tensor(run: Run, node: ast.Call, args: Args) -> Value:
    """`torch.Tensor(x)`, `torch.FloatTensor(x)`: of a float32 array or tensor, the very same memory."""
    value = args.values[0] if len(args.values) == 1 else UNKNOWN
    obj = value.obj
    if obj is not None and (obj.kind in ("array", "tensor") or (obj.kind == "unknown" and not obj.refuted)):
        if obj.kind != "unknown":
            name = "torch.Tensor" if not isinstance(node.func, ast.Attribute) else run.text(node.func)
            return Value(tuple(ref.derive(Link(NUMPY, name.rsplit(".", 1)[-1], node)) for ref in value.refs))
        args.use(run)
        return fresh(run, node, "tensor", "Tensor", graph=False)
    args.use(run)
    return fresh(run, node, "tensor", "Tensor", graph=False)


def _typed(name: str) -> Special:
    """`torch.LongTensor(x)`: a tensor off the graph, of that dtype."""

    def typed(run: Run, node: ast.Call, args: Args) -> Value:
        args.use(run)
        made = fresh(run, node, "tensor", name, graph=False)
        made.refs[0].obj.dtype = TYPED[name]
        return made

    return typed


def _parameter(run: Run, node: ast.Call, args: Args) -> Value:
    given, value = (args.nodes[0], args.values[0]) if args.values else args.keywords.get("data", (None, UNKNOWN))
    frozen = "requires_grad" in args.keywords and not args.flag("requires_grad", 1)
    rewrapped(run, node, value)
    if run.function.features & EXPAND and given and not frozen and (len(args.nodes) < 2 or args.flag("", 1)):
        parameter_over(run, node, given, value)
    if value.obj is not None and value.refs:
        wrap(run, node, value, "Parameter", trained=not frozen)
        if all(ref.place is None for ref in value.refs):
            obj = value.obj
            obj.kind, obj.param, obj.leaf, obj.graph = "tensor", True, True, not frozen
            parameter_made(run, node, value)
            return value
        return Value(tuple(ref.derive(Link(VIEW, "Parameter", node)) for ref in value.refs))
    result = fresh(run, node, "tensor", "Parameter", graph=not frozen)
    result.refs[0].obj.param = True
    result.refs[0].obj.leaf = True
    parameter_made(run, node, result)
    return result


def _set_grad_enabled(run: Run, node: ast.Call, args: Args) -> Value:
    """As a statement it holds from here on; `with` restores the mode itself."""
    mode = args.nodes[0] if args.nodes else None
    run.now.grad = bool(mode.value) if isinstance(mode, ast.Constant) else None
    return UNKNOWN


def _variable(run: Run, node: ast.Call, args: Args) -> Value:
    """`Variable(x)`: the tensor itself, since torch 0.4."""
    value = args.values[0] if args.values else UNKNOWN
    if args.flag("requires_grad", 1):
        begins(run, node, value)
        shown = run.short(args.nodes[0]) if args.nodes else "it"
        for ref in value.refs:
            made_leaf(run, node, ref, shown)
        marked(run, node, value, shown, attribute=False)
    return Value(tuple(ref.derive(Link(ALIAS, "Variable", node)) for ref in value.refs), value.kind)


def _autograd_grad(run: Run, node: ast.Call, args: Args) -> Value:
    args.use(run)
    spent_by_call(run, "torch.autograd.grad", args)
    result = fresh(run, node, "list", "autograd.grad", data="tensors")
    if "create_graph" not in args.keywords and len(args.nodes) < 5 and not args.spread:
        result.refs[0].obj.graph = False
    if len(args.values) > 1 and not args.spread:
        grad_call(run, result.refs[0].obj, args.values[0], args.values[1])
    return result


def _autograd_backward(run: Run, node: ast.Call, args: Args) -> Value:
    autograd_backward(run, node, args)
    held = [one for obj in args.objs() if obj.kind in CONTAINERS for one in run.now.fields(obj).values()]
    accumulate(run, node, [*args.objs(), *(ref.obj for value in held for ref in value.refs)])
    return NONE


def _shared_array(run: Run, node: ast.Call, args: Args) -> Value:
    """`from_numpy`, `as_tensor`, `asarray`, `from_dlpack`: the memory of what is given."""
    value = args.values[0] if args.values else UNKNOWN
    name = node.func.attr if isinstance(node.func, ast.Attribute) else "from_numpy"
    if len(value.refs) > 1:
        joined: Value | None = None
        for ref in value.refs:
            one = _shared_ref(run, node, args, ref, name)
            joined = one if joined is None else join_values(joined, one)
        return joined or UNKNOWN
    if not value.refs:
        args.use(run)
        return fresh(run, node, "tensor", name, graph=False)
    return _shared_ref(run, node, args, value.refs[0], name)


def _shared_ref(run: Run, node: ast.Call, args: Args, ref: Ref, name: str) -> Value:
    obj = ref.obj
    unclear = ref.kind == "unknown" and run.evidence(obj) < 2
    if obj.kind in CONTAINERS or (unclear and name in ("as_tensor", "asarray")):
        args.use(run)
        return fresh(run, node, "tensor", name, graph=False)
    kind = MAYBE if ref.kind in ("tensor", "unknown") and name in ("as_tensor", "asarray") else NUMPY
    if "dtype" in args.keywords and kind == NUMPY and name in ("as_tensor", "asarray"):
        kind = MAYBE
    return Value((ref.derive(Link(kind, name, node)),))


def _namespace(run: Run, node: ast.Call, args: Args) -> Value:
    """`SimpleNamespace(value=x)`: an object with these attributes."""
    obj = Obj("instance", "fresh", node, made="SimpleNamespace")
    if args.spread or args.values:
        args.use(run)
        return Value((Ref(obj),))
    for name, (given, value) in args.keywords.items():
        run.use(value, given, "store")
        attribute_from_call(run, node, obj, name, value, given)
    return Value((Ref(obj),))


def attribute_from_call(run: Run, node: ast.Call, obj: Obj, name: str, value: Value, given: ast.AST) -> None:
    """A new object holds what its constructor was given."""
    place = Place(f"the item .{name}", node, origin="attribute", loop=run.loop)
    place.root = ""
    place.made_in, place.made_at = run.stmt, run.clock
    run.now.set_field(obj, f".{name}", run.bound(value, place, given))


def _from_pretrained(run: Run, node: ast.Call, args: Args) -> Value:
    """`nn.Embedding.from_pretrained(vectors, freeze=False)`: a table over the very vectors, to be trained."""
    given = args.values[0] if args.values else args.keywords.get("embeddings", (node, UNKNOWN))[1]
    args.use(run)
    frozen = args.keywords.get("freeze", (args.nodes[1], UNKNOWN) if len(args.nodes) > 1 else None)
    trained = frozen is not None and isinstance(frozen[0], ast.Constant) and frozen[0].value is False
    wrap(run, node, given, "from_pretrained", trained)
    made = Obj("module", "fresh", node, made="torch.nn.Embedding", cls="torch.nn.Embedding")
    if not trained:
        certain = frozen is None or (isinstance(frozen[0], ast.Constant) and bool(frozen[0].value))
        made.graph, made.leaf = False if certain else None, False
    return Value((Ref(made),))


def _vector_to_parameters(run: Run, node: ast.Call, args: Args) -> Value:
    """The parameters become views of the vector."""
    args.use(run)
    wrap(run, node, args.values[0] if args.values else UNKNOWN, "vector_to_parameters")
    return NONE


def _given_back(run: Run, node: ast.Call, args: Args) -> Value:
    """`spectral_norm(layer)`: the layer itself, some of whose parameters are others now."""
    args.use(run)
    value = args.values[0] if args.values else UNKNOWN
    for ref in value.refs:
        if ref.kind == "module":
            run.now.forget(ref.obj)
    return value if all(ref.kind == "module" for ref in value.refs) else UNKNOWN


def _from_buffer(run: Run, node: ast.Call, args: Args) -> Value:
    """`torch.frombuffer(raw, dtype=..)`: the very bytes."""
    args.use(run)
    result = fresh(run, node, "tensor", "frombuffer", graph=False)
    buffer_of(run, args, result.refs[0].obj)
    return result


SPECIAL: dict[str, Special] = {
    **{f"torch.{name}": _typed(name) for name in TYPED},
    "torch.frombuffer": _from_buffer,
    "torch.nn.Embedding.from_pretrained": _from_pretrained,
    "torch.nn.EmbeddingBag.from_pretrained": _from_pretrained,
    "torch.nn.utils.vector_to_parameters": _vector_to_parameters,
    **dict.fromkeys(library.REPARAMETRISING, _given_back),
    "copy.deepcopy": _deepcopy,
    "copy.copy": _copy,
    "types.SimpleNamespace": _namespace,
    "torch.Tensor": _legacy_tensor,
    "torch.FloatTensor": _legacy_tensor,
    "torch.nn.Parameter": _parameter,
    "torch.autograd.grad": _autograd_grad,
    "torch.autograd.backward": _autograd_backward,
    "torch.set_grad_enabled": _set_grad_enabled,
    "torch.autograd.Variable": _variable,
    "torch.from_numpy": _shared_array,
    "torch.as_tensor": _shared_array,
    "torch.asarray": _shared_array,
    "torch.from_dlpack": _shared_array,
    "torch.utils.dlpack.from_dlpack": _shared_array,
    "collections.OrderedDict": listed,
    "collections.deque": double_ended,
    "collections.defaultdict": defaulting,
    "itertools.chain": iterator("chain"),
    **{f"{module}.tqdm": iterator("iter") for module in ("tqdm", "tqdm.auto", "tqdm.autonotebook", "tqdm.notebook")},
}


def numpy_call(run: Run, node: ast.Call, name: str, args: Args) -> Value:
    short = name.rsplit(".", 1)[-1]
    role = "difference" if library.compares(short) or short in ("subtract",) else "operand"
    if "out" in args.keywords:
        given, target = args.keywords["out"]
        write_to(run, node, target, short, "out", run.short(given))
        return target
    value = args.values[0] if args.values else UNKNOWN
    if short in library.NUMPY_FUNCTION_WRITES and args.nodes:
        write_to(run, node, value, short, "function", run.short(args.nodes[0]))
        for given, other in args.all()[1:]:
            run.use(other, given, "operand")
        return NONE
    if short in ("array", "asarray", "asanyarray", "ascontiguousarray"):
        for ref in value.refs:
            to_array(run, node, ref, run.short(args.nodes[0]), f"np.{short}")
    known = bool(value.refs) and all(ref.kind in ("tensor", "array") for ref in value.refs)
    converts = len(args.values) > 1 or "dtype" in args.keywords
    if short in library.NUMPY_SHARES and known and not converts and not args.flag("copy"):
        return Value(tuple(ref.derive(Link(NUMPY, short, node)) for ref in value.refs))
    if short in library.NUMPY_VIEWS and value.refs:
        return Value(tuple(ref.derive(Link(VIEW, short, node)) for ref in value.refs))
    args.use(run, "looked at" if short.endswith("_like") or short in ("shape", "ndim", "size") else role)
    if short in library.NUMPY_REDUCES and _is_one_number(node, 1):
        if all(ref.kind != "tensor" for ref in value.refs):
            return NUMBER
    result = fresh(run, node, "array", short, dtype=array_dtype(run, node) if "dtype" in args.keywords else "")
    if short == "frombuffer":
        buffer_of(run, args, result.refs[0].obj)
    elif short in library.NUMPY_READ_ONLY:
        result.refs[0].obj.data = "readonly"
    elif short in ("load", "memmap"):
        mapped(args, result.refs[0].obj)
    return result


def array_method(run: Run, node: ast.Call, ref: Ref, name: str, args: Args) -> Value:
    one = Value((ref,))
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else node
    for given, value in args.all():
        run.use(value, given, "operand")
    whole = run.method_calls[node][0] if node in run.method_calls else one
    if name in library.NUMPY_WRITES:
        write_to(run, node, one, name, "method", run.short(receiver), whole=whole)
        return NONE
    if name in library.NUMPY_VIEWS:
        return Value((ref.derive(Link(VIEW, name, node)),))
    if name == "astype" and "copy" in args.keywords and not args.flag("copy"):
        return Value((ref.derive(Link(NUMPY, "astype", node)),))
    run.use(one, receiver, "operand", whole=whole)
    if name in ("item", "tolist") or (name in library.NUMPY_REDUCES and _is_one_number(node, 0)):
        return NUMBER
    return fresh(run, node, "array", name, dtype=array_dtype(run, node) if name == "astype" else "")


def _is_one_number(node: ast.Call, arrays: int) -> bool:
    """Whether a reduction is asked for no axis: the call has the array, where it is a function's, and no options."""
    return len(node.args) == arrays and not node.keywords and not any(isinstance(one, ast.Starred) for one in node.args)


def array_dtype(run: Run, node: ast.Call) -> str:
    """The dtype that `astype` or `dtype=` asks for, as torch names it."""
    asked = [keyword.value for keyword in node.keywords if keyword.arg == "dtype"]
    for item in asked or node.args[:1]:
        name = item.value if isinstance(item, ast.Constant) else (is_imported(run, item) or run.text(item))
        name = str(name).removeprefix("numpy.").rstrip("_")
        return name if name in ("bool", "uint8", "int8", "int16", "float16", "float32", "float64") else ""
    return ""


def einops_call(run: Run, node: ast.Call, name: str, args: Args) -> Value:
    value = args.values[0] if args.values else UNKNOWN
    if name == "einops.rearrange" and value.refs:
        run.note(value, 1)
        return Value(tuple(ref.derive(Link(MAYBE, "rearrange", node)) for ref in value.refs))
    args.use(run, "operand")
    return fresh(run, node, "tensor", name.rsplit(".", 1)[-1])
