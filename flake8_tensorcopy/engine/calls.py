"""Calls: torch's functions and methods by the op table, modules, containers, and the functions of the file itself."""

from __future__ import annotations

import ast
from collections.abc import Callable

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.evaluate import (
    CONTAINERS,
    arithmetic,
    container,
    copy_of,
    element_of,
    evaluate,
    fresh,
    is_imported,
    store_item,
    values_of,
)
from flake8_tensorcopy.engine.facts import CloneDetach, HostScalar, PointerTest
from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.summaries import apply_summary, summary_of
from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    MAYBE,
    NONE,
    NUMBER,
    NUMPY,
    SNAPSHOT,
    STRING,
    UNKNOWN,
    VIEW,
    Link,
    Obj,
    Place,
    Pointer,
    Ref,
    Value,
    join_values,
)


class Args:
    """The evaluated arguments of one call."""

    __slots__ = ("keywords", "node", "nodes", "spread", "values")

    def __init__(self, run: Run, node: ast.Call) -> None:
        self.node = node
        self.nodes: list[ast.expr] = []
        self.values: list[Value] = []
        self.keywords: dict[str, tuple[ast.expr, Value]] = {}
        self.spread = False
        for item in node.args:
            if isinstance(item, ast.Starred):
                self.spread = True
                value = evaluate(run, item.value)
                run.use_iterated(value, item.value)
                self.nodes.append(item.value)
                self.values.append(element_of(run, item, value))
            else:
                self.nodes.append(item)
                self.values.append(evaluate(run, item))
        for keyword in node.keywords:
            value = evaluate(run, keyword.value)
            if keyword.arg is None:
                self.spread = True
                run.use_deep(value, keyword.value, "argument")
            else:
                self.keywords[keyword.arg] = (keyword.value, value)

    def use(self, run: Run, role: str = "argument", deep: bool = True) -> None:
        """Every argument is read."""
        for node, value in self.all():
            if deep:
                run.use_deep(value, node, role)
            else:
                run.use(value, node, role)

    def all(self) -> list[tuple[ast.expr, Value]]:
        return [*zip(self.nodes, self.values, strict=True), *self.keywords.values()]

    def flag(self, name: str, position: int = -1) -> bool:
        """Whether a boolean argument is written as True."""
        node: ast.expr | None = None
        if name in self.keywords:
            node = self.keywords[name][0]
        elif 0 <= position < len(self.nodes):
            node = self.nodes[position]
        return isinstance(node, ast.Constant) and node.value is True


def _registered(run: Run, node: ast.Call, one: Value, args: Args) -> Value:
    """`register_buffer("cov", x)`: an assignment of `self.cov`."""
    name = args.values[0] if args.values else UNKNOWN
    value = args.values[1] if len(args.values) > 1 else args.keywords.get("tensor", (node, UNKNOWN))[1]
    if isinstance(name.const, str):
        for ref in one.refs:
            shown = f"{ref.obj.key}.{name.const}"
            place = Place(shown, run.stmt, root=ref.obj.key, origin="attribute", loop=run.loop)
            run.now.set_field(ref.obj, "." + name.const, run.bound(value, place, args.nodes[-1]))
            if run.function.cls is not None:
                run.function.cls.assigns.setdefault(name.const, set()).add(run.function.name)
    return NONE


def call(run: Run, node: ast.Call) -> Value:
    """The value of a call, with everything that it does."""
    func = node.func
    if isinstance(func, ast.Attribute):
        name = is_imported(run, func)
        if name is not None:
            return imported_call(run, node, name)
        base = evaluate(run, func.value)
        return method_call(run, node, base, func)
    if isinstance(func, ast.Name) and func.id not in run.now.env:
        return _named_call(run, node, func.id)
    value = evaluate(run, func)
    return call_value(run, node, value)


def _named_call(run: Run, node: ast.Call, name: str) -> Value:
    imported = run.names.imported.get(name)
    if imported is not None:
        return imported_call(run, node, run.names.qualify(node.func) or imported)
    survey = run.module.survey
    if name in survey.functions:
        return local_call(run, node, survey.functions[name], None)
    if name in survey.classes:
        return instantiate(run, node, survey.classes[name])
    builtin = _BUILTINS.get(name)
    args = Args(run, node)
    if builtin is not None:
        return builtin(run, node, args)
    return unknown_call(run, node, args, name)


def unknown_call(run: Run, node: ast.Call, args: Args, name: str = "") -> Value:
    """A call of which nothing is known: its arguments are read; what it returns may be anything."""
    role = "difference" if library.compares(name) else "argument"
    args.use(run, role)
    pointer_assertion(run, node, name, args)
    _trains(run, node, name, args, None)
    for _, value in args.all():
        for ref in value.refs:
            if ref.obj.kind in ("dict", "list", "instance") or (ref.obj.kind == "unknown" and ref.obj.refuted):
                run.now.forget(ref.obj)
    return Value((Ref(Obj("unknown", "unknown", node, made="call")),))


def pointer_assertion(run: Run, node: ast.Call, name: str, args: Args) -> None:
    """`assertNotEqual(a.data_ptr(), b.data_ptr())`."""
    if name != "assertNotEqual" or len(args.values) < 2:
        return
    left, right = args.values[0].const, args.values[1].const
    if isinstance(left, Pointer) and isinstance(right, Pointer):
        run.fact(PointerTest(site=node, left=left.text, right=right.text, asserted=True, guards_copy=False))


# ----- training


def _trains(run: Run, node: ast.Call, name: str, args: Args, receiver: Value | None) -> None:
    """A call by a name that says so trains the modules it is given (or that its receiver holds)."""
    if not library.says_training(name, run.module.train_calls):
        return
    touched: list[Value] = [value for _, value in args.all()]
    if receiver is not None:
        touched.append(receiver)
    for value in touched:
        for ref in value.refs:
            train(run, node, ref.obj, f"{name}()")
            if receiver is not None and value is receiver:
                for module in list(run.modules):
                    if module.parent is ref.obj:
                        train(run, node, module, f"{name}()")


def train(run: Run, node: ast.AST, module: Obj, op: str) -> None:
    """All parameters of a module move."""
    run.write(node, Value((Ref(module, (), Place(module.key or "the module", None, origin="module")),)), op, "training")


def step(run: Run, node: ast.Call, optimizer: Value, name: str) -> None:
    """`optimizer.step()`: the modules that it was built from move, or, if unknown, every module in sight."""
    obj = optimizer.obj
    known = obj.data if obj is not None and obj.kind == "optimizer" else None
    modules = list(known) if isinstance(known, list) and known else list(run.modules)
    for module in modules:
        train(run, node, module, f"{name}.step()")


# ----- functions of imported packages


def imported_call(run: Run, node: ast.Call, name: str) -> Value:
    """A call by its qualified name."""
    special = _SPECIAL.get(name)
    args = Args(run, node)
    if special is not None:
        return special(run, node, args)
    if name.startswith("torch."):
        return _torch_call(run, node, name, args)
    if name.startswith("numpy."):
        return _numpy_call(run, node, name, args)
    if name in library.EINOPS:
        return _einops(run, node, name, args)
    local = name.rsplit(".", 1)[-1]
    if name.startswith(("typing.", "math.", "logging.", "warnings.", "os.", "time.")):
        args.use(run, "argument", deep=False)
        return UNKNOWN
    return unknown_call(run, node, args, local)


def _torch_call(run: Run, node: ast.Call, name: str, args: Args) -> Value:
    op = ops.function(name)
    if op is not None and op.form != "module":
        return apply_op(run, node, op, name, args)
    short = name.rsplit(".", 1)[-1]
    if name.startswith("torch.nn.init.") and short.endswith("_") and args.values:
        target = args.values[0]
        run.note(target, 2)
        run.write(node, target, short, "function", run.short(args.nodes[0]))
        run.written_here.append((node, target, short))
        return Value(tuple(ref.derive(Link(ALIAS, short, node)) for ref in target.refs))
    if name.startswith("torch.optim.lr_scheduler."):
        return fresh(run, node, "instance", name)
    if name.startswith("torch.optim.") and short[:1].isupper():
        return _optimizer(run, node, name, args)
    if name in ("torch.nn.ModuleList", "torch.nn.ParameterList") and args.values:
        value = args.values[0]
        if value.obj is not None and value.obj.kind == "list":
            return value
        return fresh(run, node, "list", name)
    if name == "torch.nn.Sequential":
        return _sequential(run, node, args)
    if name.startswith("torch.nn.") and short[:1].isupper() and not name.startswith("torch.nn.utils."):
        args.use(run)
        made = Obj("module", "fresh", node, made=name, cls=name)
        if op is not None and op.inplace_flag and args.flag("inplace", op.inplace_position):
            made.data = "inplace"
        return Value((Ref(made),))
    return unknown_call(run, node, args, short)


def _optimizer(run: Run, node: ast.Call, name: str, args: Args) -> Value:
    modules: list[Obj] = []
    pending = [value for _, value in args.all()]
    while pending:
        value = pending.pop()
        for ref in value.refs:
            obj = ref.obj
            if obj.kind == "iter" and isinstance(obj.data, tuple):
                kind, parts = obj.data
                if kind in ("parameters", "named"):
                    modules.extend(r.obj for r in parts[0][1].refs)
                else:
                    pending.extend(part for _, part in parts)
            elif obj.kind in CONTAINERS:
                for held in run.now.fields(obj).values():
                    modules.extend(r.obj for r in held.refs if r.chain and r.chain[-1].kind == SNAPSHOT)
                    pending.append(held)
    return fresh(run, node, "optimizer", name, cls=name, data=modules)


def _sequential(run: Run, node: ast.Call, args: Args) -> Value:
    obj = Obj("module", "fresh", node, made="torch.nn.Sequential", cls="torch.nn.Sequential")
    if args.values and not args.spread and not any(value.kind == "dict" for value in args.values):
        obj.data = ("layers", list(args.values))
    return Value((Ref(obj),))


# ----- operations of the table


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
        return _in_place(run, node, values[0], short, "function", run.short(nodes[0]))
    if op.writes and values:
        for index in op.writes:
            if index < len(values):
                run.write(node, values[index], short, "function", run.short(nodes[index]))
                run.written_here.append((node, values[index], short))
        for position, (given, value) in enumerate(args.all()):
            if position not in op.writes:
                run.use(value, given, "operand")
        if op.result == "same" and op.of < len(values):
            return Value(tuple(ref.derive(Link(ALIAS, short, node)) for ref in values[op.of].refs))
        return UNKNOWN
    run.function_calls[node] = (op, short)
    role = op_role(op, short, len(values))
    sharing = op.result in ("view", "maybe", "same") and 0 <= op.of < len(values)
    for position, (given, value) in enumerate(args.all()):
        if not (sharing and position == op.of):
            run.use_deep(value, given, role)
    if sharing and not op.variadic:
        return share(run, node, op, short, values[op.of], args, receiver_first=1)
    if op.variadic and op.result in ("view", "maybe") and op.many == -1 and not args.spread:
        flat = [
            (f"[{i}]", nodes[i], derived(run, node, op, short, value, args, 1)) for i, value in enumerate(values)
        ]
        return container(run, node, "list", flat)
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
    run.write(node, target, short, "out", run.short(target_node))
    run.written_here.append((node, target, f"{short}(out=..)"))
    return Value(tuple(ref.derive(Link(ALIAS, short, node)) for ref in target.refs))


def _in_place(run: Run, node: ast.Call, value: Value, op: str, how: str, target: str) -> Value:
    run.write(node, value, op, how, target)
    run.written_here.append((node, value, op))
    return Value(tuple(ref.derive(Link(ALIAS, op, node)) for ref in value.refs))


def share(run: Run, node: ast.Call, op: Op, short: str, value: Value, args: Args, receiver_first: int) -> Value:
    """The result of an op that shares (or may share) its argument's storage."""
    if op.many not in (1,):
        run.note(value, 1)
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
    out: list[Ref] = []
    for ref in value.refs:
        overlap = op.overlaps and really_overlaps(short, node, receiver_first)
        permuted = any(link.permuted for link in ref.chain)
        expanded = ref.overlaps is not None
        flattens = short == "contiguous" or all(_is_minus_one(item) for item in node.args[receiver_first:])
        if op.result == "maybe" and short in library.LAYOUT and (expanded or (permuted and flattens)):
            # Out of memory order, so the layout op has to copy.
            out.extend(copy_of(run, node, ref, short).refs)
            continue
        if (ref.obj.pinned and short in ("to", "cuda")) or short == "pin_memory" or _casts(run, ref, short, node):
            # From pinned memory to a device, into pinned memory, weights to another dtype: a copy.
            out.extend(copy_of(run, node, ref, short).refs)
            out[-1].obj.pinned = short == "pin_memory"
            continue
        if op.result == "view" and op.detaches:
            kind = DETACH
        elif op.result == "view":
            kind = VIEW
        elif op.result == "same":
            kind = ALIAS
        else:
            kind = MAYBE
        if op.factory and ref.obj.kind == "array":
            kind = NUMPY
        link = Link(
            kind,
            short,
            node,
            key=part_key(run, short, node, receiver_first),
            overlap=overlap,
            permuted=short in library.PERMUTES,
        )
        out.append(ref.derive(link))
    return Value(tuple(out))


# Methods and dtype names, to the dtype that they give.
_DTYPES = {
    **{name: name for name in "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 bool".split()},
    **{"half": "float16", "float": "float32", "double": "float64", "cfloat": "complex64", "cdouble": "complex128"},
    **{"char": "int8", "short": "int16", "int": "int32", "long": "int64", "byte": "uint8"},
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
    if short in _DTYPES:
        return _DTYPES[short]
    if short in ("to", "type"):
        for item in (*node.args, *(keyword.value for keyword in node.keywords)):
            name = is_imported(run, item)
            if name is not None and name.startswith("torch."):
                return _DTYPES.get(name.removeprefix("torch."), "")
    return ""


def dtype_of(ref: Ref) -> str:
    """The dtype of a reference: what the last conversion asked for, or what its storage was made with.

    A module's own values are float32 unless told otherwise.
    """
    for link in reversed(ref.chain):
        if link.kind == MAYBE and link.op in _DTYPES:
            return _DTYPES[link.op]
        if link.kind == SNAPSHOT:
            return "float32"
    return ref.obj.dtype


def part_key(run: Run, short: str, node: ast.Call, first: int) -> object:
    """For an op that views a part: which one."""
    if short not in library.PARTS:
        return None
    texts = tuple(run.text(item) for item in node.args[first:])
    versions = tuple(
        (name, run.now.version.get(name, 0)) for item in node.args[first:] for name in run.names_in(item)
    )
    return (short, texts, versions)


def really_overlaps(short: str, node: ast.Call, first: int) -> bool:
    """Whether a call of an overlapping view op, as far as its literal arguments tell, makes elements share memory."""
    args = node.args[first:]
    if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)):
        args = args[0].elts
    if short == "unfold":
        if len(args) < 3 or not isinstance(args[2], ast.Constant):
            return False
        size, step = args[1], args[2].value
        return size.value > step if isinstance(size, ast.Constant) else step == 1
    if short == "as_strided":
        return _strides_overlap(node.args[first:])
    return not (args and all(_is_minus_one(item) for item in args))


def _strides_overlap(args: list[ast.expr]) -> bool:
    if len(args) < 2:
        return False
    pairs: list[tuple[int, int]] = []
    for sizes, strides in ((args[0], args[1]),):
        if not (isinstance(sizes, (ast.Tuple, ast.List)) and isinstance(strides, (ast.Tuple, ast.List))):
            return False
        for size, stride in zip(sizes.elts, strides.elts, strict=False):
            if isinstance(stride, ast.Constant) and stride.value == 0:
                return True
        literal = [stride.value for stride in strides.elts if isinstance(stride, ast.Constant)]
        if len(literal) != len(set(literal)):
            return True
        for size, stride in zip(sizes.elts, strides.elts, strict=False):
            if not (isinstance(size, ast.Constant) and isinstance(stride, ast.Constant)):
                return False
            if isinstance(size.value, int) and isinstance(stride.value, int):
                pairs.append((stride.value, size.value))
    reach = 0
    for stride, size in sorted(pairs):
        if size > 1 and stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


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
        one = copy_of(run, node, ref, made)
        result = one if result is None else join_values(result, one)
    return result if result is not None else fresh(run, node, "unknown", made)


def op_result(run: Run, node: ast.Call, op: Op, short: str, values: list[Value], args: Args, first: int) -> Value:
    """The result of an op that makes new storage, or no tensor."""
    if op.result in ("host", "none"):
        if short == "data_ptr" and isinstance(node.func, ast.Attribute) and not run.is_storage(node.func.value):
            return Value(kind="number", const=Pointer(run.short(node.func.value)))
        return NUMBER if op.result == "host" else NONE
    if "as_tuple" in args.keywords or (short == "where" and len(args.values) == 1):
        return fresh(run, node, "list", short, data="indices")
    if op.result == "other":
        return Value((Ref(Obj("unknown", "unknown", node, made="call")),))
    kind = "tensor" if op.form == "function" else "unknown"
    if op.result == "array":
        return fresh(run, node, "array", short)
    tensors = [value for value in values if value.refs]
    if op.many > 1:
        items: list[tuple[str, ast.expr, Value]] = []
        for position in range(op.many):
            one = fresh(run, node, kind, short, *tensors[:1])
            one.refs[0].obj.dtype = "int" if position == 1 and short in library.WITH_INDICES else ""
            items.append((f"[{position}]", node, one))
        return container(run, node, "tuple", items)
    if op.many == -1:
        return fresh(run, node, "list", short, *tensors[:1], data="tensors")
    result = fresh(run, node, kind, short, *tensors[:3])
    obj = result.refs[0].obj
    if values and len(values[0].refs) == 1:
        obj.copied = values[0].refs[0]
    obj.dtype = _made_dtype(run, op, short, args)
    if op.dtype == "same" and tensors and tensors[0].obj is not None:
        obj.dtype = tensors[0].obj.dtype
    extra = len(args.values) - first
    obj.zero_dim = op.zero_dim and "reduction" not in args.keywords and (
        (extra <= 0 and not ({"dim", "axis"} & args.keywords.keys()))
        or op.name.startswith("torch.nn.functional.")
    )
    if not obj.zero_dim and tensors and not op.zero_dim and op.dtype in ("", "same", "bool"):
        first_obj = tensors[0].obj
        obj.zero_dim = first_obj is not None and first_obj.zero_dim and len(tensors) == 1 and op.form == "method"
    obj.pinned = short == "pin_memory" or args.flag("pin_memory")
    if op.factory and values and values[0].kind == "number" and short in ("tensor", "as_tensor", "scalar_tensor"):
        obj.zero_dim = True
    if op.factory:
        obj.graph = args.flag("requires_grad")
        obj.leaf = obj.graph or None
    elif run.now.grad is False or op.detaches:
        obj.graph = False
    else:
        graphs = [value.obj.graph if value.obj is not None else None for value in tensors]
        obj.graph = True if True in graphs else (False if graphs and all(g is False for g in graphs) else None)
    return result


def _made_dtype(run: Run, op: Op, short: str, args: Args) -> str:
    """The dtype of a new tensor, as far as it is certain."""
    given = args.keywords.get("dtype")
    if given is not None:
        name = is_imported(run, given[0]) or ""
        return _DTYPES.get(name.removeprefix("torch."), "")
    if op.dtype in ("bool", "int"):
        return op.dtype
    return "int64" if op.factory and short in ("arange", "randperm", "randint") else ""


# ----- methods


def method_call(run: Run, node: ast.Call, base: Value, func: ast.Attribute) -> Value:
    """`base.name(...)`."""
    name = func.attr
    args = Args(run, node)
    if isinstance(func.value, ast.Call) and isinstance(func.value.func, ast.Name) and func.value.func.id == "super":
        return _super_call(run, node, args, name)
    if not base.refs:
        if base.kind == "str" or base.kind == "number":
            for given, value in args.all():
                run.use_logged(value, given)
            return STRING if base.kind == "str" else NUMBER
        base = Value((Ref(Obj("unknown", "unknown", func.value)),))
    run.method_calls[node] = (base, name)
    if name == "backward":
        _backward(run, base)
    result: Value | None = None
    for ref in base.refs:
        one = _method_of_ref(run, node, ref, name, args, func)
        result = one if result is None else join_values(result, one)
    assert result is not None
    return result


def _super_call(run: Run, node: ast.Call, args: Args, name: str) -> Value:
    args.use(run)
    cls = run.function.cls
    if cls is not None and run.params:
        for base in run.module.local_bases(cls):
            method = run.module.method(base, name)
            if method is not None:
                return _call_function(run, node, method, [Value((Ref(run.params[0]),)), *args.values], args)
    if name not in ("__init__", "train", "eval") and run.params:
        run.now.forget(run.params[0])
    return Value((Ref(Obj("unknown", "unknown", node, made="call")),))


def _backward(run: Run, base: Value) -> None:
    for ref in base.refs:
        if ref.obj.kind in ("tensor", "unknown"):
            ref.obj.zero_dim = ref.obj.zero_dim or not any(link.kind == VIEW for link in ref.chain)
            if ref.obj.kind == "unknown":
                ref.obj.uses.append((2, run.stmt))


def _method_of_ref(run: Run, node: ast.Call, ref: Ref, name: str, args: Args, func: ast.Attribute) -> Value:
    obj = ref.obj
    one = Value((ref,))
    if isinstance(obj.data, Class) and obj.kind in ("module", "instance", "class"):
        method = run.module.method(obj.data, name)
        if method is not None:
            return _call_function(run, node, method, [one, *args.values], args, receiver=one)
        if name in obj.data.assigns and name not in library.MODULE_METHODS:
            return call_evaluated(run, node, run.field(obj, "." + name), args, func)
    if ref.kind in ("instance", "module"):
        stored = run.now.fields(obj).get("." + name)
        if stored is None and isinstance(obj.data, Class):
            stored = run.field(obj, "." + name)
        if stored is not None and stored.obj is not None and stored.obj.kind in ("module", "function"):
            return call_evaluated(run, node, stored, args, func)
    if ref.kind == "module" or (ref.kind in ("unknown", "instance") and name in library.MODULE_METHODS):
        known = _module_method(run, node, one, name, args)
        if known is not None:
            return known
    if obj.kind == "optimizer" or (name == "step" and library.says_optimizer(run.text(func.value))):
        args.use(run)
        if name == "step":
            step(run, node, one, run.short(func.value))
        return UNKNOWN
    if name == "step" and obj.kind in ("unknown", "instance"):
        for _, value in args.all():
            if value.obj is not None and value.obj.kind == "optimizer":
                step(run, node, value, run.short(func.value))
    if obj.kind in CONTAINERS or (obj.kind == "unknown" and name in library.CONTAINER_METHODS):
        known = _container_method(run, node, ref, name, args)
        if known is not None:
            return known
    if ref.kind == "array":
        return _array_method(run, node, ref, name, args)
    if ref.kind in ("tensor", "unknown"):
        op = ops.method(name)
        if op is not None and op.form == "method":
            return tensor_method(run, node, ref, op, name, args, func)
    if obj.kind == "unknown":
        # A method of something else: calling an attribute.
        held = run.now.fields(obj).get("." + name)
        if held is not None and held.obj is not None and held.obj.kind in ("module", "function"):
            return call_evaluated(run, node, held, args, func)
    if obj.kind in ("instance", "module", "unknown"):
        role = "difference" if library.compares(name) else "argument"
        pointer_assertion(run, node, name, args)
        logged = library.logs(run.text(func))
        if logged:
            for given, value in args.all():
                run.use_logged(value, given)
        else:
            args.use(run, role)
        _trains(run, node, name, args, one)
        if obj.kind in ("instance", "module") and not logged:
            _may_change(run, obj)
        return Value((Ref(Obj("unknown", "unknown", node, made="call")),))
    args.use(run)
    return UNKNOWN


def _may_change(run: Run, obj: Obj) -> None:
    """A method that this file does not define may rebind what the object holds (its modules stay)."""
    kept = {
        key: value
        for key, value in run.now.fields(obj).items()
        if value.obj is not None and value.obj.kind in ("module", "optimizer")
    }
    run.now.forget(obj)
    if kept:
        run.now.heap[obj] = kept


def tensor_method(run: Run, node: ast.Call, ref: Ref, op: Op, name: str, args: Args, func: ast.Attribute) -> Value:
    """A method of Tensor with its row of the table."""
    one = Value((ref,))
    if name == "share_memory_":
        ref.obj.moved = True
    if name in library.TENSOR_ONLY or name == "clamp" and any(value.refs for value in args.values):
        run.note(one, 2)
    elif op.writes:
        run.note(one, 2)
    elif array_arguments(args):
        run.note(one, 1)
    if "out" in args.keywords:
        run.use(one, func.value, "operand")
        return _out(run, node, op, name, args)
    if name[-1] == "_" and op.result == "other":
        return Value((ref.derive(Link(ALIAS, name, node)),))
    if op.writes:
        if 0 in op.writes:
            for given, value in args.all():
                run.use(value, given, "operand")
            if name == "copy_":
                run.copied_into(ref, args.values[0] if args.values else UNKNOWN)
            whole = run.method_calls[node][0] if node in run.method_calls else one
            run.write(node, one, name, "method", run.short(func.value), whole=whole)
            run.use(one, func.value, "receiver")
            run.written_here.append((node, one, name))
            return Value((ref.derive(Link(ALIAS, name, node)),)) if op.result == "same" else UNKNOWN
        args.use(run)
        return UNKNOWN
    if name == "requires_grad_" and not (args.values and not args.flag("", 0)):
        ref.obj.leaf, ref.obj.graph = True, True
    if name == "retain_grad":
        ref.obj.leaf = True
    if name == "detach":
        _clone_detach(run, node, ref, func)
    if name in ("item", "tolist"):
        host_read(run, node, ref, name)
    role = op_role(op, name, 1 + sum(1 for value in args.values if value.refs))
    for given, value in args.all():
        run.use(value, given, role)
    if op.result == "same":
        return Value((ref.derive(Link(ALIAS, name, node)),))
    if op.result in ("view", "maybe") and op.of == 0:
        if name == "type" and not args.values and not args.keywords:
            return STRING
        return share(run, node, op, name, one, args, receiver_first=0)
    if op.result == "array" and op.of == 0:
        return Value((ref.derive(Link(NUMPY, name, node)),))
    if op.result != "host" or name in library.READS_DATA:
        run.use(one, func.value, role)
    reduced_on_host(run, node, ref, name, op)
    if name == "clone":
        return copy_of(run, node, ref, "clone")
    return op_result(run, node, op, name, [one, *args.values], args, 1)


def array_arguments(args: Args) -> bool:
    """Keywords that only array libraries use."""
    return bool({"dim", "axis", "keepdim", "dtype", "non_blocking", "memory_format"} & args.keywords.keys())


def _clone_detach(run: Run, node: ast.Call, ref: Ref, func: ast.Attribute) -> None:
    """`x.clone().detach()`, `torch.clone(x).detach()`."""
    inner = func.value
    match inner:
        case ast.Call(func=ast.Attribute(value=receiver, attr="clone")) if ref.obj.made == "clone" and not ref.chain:
            if is_imported(run, inner.func) == "torch.clone":
                if not inner.args:
                    return
                receiver = inner.args[0]
            source = ref.obj.copied
            graph = None if source is None else on_graph(source)
            run.fact(CloneDetach(site=node, receiver=run.short(receiver), graph=graph, recording=run.now.grad))


def on_graph(ref: Ref) -> bool | None:
    """Whether a reference requires grad, as far as known."""
    if any(link.kind in (DETACH, NUMPY) for link in ref.chain):
        return False
    if ref.obj.dtype == "bool" or "int" in ref.obj.dtype:
        return False
    return ref.obj.graph


# ----- moves to the host that serve one number

HOST_OPS = frozenset({"cpu", "to"})


def moved_to_host(run: Run, ref: Ref) -> ast.Call | None:
    """The `.cpu()` or `.to("cpu")` call that the reference's last link is."""
    if not ref.chain:
        return None
    link = ref.chain[-1]
    node = link.node
    if link.kind != MAYBE or link.op not in HOST_OPS or not isinstance(node, ast.Call):
        return None
    if link.op == "cpu":
        return node
    target = node.args[0] if node.args else None
    for keyword in node.keywords:
        if keyword.arg == "device":
            target = keyword.value
    if isinstance(target, ast.Constant) and target.value == "cpu" and len(node.args) + len(node.keywords) == 1:
        return node
    if isinstance(target, ast.Call) and is_imported(run, target.func) == "torch.device":
        inner = target.args[0] if target.args else None
        if isinstance(inner, ast.Constant) and inner.value == "cpu":
            return node
    return None


def host_read(run: Run, node: ast.Call, ref: Ref, used: str) -> None:
    """`.cpu().item()`: the read alone would have fetched the number."""
    move = moved_to_host(run, ref)
    if move is None or not isinstance(node.func, ast.Attribute) or node.func.value is not move:
        return
    host_scalar(run, move, ref, used)


def host_scalar(run: Run, move: ast.Call, ref: Ref, used: str) -> None:
    scalar = ref.obj.zero_dim and not any(link.kind == VIEW for link in ref.chain)
    receiver = move.func.value if isinstance(move.func, ast.Attribute) else move
    if used in ("reduced", "indexed", "compared"):
        if run.stmt in run.narrowed:
            return
        run.narrowed.add(run.stmt)
    run.fact(
        HostScalar(
            site=move,
            receiver=run.short(receiver),
            move=run.text(move)[len(run.text(receiver)) + 1 :],
            scalar=scalar,
            used=used,
            evidence=run.evidence(ref.obj, None),
        )
    )


def narrowed_on_host(run: Run, value: Value, node: ast.AST, used: str) -> None:
    """`x.cpu()[0]`, `x.cpu() == y`: the whole tensor travels for a part or a test of it."""
    for ref in value.refs:
        if moved_to_host(run, ref) is node and isinstance(node, ast.Call):
            host_scalar(run, node, ref, used)


def reduced_on_host(run: Run, node: ast.Call, ref: Ref, name: str, op: Op) -> None:
    """`x.cpu().max()`: the whole tensor travels, one number is wanted."""
    move = moved_to_host(run, ref)
    if move is None or not isinstance(node.func, ast.Attribute) or node.func.value is not move:
        return
    if op.zero_dim or op.dtype in ("bool", "int"):
        host_scalar(run, move, ref, "reduced")


# ----- modules


def _module_method(run: Run, node: ast.Call, one: Value, name: str, args: Args) -> Value | None:
    ref = one.refs[0]
    obj = ref.obj
    if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
        return _registered(run, node, one, args)
    if name == "state_dict" and not library.says_optimizer(obj.key):
        run.modules[obj] = None
        return _snapshot_dict(run, node, ref)
    if name in ("parameters", "named_parameters", "buffers", "named_buffers"):
        if obj.kind == "unknown":
            obj.refuted = True
        run.modules[obj] = None
        kind = "named" if name.startswith("named") else "parameters"
        return Value((Ref(Obj("iter", "fresh", node, made=name, data=(kind, [(node, one)]))),))
    if name == "load_state_dict":
        args.use(run)
        own = any(
            held.obj is obj and any(link.kind == SNAPSHOT for link in held.chain)
            for value in args.values
            for inner in value.refs
            for held_value in run.now.fields(inner.obj).values()
            for held in held_value.refs
        )
        if not own:
            train(run, node, obj, f"{obj.key or 'it'}.load_state_dict()")
        return UNKNOWN
    if obj.kind != "module":
        if name in ("zero_grad", "train", "eval"):
            run.modules[obj] = None
            obj.refuted = True
            args.use(run)
            return one
        return None
    if name in library.MODULE_SELF:
        args.use(run)
        if name in ("zero_grad", "train", "eval"):
            run.modules[obj] = None
        return Value((ref.derive(Link(ALIAS, name, node)),))
    if name == "__call__" or name == "forward":
        return call_evaluated(run, node, one, args, node.func)
    return None


def _snapshot_dict(run: Run, node: ast.Call, ref: Ref) -> Value:
    obj = Obj("dict", "fresh", node, made="state_dict", data="state")
    place = Place("the state_dict", node, origin="item")
    held = Ref(
        ref.obj,
        (*ref.chain, Link(SNAPSHOT, "state_dict", node)),
        place,
        run.now.written(ref.obj),
        run.now.arms,
    )
    run.now.set_field(obj, "[*]", Value((held,)))
    return Value((Ref(obj),))


def call_value(run: Run, node: ast.Call, value: Value) -> Value:
    return call_evaluated(run, node, value, Args(run, node), node.func)


def call_evaluated(run: Run, node: ast.Call, value: Value, args: Args, func: ast.expr) -> Value:
    """A call of a value: a module, a function of the file, something unknown."""
    result: Value | None = None
    for ref in value.refs:
        one = _call_ref(run, node, ref, args, func)
        result = one if result is None else join_values(result, one)
    if result is None:
        return unknown_call(run, node, args)
    return result


def _call_ref(run: Run, node: ast.Call, ref: Ref, args: Args, func: ast.expr) -> Value:
    obj = ref.obj
    if obj.kind == "module":
        run.modules[obj] = None
        if isinstance(obj.data, Class):
            method = run.module.method(obj.data, "forward")
            if method is not None:
                return _call_function(run, node, method, [Value((ref,)), *args.values], args)
            args.use(run)
            return Value((Ref(Obj("unknown", "unknown", node, made="call")),))
        return call_module(run, node, obj, args, run.short(func))
    if obj.kind == "instance" and isinstance(obj.data, Class):
        method = run.module.method(obj.data, "__call__")
        if method is not None:
            return _call_function(run, node, method, [Value((ref,)), *args.values], args)
    if obj.kind == "function":
        data = obj.data
        if isinstance(data, Function):
            return _call_function(run, node, data, list(args.values), args)
    if obj.kind == "unknown":
        obj.refuted = True
        run.modules[obj] = None
    return unknown_call(run, node, args, run.text(func).rsplit(".", 1)[-1])


def call_module(run: Run, node: ast.Call, module: Obj, args: Args, shown: str) -> Value:
    """A module of torch.nn, called: what its row says of `forward`."""
    if isinstance(module.data, tuple) and module.data[0] == "layers":
        return _call_layers(run, node, module.data[1], args, shown)
    op = ops.function(module.cls)
    given = args.values[0] if args.values else UNKNOWN
    if module.data == "inplace":
        for value in args.values:
            run.note(value, 2)
        return _in_place(run, node, given, shown, "module", run.short(args.nodes[0]) if args.nodes else "")
    if op is not None and op.result in ("view", "maybe", "same"):
        for value in args.values[:1]:
            run.note(value, 2)
        short = module.cls.rsplit(".", 1)[-1]
        return Value(
            tuple(ref.derive(Link(VIEW if op.result == "view" else MAYBE, short, node)) for ref in given.refs)
        )
    for value in args.values:
        run.note(value, 2)
    args.use(run, "operand")
    several = module.cls in library.SEVERAL_OUTPUTS
    result = fresh(run, node, "unknown" if several else "tensor", module.cls)
    result.refs[0].obj.graph = True if run.now.grad else (False if run.now.grad is False else None)
    return result


def _call_layers(run: Run, node: ast.Call, layers: list[Value], args: Args, shown: str) -> Value:
    """A Sequential: the first layer meets the argument, the others what it made."""
    value = args.values[0] if args.values else UNKNOWN
    for layer in layers:
        obj = layer.obj
        if obj is None or obj.kind != "module" or isinstance(obj.data, Class):
            run.use(value, args.nodes[0] if args.nodes else node, "operand")
            return fresh(run, node, "unknown", "call")
        inner = Args.__new__(Args)
        inner.node, inner.nodes, inner.values = node, args.nodes[:1], [value]
        inner.keywords, inner.spread = {}, False
        value = call_module(run, node, obj, inner, shown)
        if value.refs and value.refs[0].obj.owner == "fresh" and not value.refs[0].chain:
            return value
    return value


# ----- functions and classes of this file


def local_call(run: Run, node: ast.Call, function: Function, receiver: Value | None) -> Value:
    args = Args(run, node)
    values = [receiver, *args.values] if receiver is not None else list(args.values)
    return _call_function(run, node, function, values, args)


def _call_function(
    run: Run, node: ast.Call, function: Function, values: list[Value], args: Args, receiver: Value | None = None
) -> Value:
    """Apply the summary of a function of this file."""
    run.reading_arguments(function, args)
    done = run.module.run_of(function)
    if done is None:
        _trains(run, node, function.name, args, receiver)
        for value in values:
            for ref in value.refs:
                if ref.obj.kind in ("dict", "list", "instance", "module"):
                    _may_change(run, ref.obj)
        return Value((Ref(Obj("unknown", "unknown", node, made="call")),))
    result = apply_summary(run, node, summary_of(done), values, args.keywords, args.spread)
    if not any(write.how == "training" for write in done.log):
        _trains(run, node, function.name, args, receiver)
    return result


def instantiate(run: Run, node: ast.Call, cls: Class) -> Value:
    args = Args(run, node)
    args.use(run)
    kind = run.module.kind_of_class(cls)
    return Value((Ref(Obj(kind, "fresh", node, made=cls.name, cls=cls.name, data=cls)),))


# ----- containers


def _container_method(run: Run, node: ast.Call, ref: Ref, name: str, args: Args) -> Value | None:
    obj = ref.obj
    one = Value((ref,))
    match name:
        case "append" | "appendleft" | "add" | "put" | "extend" | "insert" if args.values:
            if obj.kind == "unknown":
                if name in ("add", "put"):
                    return None
                obj.refuted = True
            value = args.values[-1]
            if name == "extend":
                value = element_of(run, args.nodes[-1], value)
            store_item(run, obj, "[*]", value, args.nodes[-1], weak=True, site=node)
            run.stored_host(value, args.nodes[-1])
            return NONE
        case "items" | "values" | "keys":
            if obj.kind == "unknown":
                obj.refuted = True
            return Value((Ref(Obj("iter", "fresh", node, made=name, data=(name, [(node, one)]))),))
        case "copy" if obj.kind in CONTAINERS or obj.refuted:
            return shallow_copy(run, node, one, ".copy()")
        case "get" | "pop" | "setdefault" if args.nodes:
            key = args.nodes[0]
            args.use(run)
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                obj.refuted = obj.refuted or obj.kind == "unknown"
                held = run.field(obj, f"[{key.value!r}]")
                if name == "pop":
                    run.now.set_field(obj, f"[{key.value!r}]", UNKNOWN)
                return held
            return UNKNOWN
        case "update":
            args.use(run)
            for _, value in args.all():
                for inner in value.refs:
                    for slot, held in run.now.fields(inner.obj).items():
                        run.now.set_field(obj, slot, held)
            return NONE
        case "clear" | "sort" | "reverse" | "remove" | "popitem":
            args.use(run)
            run.now.forget(obj)
            return UNKNOWN
    if obj.kind in CONTAINERS:
        args.use(run)
        if name in ("pop", "popleft", "get"):
            return values_of(run, node, one)
        return UNKNOWN
    return None


def shallow_copy(run: Run, node: ast.AST, value: Value, op: str) -> Value:
    """A new container that holds the same items."""
    made = Obj("dict", "fresh", node, made=op)
    for ref in value.refs:
        made.kind = ref.obj.kind if ref.obj.kind in CONTAINERS else made.kind
        made.data = ref.obj.data if ref.obj.data in ("state", "tensors") else None
        for slot, held in run.now.fields(ref.obj).items():
            refs = []
            for inner in held.refs:
                place = Place(inner.place.name if inner.place else "", node, origin="item")
                link = Link(ALIAS, op, node)
                refs.append(
                    Ref(inner.obj, (*inner.chain, link), place, run.now.written(inner.obj), inner.arms | run.now.arms)
                )
            run.now.set_field(made, slot, Value(tuple(refs), held.kind))
    return Value((Ref(made),))


# ----- builtins and special functions

Special = Callable[[Run, ast.Call, Args], Value]


def _number(run: Run, node: ast.Call, args: Args) -> Value:
    return NUMBER


def _to_number(run: Run, node: ast.Call, args: Args) -> Value:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    for given, value in args.all():
        if name in ("str", "repr"):
            run.use_logged(value, given)
            continue
        run.use(value, given, "argument")
        for ref in value.refs:
            move = moved_to_host(run, ref)
            if move is not None and given is move and name in ("float", "int"):
                host_scalar(run, move, ref, name)
    return NUMBER if name != "str" else STRING


def _log(run: Run, node: ast.Call, args: Args) -> Value:
    for given, value in args.all():
        run.use_logged(value, given)
    return NONE


def _iterator(kind: str) -> Special:
    def make(run: Run, node: ast.Call, args: Args) -> Value:
        parts = list(zip(args.nodes, args.values, strict=True))
        if args.spread or not parts:
            args.use(run)
            return UNKNOWN
        return Value((Ref(Obj("iter", "fresh", node, made=kind, data=(kind, parts))),))

    return make


def _listed(run: Run, node: ast.Call, args: Args) -> Value:
    kind = node.func.id if isinstance(node.func, ast.Name) else "list"
    if not args.values:
        items = [(f"[{name!r}]", given, value) for name, (given, value) in args.keywords.items()]
        return container(run, node, "dict" if kind == "dict" else "list", items)
    value = args.values[0]
    obj = value.obj
    if obj is not None and obj.kind == "dict":
        return shallow_copy(run, node, value, f"{kind}()")
    if obj is not None and obj.kind == "iter" and isinstance(obj.data, tuple):
        tag, parts = obj.data
        if tag in ("parameters", "named") and parts[0][1].obj is not None:
            module = parts[0][1].refs[0]
            held = Ref(
                module.obj,
                (*module.chain, Link(SNAPSHOT, "parameters", node)),
                Place("the parameters", node, origin="item"),
                run.now.written(module.obj),
                run.now.arms,
            )
            made = Obj("dict" if kind == "dict" else "list", "fresh", node, made="parameters")
            run.now.set_field(made, "[*]", Value((held,)))
            return Value((Ref(made),))
    if obj is not None and obj.kind in ("list", "tuple"):
        return shallow_copy(run, node, value, f"{kind}()")
    run.use_iterated(value, args.nodes[0])
    item = element_of(run, args.nodes[0], value)
    return container(run, node, "dict" if kind == "dict" else "list", [("[*]", args.nodes[0], item)])


def _builtin_abs(run: Run, node: ast.Call, args: Args) -> Value:
    args.use(run, "operand", deep=False)
    return arithmetic(run, node, "abs", *args.values[:1])


def _builtin_sum(run: Run, node: ast.Call, args: Args) -> Value:
    for given, value in args.all():
        run.use_iterated(value, given)
    return fresh(run, node, "unknown", "sum", *args.values[:1])


def _isinstance(run: Run, node: ast.Call, args: Args) -> Value:
    return NUMBER


def _getattr(run: Run, node: ast.Call, args: Args) -> Value:
    return UNKNOWN


_BUILTINS: dict[str, Special] = {
    **dict.fromkeys(("len", "isinstance", "issubclass", "hasattr", "id", "type", "callable"), _number),
    **dict.fromkeys(("float", "int", "bool", "str", "repr", "round"), _to_number),
    **dict.fromkeys(("print", "tqdm"), _log),
    **{kind: _iterator(kind) for kind in ("zip", "enumerate", "reversed", "iter", "sorted")},
    "range": _iterator("range"),
    **dict.fromkeys(("list", "tuple", "dict", "set"), _listed),
    "abs": _builtin_abs,
    "sum": _builtin_sum,
    "getattr": _getattr,
}


def _deepcopy(run: Run, node: ast.Call, args: Args) -> Value:
    args.use(run)
    value = args.values[0] if args.values else UNKNOWN
    obj = value.obj
    if obj is None:
        return fresh(run, node, "unknown", "deepcopy")
    made = Obj(obj.kind, "fresh", node, made="deepcopy", source=(obj,), cls=obj.cls, dtype=obj.dtype)
    made.data = obj.data if isinstance(obj.data, (Class, str)) else None
    made.param, made.graph, made.zero_dim = obj.param, obj.graph, obj.zero_dim
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
    return fresh(run, node, "unknown", "copy")


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


def _parameter(run: Run, node: ast.Call, args: Args) -> Value:
    value = args.values[0] if args.values else UNKNOWN
    frozen = "requires_grad" in args.keywords and not args.flag("requires_grad", 1)
    if value.obj is not None and value.refs:
        if all(ref.place is None for ref in value.refs):
            obj = value.obj
            obj.kind, obj.param, obj.leaf, obj.graph = "tensor", True, True, not frozen
            return value
        return Value(tuple(ref.derive(Link(VIEW, "Parameter", node)) for ref in value.refs))
    result = fresh(run, node, "tensor", "Parameter", graph=not frozen)
    result.refs[0].obj.param = True
    result.refs[0].obj.leaf = True
    return result


def _autograd_grad(run: Run, node: ast.Call, args: Args) -> Value:
    args.use(run)
    return fresh(run, node, "list", "autograd.grad", data="tensors")


def _shared_array(run: Run, node: ast.Call, args: Args) -> Value:
    """`from_numpy`, `as_tensor`, `asarray`, `from_dlpack`: the memory of what is given."""
    value = args.values[0] if args.values else UNKNOWN
    obj = value.obj
    name = node.func.attr if isinstance(node.func, ast.Attribute) else "from_numpy"
    if obj is None or obj.kind in CONTAINERS or (obj.kind == "unknown" and name in ("as_tensor", "asarray")):
        args.use(run)
        return fresh(run, node, "tensor", name, graph=False)
    kind = MAYBE if obj.kind == "tensor" and name in ("as_tensor", "asarray") else NUMPY
    if "dtype" in args.keywords and kind == NUMPY and name in ("as_tensor", "asarray"):
        kind = MAYBE
    return Value(tuple(ref.derive(Link(kind, name, node)) for ref in value.refs))


_SPECIAL: dict[str, Special] = {
    "copy.deepcopy": _deepcopy,
    "copy.copy": _copy,
    "torch.Tensor": _legacy_tensor,
    "torch.FloatTensor": _legacy_tensor,
    "torch.nn.Parameter": _parameter,
    "torch.autograd.grad": _autograd_grad,
    "torch.from_numpy": _shared_array,
    "torch.as_tensor": _shared_array,
    "torch.asarray": _shared_array,
    "torch.from_dlpack": _shared_array,
    "torch.utils.dlpack.from_dlpack": _shared_array,
    "collections.OrderedDict": _listed,
    "itertools.chain": _iterator("zip"),
    "tqdm.tqdm": _iterator("iter"),
    "tqdm.auto.tqdm": _iterator("iter"),
}


# ----- NumPy and einops: their few entries


def _numpy_call(run: Run, node: ast.Call, name: str, args: Args) -> Value:
    short = name.rsplit(".", 1)[-1]
    role = "difference" if library.compares(short) or short in ("subtract",) else "operand"
    if "out" in args.keywords:
        given, target = args.keywords["out"]
        run.write(node, target, short, "out", run.short(given))
        return target
    value = args.values[0] if args.values else UNKNOWN
    if short in library.NUMPY_SHARES and value.refs and not args.flag("copy"):
        return Value(tuple(ref.derive(Link(NUMPY, short, node)) for ref in value.refs))
    if short in library.NUMPY_VIEWS and value.refs:
        return Value(tuple(ref.derive(Link(VIEW, short, node)) for ref in value.refs))
    args.use(run, role)
    return fresh(run, node, "array", short)


def _array_method(run: Run, node: ast.Call, ref: Ref, name: str, args: Args) -> Value:
    one = Value((ref,))
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else node
    for given, value in args.all():
        run.use(value, given, "operand")
    if name in library.NUMPY_WRITES:
        run.write(node, one, name, "method", run.short(receiver))
        return NONE
    if name in library.NUMPY_VIEWS:
        return Value((ref.derive(Link(VIEW, name, node)),))
    if name == "astype" and "copy" in args.keywords and not args.flag("copy"):
        return Value((ref.derive(Link(NUMPY, "astype", node)),))
    run.use(one, receiver, "operand")
    if name in ("item", "tolist"):
        return NUMBER
    return fresh(run, node, "array", name)


def _einops(run: Run, node: ast.Call, name: str, args: Args) -> Value:
    value = args.values[0] if args.values else UNKNOWN
    if name == "einops.rearrange" and value.refs:
        run.note(value, 1)
        return Value(tuple(ref.derive(Link(MAYBE, "rearrange", node)) for ref in value.refs))
    args.use(run, "operand")
    return fresh(run, node, "tensor", name.rsplit(".", 1)[-1])


__all__ = ["Args", "call", "values_of"]
