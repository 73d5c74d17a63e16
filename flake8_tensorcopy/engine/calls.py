"""Calls: which function, method, module or class is called, and what that does."""

from __future__ import annotations

import ast
import sys

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.aliases import module_used
from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.backward import backward_through, calls_carried_back, carried_back, note_call
from flake8_tensorcopy.engine.callers import note_passed
from flake8_tensorcopy.engine.constructors import COPYING, OTHERS, made_from
from flake8_tensorcopy.engine.containers import container_method, shallow_copy
from flake8_tensorcopy.engine.copied_graph import called, called_inside
from flake8_tensorcopy.engine.cuts import constructed
from flake8_tensorcopy.engine.distributions import distribution, distribution_method
from flake8_tensorcopy.engine.evaluate import CONTAINERS, evaluate, fresh, is_imported
from flake8_tensorcopy.engine.expansion import materialised, repeated
from flake8_tensorcopy.engine.facts import changed
from flake8_tensorcopy.engine.features import CHAINED, LAYOUT, TENSOR_OF
from flake8_tensorcopy.engine.forms import last_name
from flake8_tensorcopy.engine.functions import (
    BUILTINS,
    SPECIAL,
    array_dtype,
    array_method,
    attribute_from_call,
    einops_call,
    numpy_call,
)
from flake8_tensorcopy.engine.generators import spent_by_call, spent_by_function
from flake8_tensorcopy.engine.gradients import backward_in_call, clipped, zero_grad
from flake8_tensorcopy.engine.graph import made_in_inference_mode, note_arguments
from flake8_tensorcopy.engine.hooks import register_hook
from flake8_tensorcopy.engine.iteration import first_parameter
from flake8_tensorcopy.engine.layouts import relaid
from flake8_tensorcopy.engine.linked import operand
from flake8_tensorcopy.engine.loading import is_loader, legacy_function, legacy_type, loads, made_loader, next_batch
from flake8_tensorcopy.engine.loops import builtin, formatted, note_sync
from flake8_tensorcopy.engine.modes import entry_mode
from flake8_tensorcopy.engine.modules import (
    built_by_base,
    call_module,
    make_optimizer,
    make_sequential,
    may_change,
    module_method,
    of_base,
    step,
    trains,
)
from flake8_tensorcopy.engine.mutated import items_given
from flake8_tensorcopy.engine.names import canonical
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.operations import apply_op, backward, clone_detach, tensor_method
from flake8_tensorcopy.engine.operators import pointer_test
from flake8_tensorcopy.engine.parameters import wrapped_inside
from flake8_tensorcopy.engine.premises import met
from flake8_tensorcopy.engine.recurrent import kept_by_callee
from flake8_tensorcopy.engine.redundant import chained, clone_of, moved_then_detached
from flake8_tensorcopy.engine.refine import entered_mode
from flake8_tensorcopy.engine.registration import passed
from flake8_tensorcopy.engine.repeated import from_keys, held_by_module
from flake8_tensorcopy.engine.replaced import added, by_call, extended
from flake8_tensorcopy.engine.replicas import replicated
from flake8_tensorcopy.engine.reshaping import imported_shape_call, shape_call
from flake8_tensorcopy.engine.retained import added_by_callee
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.snapshots import is_optimizer, optimizer_method, optimizers_of_call, stepped
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.storages import saved
from flake8_tensorcopy.engine.summaries import apply_summary, hooks_of, summary_of, switched_by
from flake8_tensorcopy.engine.trained import optimized_inside
from flake8_tensorcopy.engine.transfers import after_method, factory_moves, left_in_flight, wait, waits_by_name
from flake8_tensorcopy.engine.values import (
    ALIAS,
    NUMBER,
    STRING,
    UNKNOWN,
    Link,
    Obj,
    Pointer,
    Ref,
    Value,
    join_values,
)
from flake8_tensorcopy.engine.writes import write_to

# None by position, as tensors have them.
_WITHOUT_ARGUMENTS = frozenset({"clone", "contiguous", "detach", "detach_", "log"})


def call(run: Run, node: ast.Call) -> Value:
    """The value of a call, with everything that it does."""
    func = node.func
    if isinstance(func, ast.Attribute):
        name = is_imported(run, func)
        if name is not None:
            return imported_call(run, node, name)
        static = _static_method(run, func)
        if static is not None:
            return local_call(run, node, static)
        base = evaluate(run, func.value)
        return method_call(run, node, base, func)
    if isinstance(func, ast.Name) and func.id not in run.now.env:
        return _named_call(run, node, func.id)
    value = evaluate(run, func)
    if value.kind == "name" and isinstance(value.const, str) and not value.refs:
        return imported_call(run, node, canonical(value.const))  # `loss_fn = F.mse_loss`
    return call_value(run, node, value)


def _static_method(run: Run, func: ast.Attribute) -> Function | None:
    """The function that `Class.name` is, where that is a static method of a class of the file."""
    owner = func.value
    if not isinstance(owner, ast.Name) or owner.id in run.now.env:
        return None
    cls = run.module.survey.classes.get(owner.id)
    method = run.module.method(cls, func.attr) if cls is not None else None
    return method if method is not None and method.static else None


def _named_call(run: Run, node: ast.Call, name: str) -> Value:
    survey = run.module.survey
    if name in survey.functions:
        return local_call(run, node, survey.functions[name])
    if name in survey.classes:
        return instantiate(run, node, survey.classes[name])
    imported = run.names.imported.get(name)
    if imported is not None:
        return imported_call(run, node, run.names.qualify(node.func) or imported)
    known = BUILTINS.get(name)
    args = Args(run, node)
    if known is not None:
        return known(run, node, args)
    builtin(run, node, name, args.values)
    result = unknown_call(run, node, args, name)
    if name == "next":
        return first_parameter(run, node, args.values) or next_batch(run, node, args) or result
    return result


def unknown_call(run: Run, node: ast.Call, args: Args, name: str = "") -> Value:
    """A call of which nothing is known: its arguments are read; what it returns may be anything."""
    role = "difference" if library.compares(name) else "argument"
    args.use(run, role)
    qualified = is_imported(run, node.func) or name
    spent_by_call(run, qualified, args)
    clipped(run, node, qualified)
    pointer_assertion(run, node, name, args)
    trains(run, node, name, args, None)
    if waits_by_name(name):
        wait(run)
    for _, value in args.all():
        for ref in value.refs:
            if ref.obj.kind in ("dict", "list", "instance") or (ref.obj.kind == "unknown" and ref.obj.refuted):
                run.now.forget(ref.obj)
    # An object of a class from elsewhere is no tensor, whatever its methods are called.
    other = name[:1].isupper() and not name.endswith("Tensor")
    return _of_unknown_call(run, node, args.objs(), refuted=other)


def pointer_assertion(run: Run, node: ast.Call, name: str, args: Args) -> None:
    """`assertNotEqual(a.data_ptr(), b.data_ptr())`."""
    if name != "assertNotEqual" or len(args.values) < 2:
        return
    left, right = args.values[0].const, args.values[1].const
    if isinstance(left, Pointer) and isinstance(right, Pointer):
        run.fact(changed(pointer_test(run, node, args.nodes[:2], args.values[:2]), asserted=True))


def imported_call(run: Run, node: ast.Call, name: str) -> Value:
    """A call by its qualified name."""
    special = SPECIAL.get(name)
    args = Args(run, node)
    if run.function.features & (TENSOR_OF | CHAINED) and name.startswith("torch."):
        short = name[6:]
        if short in COPYING or short in OTHERS:
            made_from(run, node, short, args)
        elif short == "clone" and len(args.nodes) == 1 and not args.keywords:
            clone_of(run, node, args.values[0], args.nodes[0])
    if name == "torch.detach":
        _detached(run, node, args)
    if run.function.features & LAYOUT and name.startswith(("torch.", "numpy.")):
        imported_shape_call(run, node, name, args)
    if special is not None:
        result = constructed(run, node, name, args, special(run, node, args))
        made_somewhere(run, node, args)
        return result
    if name.startswith("torch."):
        return constructed(run, node, name, args, _torch_call(run, node, name, args))
    if name.startswith("numpy."):
        return numpy_call(run, node, name, args)
    if name in library.EINOPS:
        return einops_call(run, node, name, args)
    local = name.rsplit(".", 1)[-1]
    if name == "logging.debug":
        formatted(run, node, local)
    if name in library.RECORDERS:
        _recorded(run, args)
        return UNKNOWN
    if name.split(".", 1)[0] in sys.stdlib_module_names:
        unknown_call(run, node, args, local)
        return Value((Ref(Obj("unknown", "unknown", node, made="call", refuted=True)),))
    if name.startswith(("typing.", "math.", "logging.", "warnings.", "os.", "time.")):
        args.use(run, "argument", deep=False)
        return UNKNOWN
    return unknown_call(run, node, args, local)


def _recorded(run: Run, args: Args) -> None:
    """What is printed or recorded: each argument, or what a dict that is written out for it holds."""
    for shown, value in args.all():
        held = list(run.now.fields(value.obj).values()) if value.obj is not None and isinstance(shown, ast.Dict) else []
        if isinstance(shown, ast.Dict) and held and len(held) == len(shown.values):
            for one, item in zip(held, shown.values, strict=True):
                run.use_logged(one, item)
        else:
            run.use_logged(value, shown)


def _detached(run: Run, node: ast.Call, args: Args) -> None:
    """`torch.detach(x)` of what another call has just copied or moved."""
    for given, value in args.all()[:1]:
        for ref in value.refs:
            clone_detach(run, node, ref, given)
        if not run.quiet and run.function.features & CHAINED:
            moved_then_detached(run, node, value, given)


def _torch_call(run: Run, node: ast.Call, name: str, args: Args) -> Value:
    op = ops.function(name)
    legacy_function(run, node, name)
    if op is not None and op.form != "module":
        result = apply_op(run, node, op, name, args)
        made_somewhere(run, node, args)
        if name == "torch.nonzero":
            note_sync(run, node, "nonzero", args.values[0] if args.values else None)
        return result
    if name == "torch.save":
        saved(run, node, args)
    if run.repeats and name.startswith("torch.nn."):
        held_by_module(run, node)
    short = name.rsplit(".", 1)[-1]
    if name == "torch.save":
        run.devices.saved.update(run.text(given) for given in args.nodes[1:2])
        for given, value in args.all() if run.now.flights else ():
            run.use_deep(value, given, "operand")
    if short in ("synchronize", "empty_cache"):
        note_sync(run, node, short)
    if is_loader(name):
        loader = unknown_call(run, node, args, short)
        made_loader(run, node, loader, args.values or [args.keywords.get("dataset", (node, UNKNOWN))[1]])
        return loader
    if name.startswith("torch.nn.init.") and short.endswith("_") and args.values:
        target = args.values[0]
        run.note(target, 2)
        write_to(run, node, target, short, "function", run.short(args.nodes[0]), recorded=False)
        run.written_here.append((node, target, short))
        return Value(tuple(ref.derive(Link(ALIAS, short, node)) for ref in target.refs))
    if name.startswith("torch.distributions.") and short[:1].isupper():
        args.use(run)
        return distribution(run, node, args)
    if name.startswith("torch.optim.lr_scheduler."):
        return fresh(run, node, "instance", name)
    if name.startswith("torch.optim.") and short[:1].isupper():
        spent_by_call(run, name, args)
        return make_optimizer(run, node, name, args)
    if name == "torch.nn.utils.clip_grad_norm_":
        unknown_call(run, node, args, short)
        return fresh(run, node, "tensor", short, graph=False, zero_dim=True)
    if name in ("torch.nn.ModuleList", "torch.nn.ParameterList") and args.values:
        value = args.values[0]
        if value.obj is not None and value.obj.kind == "list":
            if value.obj.made == "generator":
                run.use_iterated(value, args.nodes[0])
                value = shallow_copy(run, node, value, name)
            if value.obj is not None:
                run.module.registered.add(value.obj)
            return value
        return fresh(run, node, "list", name)
    if name == "torch.nn.Sequential":
        return make_sequential(run, node, args)
    if name.startswith("torch.nn.") and short[:1].isupper() and not name.startswith("torch.nn.utils."):
        args.use(run)
        if short == "DataParallel":
            replicated(run, node, args)
        made = Obj("module", "fresh", node, made=name, cls=name)
        if op is not None and op.inplace_flag and args.flag("inplace", op.inplace_position):
            made.data = "inplace"
        return Value((Ref(made),))
    return unknown_call(run, node, args, short)


def made_somewhere(run: Run, node: ast.Call, args: Args) -> None:
    """A function of torch that may have been told on which device to make its result."""
    factory_moves(run, node, args.values)
    loads(run, node)


def method_call(run: Run, node: ast.Call, base: Value, func: ast.Attribute) -> Value:
    """`base.name(...)`."""
    name = func.attr
    args = Args(run, node)
    if isinstance(func.value, ast.Call) and isinstance(func.value.func, ast.Name) and func.value.func.id == "super":
        return _super_call(run, node, args, name)
    if not base.refs:
        if base.kind == "str" or base.kind == "number":
            for shown, value in args.all():
                run.use_logged(value, shown)
            return STRING if base.kind == "str" else NUMBER
        base = Value((Ref(Obj("unknown", "unknown", func.value)),))
    if name == "fromkeys" and isinstance(func.value, ast.Name) and func.value.id in ("dict", "OrderedDict"):
        return from_keys(run, node, args)
    run.method_calls[node] = (base, name)
    added(run, node, base, name, args)
    run.devices.source = args.values[0] if args.values else None
    if name in ("backward", "manual_backward") and not backward_through(run, node, name, func, args):
        backward(run, node, base, args)
    elif name == "register_forward_hook":
        register_hook(run, node, base, args)
    elif name in ("enter_context", "__enter__"):
        entered_mode(run, args.nodes[0] if args.nodes else func.value)
    elif name == "zero_grad":
        zero_grad(run, node, args)
        run.trail.zeroed.append(base)
    if run.function.features & LAYOUT:
        shape_call(run, node, base, name, args, 0)
    result: Value | None = None
    for ref in base.refs:
        one = _method_of_ref(run, node, ref, name, args, func)
        result = one if result is None else join_values(result, one)
    assert result is not None
    if not isinstance(func.value, (ast.Name, ast.Attribute)):
        chained(run, node, base, name, args)
    if name == "new_tensor":
        made_from(run, node, name, args)
    elif name in ("repeat", "tile"):
        repeated(run, node, base, args)
    elif name in ("contiguous", "clone", "reshape", "flatten"):
        materialised(run, node, base, name, result)
    after_method(run, node, base, name)
    if name in ("item", "tolist", "nonzero"):
        note_sync(run, node, "nonzero" if name == "nonzero" else "item", base)
    formatted(run, node, name)
    loads(run, node)
    if name == "type":
        legacy_type(run, node)
    return result


def _super_call(run: Run, node: ast.Call, args: Args, name: str) -> Value:
    args.use(run)
    cls = run.function.cls
    if name == "__init__":
        built_by_base(run, node, args)
        return UNKNOWN  # the class table has what the bases build
    if cls is not None and run.params:
        for base in run.module.local_bases(cls):
            method = run.module.method(base, name)
            if method is not None:
                return _call_function(run, node, method, [Value((Ref(run.params[0]),)), *args.values], args)
    if name not in ("__init__", "train", "eval") and run.params:
        run.now.forget(run.params[0])
    return _of_unknown_call(run, node, args.objs())


def _method_of_ref(run: Run, node: ast.Call, ref: Ref, name: str, args: Args, func: ast.Attribute) -> Value:
    obj = ref.obj
    one = Value((ref,))
    if obj.kind in ("module", "unknown") and name not in library.MODULE_SELF:
        module_used(run, ref, node, called=name not in library.MODULE_METHODS)
    if isinstance(obj.data, Class) and obj.kind in ("module", "instance", "class"):
        method = run.module.method(obj.data, name)
        if method is not None:
            given = list(args.values) if method.static else [one, *args.values]
            called(run, node, obj, name)
            return _call_function(run, node, method, given, args, receiver=one)
        if name in obj.data.assigns and name not in library.MODULE_METHODS:
            return call_evaluated(run, node, run.field(obj, "." + name), args, func)
    if ref.kind in ("instance", "module"):
        stored = run.now.fields(obj).get("." + name)
        if stored is None and isinstance(obj.data, Class):
            stored = run.field(obj, "." + name)
        if stored is not None and stored.obj is not None and stored.obj.kind in ("module", "function"):
            return call_evaluated(run, node, stored, args, func)
    if ref.kind == "module" and name in ("__call__", "forward"):
        return call_evaluated(run, node, one, args, func)
    if name in ("state_dict", "load_state_dict") and is_optimizer(obj):
        args.use(run)
        state = optimizer_method(run, node, ref, name, args.values)
        if state is not None or obj.kind == "optimizer":
            return state or UNKNOWN
    if ref.kind == "module" or (ref.kind in ("unknown", "instance") and name in library.MODULE_METHODS):
        known = module_method(run, node, one, name, args)
        if known is not None:
            return known
    if obj.kind == "optimizer" or (name == "step" and library.says_optimizer(run.text(func.value))):
        args.use(run)
        if name == "add_param_group":
            extended(run, obj)
        if name == "step":
            step(run, node, one, run.short(func.value))
        return UNKNOWN
    if name == "step" and obj.kind in ("unknown", "instance"):
        if obj in run.zeroed:
            step(run, node, one, run.short(func.value))
        else:
            stepped(run, obj, node)
        for _, value in args.all():
            if value.obj is not None and value.obj.kind == "optimizer":
                step(run, node, value, run.short(func.value))
    if obj.kind in CONTAINERS or (obj.kind == "unknown" and name in library.CONTAINER_METHODS):
        known = container_method(run, node, ref, name, args)
        if known is not None:
            return known
    if ref.kind == "array":
        return array_method(run, node, ref, name, args)
    other = obj.kind == "unknown" and name in _WITHOUT_ARGUMENTS and bool(node.args)  # `repo.clone(url)`
    obj.refuted = obj.refuted or other
    if ref.kind in ("tensor", "unknown") and not other:
        op = ops.method(name)
        if op is not None and op.form == "method":
            return tensor_method(run, node, ref, op, name, args, func)
    if obj.kind == "unknown":
        # A method of something else: calling an attribute.
        held = run.now.fields(obj).get("." + name)
        if held is not None and held.obj is not None and held.obj.kind in ("module", "function"):
            return call_evaluated(run, node, held, args, func)
    drawn = distribution_method(run, node, obj, name, args)
    if drawn is not None:
        return drawn
    if obj.kind in ("instance", "module", "unknown"):
        passed(run, node, args, receiver=True)
        role = "difference" if library.compares(name) else "argument"
        pointer_assertion(run, node, name, args)
        logged = library.logs(run.text(func))
        if logged:
            _recorded(run, args)
        else:
            args.use(run, role)
        trains(run, node, name, args, one)
        if obj.kind in ("instance", "module") and not logged:
            may_change(run, obj)
        if name in library.ASKS_HOST and not node.args and not node.keywords:
            return NUMBER
        result = _of_unknown_call(run, node, (obj, *args.objs()), refuted=other)
        if name == "astype":
            result.refs[0].obj.dtype = array_dtype(run, node)
        return result
    args.use(run)
    return UNKNOWN


def _of_unknown_call(
    run: Run, node: ast.Call, operands: tuple[Obj, ...], refuted: bool = False, off: bool = False
) -> Value:
    """What a call gives of which nothing is known; made without grad mode, here or inside, it is off the graph."""
    graph = False if off or run.now.grad is False else None
    return Value((Ref(Obj("unknown", "unknown", node, made="call", refuted=refuted, operands=operands, graph=graph)),))


def call_value(run: Run, node: ast.Call, value: Value) -> Value:
    return call_evaluated(run, node, value, Args(run, node), node.func)


def call_evaluated(run: Run, node: ast.Call, value: Value, args: Args, func: ast.expr) -> Value:
    """A call of a value: a module, a function of the file, something unknown."""
    result: Value | None = None
    for ref in value.refs:
        one = _call_ref(run, node, ref, args, func)
        note_call(run, node, ref.obj, args, one)
        result = one if result is None else join_values(result, one)
    if result is None:
        return unknown_call(run, node, args)
    return result


def _call_ref(run: Run, node: ast.Call, ref: Ref, args: Args, func: ast.expr) -> Value:
    obj = ref.obj
    if obj.kind in ("module", "unknown"):
        module_used(run, ref, node, called=True)
        called(run, node, obj)
    if obj.kind == "module":
        run.modules[obj] = None
        if isinstance(obj.data, Class):
            method = run.module.method(obj.data, "forward")
            if method is not None:
                return _call_function(run, node, method, [Value((ref,)), *args.values], args)
            base = of_base(run, obj)
            if base is not None:
                return call_module(run, node, base, args, run.short(func))
            args.use(run)
            return _of_unknown_call(run, node, (obj, *args.objs()))
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
    result = unknown_call(run, node, args, run.text(func).rsplit(".", 1)[-1])
    for made in result.refs:
        made.obj.operands = (obj, *made.obj.operands)
    return result


def local_call(run: Run, node: ast.Call, function: Function) -> Value:
    args = Args(run, node)
    return _call_function(run, node, function, list(args.values), args)


def _call_function(
    run: Run, node: ast.Call, function: Function, values: list[Value], args: Args, receiver: Value | None = None
) -> Value:
    """Apply the summary of a function of this file."""
    run.reading_arguments(function, args)
    if function.features & (TENSOR_OF | CHAINED):
        note_passed(run, node, function, values, args.keywords)
    done = None if function.wrapped else run.module.run_of(function)
    if done is None:
        trains(run, node, function.name, args, receiver)
        for value in values:
            for ref in value.refs:
                if ref.obj.kind in ("dict", "list", "instance", "module"):
                    may_change(run, ref.obj)
        operands = tuple(operand(ref) for value in values for ref in value.refs)
        return _of_unknown_call(run, node, operands, off=entry_mode(run.module.survey, function) is False)
    run.called[node] = done
    given = given_to(done, values, args)
    if done.relaid:
        for position, param in enumerate(done.params):
            for steps in done.relaid.get(param, ()) if position in given else ():
                relaid(run, given[position].refs, steps)
    note_arguments(run, function, done, values, args)
    backward_in_call(run, node, done, given)
    result = apply_summary(run, node, summary_of(done), values, args.keywords, args.spread)
    made_in_inference_mode(run, result, done)
    items_given(run, node, done, values, args.keywords)
    spent_by_function(run, node, done, values, args)
    optimizers_of_call(run, node, done, given)
    if done.yields and not done.returned:
        result = Value((Ref(Obj("iter", "fresh", node, made="generator")),))
    if done.premises and not args.spread:
        met(run, done, values, args.keywords)
    if not args.spread:
        carried_back(run, node, done, values, result)
        calls_carried_back(run, node, done, values, result)
        added_by_callee(run, node, done, values, args)
        kept_by_callee(run, done, given)
    by_call(run, node, done, values)
    called_inside(run, node, done, values)
    if done.trail.optimizers:
        optimized_inside(run, done, given)
    left_in_flight(run, node, done, result)
    if not any(write.how == "training" for write in done.log):
        trains(run, node, function.name, args, receiver)
    return result


def given_to(done: Run, values: list[Value], args: Args) -> dict[int, Value]:
    """What each parameter of a function gets, by its position."""
    given = dict(enumerate(values[: 1 if args.spread else len(done.params)]))
    for position, param in enumerate(done.params):
        if param.key in args.keywords:
            given[position] = args.keywords[param.key][1]
    return given


def instantiate(run: Run, node: ast.Call, cls: Class) -> Value:
    args = Args(run, node)
    args.use(run)
    kind = run.module.kind_of_class(cls)
    made = Obj(kind, "fresh", node, made=cls.name, cls=cls.name, data=cls)
    init = run.module.method(cls, "__init__")
    if init is not None and init.features & (TENSOR_OF | CHAINED):
        note_passed(run, node, init, [UNKNOWN, *args.values], args.keywords)
    done = run.module.run_of(init) if init is not None and not init.wrapped else None
    if done is not None and not args.spread:
        hooks_of(run, node, summary_of(done), dict(enumerate(args.values, 1)))
        for name, given, value in attributes_given(done, args):
            attribute_from_call(run, node, made, name, value, given)
            run.module.given.setdefault((cls, name), []).append(_held_kind(run, value))
        if summary_of(done).switched:
            switched_by(run, node, summary_of(done), given_to(done, [Value((Ref(made),)), *args.values], args))
        if done.wraps:
            wrapped_inside(run, done, given_to(done, [Value(), *args.values], args), made)
    for name, given, value in fields_given(run, cls, args) if init is None and not args.spread else ():
        attribute_from_call(run, node, made, name, value, given)
        run.module.given.setdefault((cls, name), []).append(_held_kind(run, value))
    return Value((Ref(made),))


def fields_given(run: Run, cls: Class, args: Args) -> list[tuple[str, ast.expr, Value]]:
    """The fields of a dataclass or a NamedTuple, as its constructor is given them; nothing where the order is not
    plain to see."""
    decorators = [one.func if isinstance(one, ast.Call) else one for one in cls.node.decorator_list]
    if not any(run.names.qualify(one) == "dataclasses.dataclass" for one in decorators) or cls.bases:
        if [run.names.qualify(one) for one in cls.bases] != ["typing.NamedTuple"]:
            return []
    if run.module.method(cls, "__post_init__") is not None:
        return []
    found: dict[str, tuple[ast.expr, Value]] = {}
    if not any(_is_no_field(one) for one in cls.node.body if isinstance(one, ast.AnnAssign)):
        found.update(zip(cls.annotations, zip(args.nodes, args.values, strict=True), strict=False))
    found.update((name, held) for name, held in args.keywords.items() if name in cls.annotations)
    return [(name, given, value) for name, (given, value) in found.items() if value.refs]


def _is_no_field(node: ast.AnnAssign) -> bool:
    """Whether a constructor may take no argument for an annotated name: `n: ClassVar[int]`, `field(init=False)`."""
    if isinstance(node.value, ast.Call) and any(one.arg in ("init", "kw_only", None) for one in node.value.keywords):
        return True
    named = (part for part in walk(node.annotation) if isinstance(part, ast.expr))
    return any(last_name(part) in ("ClassVar", "InitVar", "KW_ONLY") for part in named)


def _held_kind(run: Run, value: Value) -> str:
    """The kind of a value, or of the items of a list or dict."""
    kinds = {ref.kind for ref in value.refs}
    if kinds in ({"list"}, {"dict"}):
        kinds = {ref.kind for one in value.refs for held in run.now.fields(one.obj).values() for ref in held.refs}
    return kinds.pop() if len(kinds) == 1 else "unknown"


def attributes_given(init: Run, args: Args) -> list[tuple[str, ast.expr, Value]]:
    """Attributes that a constructor sets to its very arguments, and what they are in this call."""
    if init.state is None or not init.params:
        return []
    given = dict(zip([obj.key for obj in init.params[1:]], zip(args.nodes, args.values, strict=True), strict=False))
    given.update(args.keywords)
    found = []
    for key, held in init.state.fields(init.params[0]).items():
        obj = held.obj
        if (
            obj in init.params[1:]
            and obj.key in given
            and all(link.op == "=" for ref in held.refs for link in ref.chain)
        ):
            node, value = given[obj.key]
            if value.refs:
                found.append((key[1:], node, value))
    return found
