"""Torch's functions and tensor methods, by their rows of the op table."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.cuts import made_leaf
from flake8_tensorcopy.engine.displays import container
from flake8_tensorcopy.engine.evaluate import copy_of, fresh, is_imported
from flake8_tensorcopy.engine.facts import CloneDetach, RedundantClone
from flake8_tensorcopy.engine.forms import JOINS, receiver_of
from flake8_tensorcopy.engine.freezing import asked_by, switch
from flake8_tensorcopy.engine.gradients import accumulate
from flake8_tensorcopy.engine.graph import graph_of_result, items_of, recording, sink, written_from
from flake8_tensorcopy.engine.host import host_read, reduced_on_host
from flake8_tensorcopy.engine.keeping import CHOICE, kept_by
from flake8_tensorcopy.engine.layouts import axis_size, relaid
from flake8_tensorcopy.engine.leaves import marked, to_array
from flake8_tensorcopy.engine.linked import PAIRS, dtype_of, on_graph, operand
from flake8_tensorcopy.engine.moved_leaf import begins, keeps_gradient
from flake8_tensorcopy.engine.notes import Backward
from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.engine.parts import MAX_AXES, Index, literal, turns
from flake8_tensorcopy.engine.ratios import exponential
from flake8_tensorcopy.engine.recurrent import averaged_in_place
from flake8_tensorcopy.engine.registration import handed
from flake8_tensorcopy.engine.retained import added_in_place
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.saved import detached_view, record, record_in_place
from flake8_tensorcopy.engine.selfcopy import aliased_out
from flake8_tensorcopy.engine.shapes import ones_of
from flake8_tensorcopy.engine.source import applied_to
from flake8_tensorcopy.engine.storages import moved
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.trained import moved_by
from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    MAYBE,
    NONE,
    NUMBER,
    NUMPY,
    STRING,
    UNKNOWN,
    UNSURE,
    VIEW,
    Link,
    Obj,
    Pointer,
    Ref,
    Shape,
    Value,
    join_values,
)
from flake8_tensorcopy.engine.writes import write_to


def apply_op(run: Run, node: ast.Call, op: Op, name: str, args: Args) -> Value:
    """A function of torch with its row of the table."""
    values, nodes = list(args.values), list(args.nodes)
    if "input" in args.keywords and (not values or op.of == 0):
        given, value = args.keywords["input"]
        nodes.insert(0, given)
        values.insert(0, value)
    elif "tensor" in args.keywords and not values:
        nodes.insert(0, args.keywords["tensor"][0])
        values.insert(0, args.keywords["tensor"][1])
    short = name.rsplit(".", 1)[-1]
    if name == "torch.clone" and values:
        return copies(run, node, values[0], short)
    if not op.factory:
        for value in values[:2]:
            run.note(value, 2)
    if "out" in args.keywords:
        return _out(run, node, op, short, args)
    if op.inplace_flag and values and args.flag("inplace", op.inplace_position):
        return in_place(run, node, values[0], short, "function", run.short(nodes[0]), ops.function(name + "_"))
    if op.writes and values:
        for index in op.writes:
            if index < len(values):
                write_to(run, node, values[index], short, "function", run.short(nodes[index]))
                run.written_here.append((node, values[index], short))
                others = [value for value in values if value is not values[index]]
                written_from(run, values[index].refs, others)
                record_in_place(run, node, op, short, values[index].refs, others)
        for position, (given, value) in enumerate(args.all()):
            if position not in op.writes:
                run.use(value, given, "operand")
        if op.result == "same" and op.of < len(values):
            return Value(tuple(ref.derive(Link(ALIAS, short, node)) for ref in values[op.of].refs))
        return UNKNOWN
    run.function_calls[node] = (op, short)
    if short == "exp" and values:
        exponential(run, node, values[0])
    role = op_role(op, short, len(values))
    sharing = op.result in ("view", "maybe", "same") and 0 <= op.of < len(values)
    looked_at = nodes[:1] if short.endswith("_like") or (op.result == "host" and not op.reads_data) else []
    for position, (given, value) in enumerate(args.all()):
        if not (sharing and position == op.of):
            run.use_deep(value, given, "looked at" if given in looked_at else role)
    if sharing and not op.variadic:
        return share(run, node, op, short, values[op.of], args, receiver_first=1)
    if op.variadic and op.result in ("view", "maybe") and op.many == -1 and not args.spread:
        flat = [(f"[{i}]", nodes[i], derived(run, node, op, short, value, args, 1)) for i, value in enumerate(values)]
        return container(run, node, "list", flat)
    if values:
        reduced_on_host(run, nodes[0], values[0], [*values[1:], *args.given(values)], op)
    return op_result(run, node, op, short, values, args, 1)


def op_role(op: Op, short: str, tensors: int) -> str:
    """How an operation reads its arguments: comparing ones say that the reader was to be kept."""
    if op.dtype == "bool" or short in ("sub", "subtract", "rsub", "dist"):
        return "difference"
    if op.name.startswith("torch.nn.functional.") and op.zero_dim and tensors > 1:
        return "difference"
    if op.result == "host" and tensors > 1:
        return "difference"
    return "operand"


def _out(run: Run, node: ast.Call, op: Op, short: str, args: Args) -> Value:
    for given, value in args.all():
        if given is not args.keywords["out"][0]:
            run.use(value, given, "operand")
    target_node, target = args.keywords["out"]
    if target.kind == "none":
        return op_result(run, node, op, short, args.values, args, 1)
    aliased_out(run, node, op.name, args)
    run.operands = (node, [pair for pair in args.all() if pair[0] is not target_node])
    write_to(run, node, target, short, "out", run.short(target_node))
    run.written_here.append((node, target, f"{short}(out=..)"))
    return Value(tuple(ref.derive(Link(ALIAS, short, node)) for ref in target.refs))


def in_place(run: Run, node: ast.Call, value: Value, op: str, how: str, target: str, row: Op | None) -> Value:
    write_to(run, node, value, op, how, target)
    run.written_here.append((node, value, op))
    record_in_place(run, node, row, op, value.refs, [])
    return Value(tuple(ref.derive(Link(ALIAS, op, node)) for ref in value.refs))


def share(run: Run, node: ast.Call, op: Op, short: str, value: Value, args: Args, receiver_first: int) -> Value:
    """The result of an op that shares (or may share) its argument's storage."""
    if op.many not in (1,):
        run.note(value, 1 if short == "split" else 2)
        obj = Obj("iter", "fresh", node, made=short, data=("parts", [(node, value)]))
        if op.many == 0:
            return derived(run, node, op, short, value, args, receiver_first)
        return Value((Ref(obj),))
    return derived(run, node, op, short, value, args, receiver_first)


def derived(run: Run, node: ast.Call, op: Op, short: str, value: Value, args: Args, receiver_first: int) -> Value:
    """Each reference with one more link."""
    if not value.refs:
        kind = "tensor" if op.form == "function" else "unknown"
        return fresh(run, node, kind, short)
    if args.flag("copy"):
        return copies(run, node, value, short)
    if _moves_axes(op, short):
        relaid(run, value.refs)
    out: list[Ref] = []
    whole = run.method_calls[node][0] if node in run.method_calls else value
    for ref in value.refs:
        overlap = op.overlaps and really_overlaps(run, short, node, receiver_first, ref)
        permuted = _out_of_order(ref)
        expanded = ref.overlaps is not None
        sizes = node.args[receiver_first:]
        flattens = (
            short == "contiguous"
            or all(_is_minus_one(item) for item in sizes)
            or (short == "reshape" and len(sizes) == 1 and isinstance(sizes[0], (ast.BinOp, ast.Constant)))
        )
        if op.layout and (expanded or (permuted and flattens)):
            # Out of memory order, so the layout op has to copy.
            out.extend(copy_of(run, node, ref, short, whole=whole).refs)
            continue
        pinned = ref.obj.pinned and short in ("to", "cuda")
        if pinned or short == "pin_memory" or _casts(run, ref, short, node) or run.leaves_host(ref, node):
            # From the host to a device, into pinned memory, weights to another dtype: a copy.
            out.extend(copy_of(run, node, ref, short, whole=whole).refs)
            out[-1].obj.pinned = short == "pin_memory"
            out[-1].obj.dtype = _target_dtype(run, short, node) or dtype_of(ref)
            continue
        if op.result == "view" and op.detaches:
            kind = DETACH
        elif op.result == "view":
            kind = VIEW
        elif op.result == "same":
            kind = ALIAS
        else:
            kind = UNSURE if op.layout and any(_makes_windows(link) for link in ref.chain) else MAYBE
        if op.factory and ref.obj.kind == "array":
            kind = NUMPY
        link = Link(
            kind,
            short,
            node,
            key=part_key(run, op, short, node, receiver_first),
            overlap=overlap,
            permuted=op.permutes,
        )
        link.dtype = _target_dtype(run, short, node) if kind == MAYBE else ""
        out.append(ref.derive(link))
    return Value(tuple(out))


def _makes_windows(link: Link) -> bool:
    """`x.unfold(0, size, step)`: windows that overlap, or have gaps between them, unless the two happen to be equal."""
    if link.op != "unfold" or not isinstance(link.node, ast.Call) or len(link.node.args) < 3:
        return False
    size, step = link.node.args[-2:]
    return text_of(size) != text_of(step)


def _out_of_order(ref: Ref) -> bool:
    """Whether the dimensions are surely not in memory order: exchanged, and none of them dropped since."""
    permuted = False
    for link in ref.chain:
        if link.op == "unsqueeze":
            return False  # a dimension of size 1 may stand anywhere
        if link.permuted:
            permuted = not (permuted and turns(link))
        elif link.key is not None and not (isinstance(link.key, Index) and link.key.slices_only):
            permuted = False
    return permuted


# The names of dtypes in torch, to one name each.
DTYPES = {
    **{name: name for name in "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 bool".split()},
    **{"half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32", "long": "int64"},
}


def _casts(run: Run, ref: Ref, short: str, node: ast.Call) -> bool:
    """Whether a conversion surely changes the dtype, and so copies."""
    target = _target_dtype(run, short, node)
    source = dtype_of(ref)
    if not target or not source or target == source:
        return False
    return not (target.startswith("int") and source == "int")


def _target_dtype(run: Run, short: str, node: ast.Call) -> str:
    """The dtype that a conversion asks for, or nothing."""
    op = ops.method(short)
    if op is not None and op.casts:
        return op.casts
    if short in ("to", "type"):
        for item in (*node.args, *(keyword.value for keyword in node.keywords)):
            name = is_imported(run, item)
            if name is not None and name.startswith("torch."):
                return DTYPES.get(name.removeprefix("torch."), "")
    return ""


def part_key(run: Run, op: Op, short: str, node: ast.Call, first: int) -> object:
    """For an op that views a part: which one."""
    if not op.part:
        return None
    given = node.args[first:]
    index = _as_index(short, [_number(item) for item in given]) if not node.keywords else None
    if index is not None:
        return index
    texts = tuple(run.text(item) for item in given)
    versions = tuple((name, run.now.version.get(name, 0)) for item in given for name in run.names_in(item))
    return (short, texts, versions)


def _as_index(short: str, given: list[int | None]) -> Index | None:
    """`narrow` and `select` by literal numbers as the index that they are."""
    match short, given:
        case "narrow", [int(dim), int(start), int(length)] if 0 <= dim < 4 and start >= 0:
            return Index((*(":" for _ in range(dim)), f"{start}:{start + length}"))
        case "select", [int(dim), int(index)] if 0 <= dim < 4:
            return Index((*(":" for _ in range(dim)), str(index)))
    return None


def unpacked_part(run: Run, node: ast.AST, made: str, position: int, source: ast.AST) -> object:
    """Which part of a tensor is item `position` of what `unbind`, `chunk` or `split` makes of it."""
    if not isinstance(node, ast.Call) or any(keyword.arg != "dim" for keyword in node.keywords):
        return (source, position)
    given = node.args if is_imported(run, node.func) is None else node.args[1:]
    match made, [literal(item) for item in (*given, *(keyword.value for keyword in node.keywords))]:
        case "unbind", [] | [int()] as numbers:
            item, along = str(position), numbers
        case "chunk", [int(count), *along]:
            item = f"piece {position} of {count}:"
        case "split", [int(size), *along]:
            item = f"{position * size}:{position * size + size}"
        case _:
            return (source, position)
    match along:
        case []:
            return Index((item,))
        case [int(axis)] if -1 <= axis < MAX_AXES:
            return Index((*[":"] * axis, item) if axis >= 0 else ("...", item))
    return (source, position)


def really_overlaps(run: Run, short: str, node: ast.Call, first: int, ref: Ref) -> bool:
    """Whether a call of an overlapping view op, as far as its arguments tell, makes elements share memory."""
    if short == "broadcast_tensors":
        ones = ones_of(run, ref)
        return bool(ones.front or ones.back)  # the others keep their size, one of them at least
    given = run.sizes.get(node)
    if given is not None and given.kept:
        return False
    args = node.args[first:]
    if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)):
        args = args[0].elts
    if short == "unfold":
        size, step = (_number(args[1]), _number(args[2])) if len(args) > 2 else (None, None)
        if step is None:
            return len(args) > 2 and _is_part_of(args[2], args[1])
        return size > step if size is not None else step == 1
    if short == "as_strided":
        return _strides_overlap(node.args[first:])
    if not args:
        return True
    own = isinstance(node.func, ast.Attribute) and text_of(args[0]) in (
        f"{text_of(node.func.value)}.shape",
        f"{text_of(node.func.value)}.size()",
    )
    return not own and not all(_is_minus_one(item) or _number(item) == 1 for item in args)


def _is_part_of(step: ast.expr, size: ast.expr) -> bool:
    """Whether a step is a fraction of the size that it goes with: `size // 2`."""
    match step:
        case ast.BinOp(left=whole, op=ast.FloorDiv(), right=ast.Constant(value=int(parts))):
            return parts > 1 and text_of(whole) == text_of(size)
    return False


def _strides_overlap(args: list[ast.expr]) -> bool:
    """`as_strided(sizes, strides)`: a stride of 0, the same stride twice, or a reach that leads into the next one."""
    if len(args) < 2 or not all(isinstance(item, (ast.Tuple, ast.List)) for item in args[:2]):
        return False
    sizes, strides = ([_number(item) for item in getattr(given, "elts", [])] for given in args[:2])
    literal = [stride for stride in strides if stride is not None]
    if 0 in literal or len(literal) != len(set(literal)):
        return True
    if None in sizes or None in strides:
        return False
    reach = 0
    for stride, size in sorted(zip(literal, [size for size in sizes if size is not None], strict=False)):
        if size > 1 and stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def _number(node: ast.expr) -> int | None:
    """The value of an integer literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _is_minus_one(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
        and node.operand.value == 1
    )


def copies(run: Run, node: ast.AST, value: Value, made: str) -> Value:
    """A fresh copy of each alternative."""
    result: Value | None = None
    for ref in value.refs:
        one = copy_of(run, node, ref, made, whole=value)
        result = one if result is None else join_values(result, one)
    return result if result is not None else fresh(run, node, "unknown", made)


def _of_another_kind(values: list[Value]) -> bool:
    """Whether a method is called on a tensor over memory that is no tensor's own: `torch.from_numpy(a).sub(1)`."""
    refs = values[0].refs if values else ()
    return bool(refs) and all(ref.kind == "tensor" and ref.obj.kind != "tensor" for ref in refs)


def _asks_for_tuple(args: Args) -> bool:
    """`nonzero(as_tuple=True)`: a tensor for each dimension; `as_tuple=False` is what it does anyway."""
    asked = args.keywords.get("as_tuple")
    return asked is not None and not (isinstance(asked[0], ast.Constant) and asked[0].value is False)


def op_result(run: Run, node: ast.Call, op: Op, short: str, values: list[Value], args: Args, first: int) -> Value:
    """The result of an op that makes new storage, or no tensor."""
    if op.result in ("host", "none"):
        if short == "data_ptr" and isinstance(node.func, ast.Attribute) and not run.is_storage(node.func.value):
            return Value(kind="number", const=Pointer(run.short(node.func.value), node))
        return NUMBER if op.result == "host" else NONE
    if _asks_for_tuple(args) or (short == "where" and len(args.values) == 1):
        return fresh(run, node, "list", short, data="indices")
    if op.result == "other":
        return Value((Ref(Obj("unknown", "unknown", node, made="call")),))
    kind = "tensor" if op.form == "function" or _of_another_kind(values) else "unknown"
    if op.result == "array":
        return fresh(run, node, "array", short)
    tensors = [value for value in values if value.refs]
    if op.many > 1:
        items: list[tuple[str, ast.expr, Value]] = []
        for position in range(op.many):
            one = fresh(run, node, kind, short, *tensors[:1])
            one.refs[0].obj.dtype = "int" if position == 1 and op.second_int else ""
            if position == 0 and op.second_int:
                one.refs[0].obj.graph = graph_of_result(tensors[:1]) if run.now.grad is not False else False
            items.append((f"[{position}]", node, one))
        return container(run, node, "tuple", items)
    if op.many == -1:
        return fresh(run, node, "list", short, *tensors[:1], data="tensors")
    result = fresh(run, node, kind, short, *tensors[:3])
    obj = result.refs[0].obj
    obj.given = tuple(tensors[:3])
    obj.operands = tuple(operand(ref) for value in (*tensors, *args.given(values)) for ref in value.refs)
    if values and len(values[0].refs) == 1:
        obj.copied = values[0].refs[0]
    obj.dtype = _made_dtype(run, op, short, args)
    if op.dtype == "same" and tensors and tensors[0].obj is not None:
        obj.dtype = tensors[0].obj.dtype
    if short in JOINS or short == "stack":
        obj.dtype = _joined_dtype(run, values[:1])
    extra = len(args.values) - first
    obj.zero_dim = (
        op.zero_dim
        and "reduction" not in args.keywords
        and (
            (extra <= 0 and not ({"dim", "axis"} & args.keywords.keys())) or op.name.startswith("torch.nn.functional.")
        )
    )
    if not obj.zero_dim and tensors and not op.zero_dim and op.dtype in ("", "same", "bool"):
        first_obj = tensors[0].obj
        obj.zero_dim = first_obj is not None and first_obj.zero_dim and len(tensors) == 1 and op.form == "method"
    obj.pinned = short == "pin_memory" or args.flag("pin_memory")
    if op.factory and any(isinstance(item, ast.Tuple) and not item.elts for item in args.nodes):
        obj.zero_dim = True
    if op.factory and values and values[0].kind == "number" and short in ("tensor", "as_tensor", "scalar_tensor"):
        obj.zero_dim = True
    chosen = op.name == "torch.where" and len(values) == 3
    if op.factory:
        obj.graph = args.flag("requires_grad")
        obj.leaf = obj.graph or None
    elif op.detaches and args.flag("requires_grad"):
        obj.graph = obj.leaf = True  # `zeros_like(x, requires_grad=True)`: nothing of x but its shape
        obj.operands = ()
    elif run.now.grad is False or op.detaches:
        obj.graph = False
    else:
        obj.graph = graph_of_result(items_of(run, [*tensors, *args.given(values)]))
        if op.many == 0 and (len(values) > 1 or args.keywords) and obj.graph and short not in PAIRS and not chosen:
            obj.graph = None  # of values and indices, only the values
    record(run, node, short, None if op.factory else CHOICE if chosen else kept_by(op), values, obj)
    return result


def _joined_dtype(run: Run, values: list[Value]) -> str:
    """The dtype of tensors put together, where all of them are integers or all are bools."""
    dtypes = {item.obj.dtype if item.obj is not None else "" for item in items_of(run, values)}
    if len(dtypes) == 1:
        return dtypes.pop()
    return "int" if dtypes and all("int" in one or one == "bool" for one in dtypes) else ""


def _literal_dtype(node: ast.expr) -> str:
    """The dtype of `torch.tensor` of a literal."""
    kinds = {type(item.value) for item in ast.walk(node) if isinstance(item, ast.Constant)}
    plain = (ast.List, ast.Tuple, ast.Constant, ast.UnaryOp, ast.USub, ast.Load)
    if not all(isinstance(item, plain) for item in ast.walk(node)):
        return ""
    if float in kinds:
        return "float32"
    return "int64" if kinds == {int} else "bool" if kinds == {bool} else ""


def _made_dtype(run: Run, op: Op, short: str, args: Args) -> str:
    """The dtype of a new tensor, as far as it is certain."""
    given = args.keywords.get("dtype")
    if given is not None:
        name = is_imported(run, given[0]) or ""
        return DTYPES.get(name.removeprefix("torch."), "")
    if op.dtype in ("bool", "int"):
        return op.dtype
    if short == "bincount" and "weights" not in args.keywords and not args.spread:
        return "int64" if len(args.nodes) < (2 if op.form == "function" else 1) else ""
    if not op.factory:
        return ""
    if short == "tensor" and args.nodes:
        return _literal_dtype(args.nodes[0])
    if short == "arange":
        return (
            ""
            if any(isinstance(item, ast.Constant) and isinstance(item.value, float) for item in args.nodes)
            else "int64"
        )
    if short in ("randperm", "randint"):
        return "int64"
    # Made from sizes alone: the default dtype.
    return "float32" if op.default_dtype else ""


# Of what writes no data in place, the operations that leave the axes as they are.
_KEEP_AXES = frozenset({"detach_", "requires_grad_", "share_memory_"})


def _moves_axes(op: Op, name: str) -> bool:
    """Whether an operation gives a tensor other axes in place: `t_`, `squeeze_`."""
    return op.result == "same" and name[-1:] == "_" and not op.writes and name not in _KEEP_AXES


def tensor_method(run: Run, node: ast.Call, ref: Ref, op: Op, name: str, args: Args, func: ast.Attribute) -> Value:
    """A method of Tensor with its row of the table."""
    one = Value((ref,))
    whole = run.method_calls[node][0] if node in run.method_calls else one
    if name == "share_memory_":
        moved(run, node, ref)
        ref.obj.moved = True
    if name in library.TENSOR_ONLY or (name == "clamp" and any(value.refs for value in args.values)):
        run.note(one, 2)
    elif op.writes:
        run.note(one, 2)
    elif array_arguments(args) or op.overlaps or name == "requires_grad_":  # which modules have, too
        run.note(one, 1)
    if "out" in args.keywords:
        run.use(one, func.value, "operand")
        return _out(run, node, op, name, args)
    if name[-1] == "_" and op.result == "other":
        return Value((ref.derive(Link(ALIAS, name, node)),))
    if op.writes:
        if 0 in op.writes:
            for given, value in args.all() if not args.read else ():
                run.use(value, given, "operand")
            args.read = True
            moved_by(run, node, (value for _, value in args.all()), into=ref.obj)
            if node.args:
                added_in_place(run, node, ref, name, func, args.values)
                if name in library.AVERAGES and args.values:
                    averaged_in_place(run, func.value, ref, name, node.args[0], args.values[0])
            if name == "copy_":
                run.copied_into(ref, args.values[0] if args.values else UNKNOWN)
            run.operands = (node, args.all())
            write_to(run, node, one, name, "method", run.short(func.value), whole=whole)
            written_from(run, one.refs, args.values)
            record_in_place(run, node, op, name, one.refs, args.values)
            run.use(one, func.value, "receiver")
            run.written_here.append((node, one, name))
            return Value((ref.derive(Link(ALIAS, name, node)),)) if op.result == "same" else UNKNOWN
        args.use(run)
        return UNKNOWN
    if name == "requires_grad_":
        asked = next((item for item, _ in args.all()), None)
        if asked is None or args.flag("requires_grad", 0):
            begins(run, node, one)
            made_leaf(run, node, ref, run.short(func.value))
            marked(run, node, one, run.short(func.value), attribute=False)
        else:
            handed(run, one)  # frozen: nobody wants it trained
            switch(run, ref, asked_by(run, asked))
    if name == "exp":
        exponential(run, node, one)
    if name == "retain_grad":
        keeps_gradient(run, ref)
        ref.obj.leaf = True
        run.tape.retained.add(ref.obj)
    if name == "size":
        shape = Shape(ref)
        return axis_size(run, shape, args.nodes[0]) if args.nodes else Value(kind="number", const=shape)
    if name in ("detach", "detach_"):
        clone_detach(run, node, ref, func.value)
    if name == "detach_":
        detached_view(run, node, ref, run.short(func.value))
        ref.obj.graph = None if run.now.arms and ref.obj.owner != "fresh" else False
    if name in ("item", "tolist"):
        host_read(run, node, ref, name)
    role = op_role(op, name, 1 + sum(1 for value in args.values if value.refs))
    for given, value in args.all():
        run.use(value, given, "looked at" if name in library.AS_ANOTHER else role)
    if op.result == "same":
        if _moves_axes(op, name):
            relaid(run, one.refs)
        return Value((ref.derive(Link(ALIAS, name, node)),))
    if op.result in ("view", "maybe") and op.of == 0:
        if name == "type" and not args.values and not args.keywords:
            return STRING
        return share(run, node, op, name, one, args, receiver_first=0)
    if op.result == "array" and op.of == 0:
        to_array(run, node, ref, run.short(func.value), ".numpy()")
        return Value((ref.derive(Link(NUMPY, name, node)),))
    if op.result != "host" or op.reads_data:
        run.use(one, func.value, "looked at" if name.startswith("new_") else role, whole=whole)
    reduced_on_host(run, func.value, one, args.values, op)
    if name == "clone":
        return copy_of(run, node, ref, "clone", whole=whole)
    return op_result(run, node, op, name, [one, *args.values], args, 0)


def array_arguments(args: Args) -> bool:
    """Keywords that only array libraries use."""
    return bool({"dim", "axis", "keepdim", "dtype", "non_blocking", "memory_format"} & args.keywords.keys())


def clone_detach(run: Run, node: ast.Call, ref: Ref, inner: ast.expr) -> None:
    """`x.clone().detach()`, `torch.clone(x).detach()`, `torch.detach(x.clone())`, also with views and moves between."""
    if ref.obj.made != "clone":
        return
    for link in reversed(ref.chain):
        before = receiver_of(inner)
        told = run.facts.get((RedundantClone, inner))
        if link.node is not inner or before is inner or (isinstance(told, RedundantClone) and not told.host):
            return
        inner = before
    if not isinstance(inner, ast.Call) or ref.obj.node is not inner:
        return
    argument = None
    if is_imported(run, inner.func) == "torch.clone":
        argument = receiver = applied_to(inner)
    elif isinstance(inner.func, ast.Attribute) and inner.func.attr == "clone":
        receiver = inner.func.value
    else:
        return
    source = ref.obj.copied
    graph = None if source is None else on_graph(source)
    run.fact(
        CloneDetach(
            site=node,
            receiver=run.short(receiver),
            clone=inner,
            argument=argument,
            second=run.cloned_and_detached(inner),
            graph=graph,
            recording=recording(run),
        )
    )


def backward(run: Run, node: ast.Call, base: Value, args: Args) -> None:
    """`loss.backward()`: the gradients of everything it was computed from are written."""
    accumulate(run, node, [*(ref.obj for ref in base.refs), *args.objs()])
    for value in (base, *args.values[:1]):
        sink(run, value, node, backward=True, retains=args.flag("retain_graph", 1))
    for ref in base.refs:
        retains = args.flag("retain_graph", 1)
        run.backwards.append(Backward(ref, node, run.loop, run.count(), run.now.arms, retains, run.within))
        if ref.obj.kind in ("tensor", "unknown"):
            ref.obj.zero_dim = ref.obj.zero_dim or not any(link.kind == VIEW for link in ref.chain)
            if ref.obj.kind == "unknown":
                ref.obj.uses.append((2, run.stmt))
