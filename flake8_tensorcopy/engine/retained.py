"""Graphs that outlive their pass: a loss that was backpropagated is added to a sum, an average, a list, a meter."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.backward import inside, made_at, same_pass
from flake8_tensorcopy.engine.facts import GraphRetained, changed
from flake8_tensorcopy.engine.graph import ancestors
from flake8_tensorcopy.engine.linked import detached, linked, proven_terms, terms
from flake8_tensorcopy.engine.liveness import read_elsewhere
from flake8_tensorcopy.engine.nodes import every_time, walk
from flake8_tensorcopy.engine.reaching import surely_tensor
from flake8_tensorcopy.engine.run import last_state
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.trail import Added
from flake8_tensorcopy.engine.values import Arm, Obj, Ref, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.notes import Backward
    from flake8_tensorcopy.engine.run import Run

# Tests that numbers pass, and tests that tensors pass.
_OF_NUMBERS = re.compile(r"^isinstance\((?!.*Tensor).*\b(int|float|Number)\b")
_OF_TENSORS = re.compile(
    r"^isinstance\(.*Tensor|\bis_tensor\(|^hasattr\(.*['\"](item|detach|backward|grad_fn|requires_grad)\b"
)
_BACKWARDS = frozenset({"backward", "manual_backward"})
MAX_GIVEN = 32  # facts of one function
_KEEPS = frozenset({"append", "appendleft", "extend", "insert"})


def augmented(run: Run, node: ast.AugAssign, value: Value) -> None:
    """`total += loss`, `history += [loss]`."""
    if not isinstance(node.op, (ast.Add, ast.Sub)) or not value.refs:
        return
    obj = value.obj
    if obj is not None and obj.kind in ("list", "tuple"):
        for held, given in _each(run, value, node.value):
            _note(run, node, node.target, "list", run.short(node.value), held, given)
    elif run.now.grad:
        _note(run, node, node.target, "sum", run.short(node.value), value, (node.value,))


def assigned(run: Run, target: ast.expr, value: Value, source: ast.expr) -> None:
    """`total = total + loss`, `mean = 0.9 * mean + 0.1 * loss`."""
    whole = source
    if isinstance(source, ast.IfExp):
        # `mean = loss if mean is None else 0.9 * mean + 0.1 * loss`
        source = source.orelse if isinstance(source.orelse, ast.BinOp) else source.body
    if not value.refs or not run.now.grad or run.stmt is None:
        return
    text = run.text(target)
    obj = value.obj
    if obj is not None and obj.kind == "list":
        _lengthened(run, target, text, value, source)
        return
    if not isinstance(source, ast.BinOp) and not _adds(run, source):
        return
    if not any(isinstance(part, type(target)) and run.text(part) == text for part in walk(source)):
        return
    plain, added = _added(run, source, text)
    shown = run.short(added[-1] if added else source)
    how = "average" if plain else "sum"
    given = to_detach(run, whole, text)
    _note(run, run.stmt, target, how, shown, value, given, made=source)


def _lengthened(run: Run, target: ast.expr, text: str, value: Value, source: ast.expr) -> None:
    """`losses = losses + [loss]`, `losses = [*losses, loss]`."""
    match source:
        case ast.BinOp(left=old, op=ast.Add(), right=ast.List(elts=new)) if run.text(old) == text:
            pass
        case ast.List(elts=[ast.Starred(value=old), *new]) if run.text(old) == text:
            pass
        case _:
            return
    for one in new:
        held = run.now.env.get(one.id) if isinstance(one, ast.Name) else None
        if held is not None and held.refs and run.stmt is not None:
            _note(run, run.stmt, target, "list", run.short(one), held, (one,), made=source)


def _adds(run: Run, source: ast.expr) -> bool:
    """`torch.add(total, loss)`, `total.add(loss)`."""
    match source:
        case ast.Call(func=ast.Attribute(attr="add" | "sub"), args=[_], keywords=[]):
            return True
        case ast.Call(func=func, args=[_, _], keywords=[]):
            return run.names.qualify(func) in ("torch.add", "torch.sub")
    return False


def _added(run: Run, source: ast.expr, text: str) -> tuple[bool, list[ast.expr]]:
    """Whether no summand is what the sum was before, and the summands that have nothing to do with that."""
    summed = _summands(source)
    plain = [one for one in summed if run.text(one) != text]
    added = [one for one in plain if not re.search(rf"(?<![\w.]){re.escape(text)}(?!\w)", run.text(one))]
    return len(plain) == len(summed), added


def to_detach(run: Run, source: ast.expr, text: str) -> tuple[ast.expr, ...]:
    """What of a new sum would have to be detached: what is added to the old one, or the whole."""
    if isinstance(source, ast.IfExp):
        return (*to_detach(run, source.body, text), *to_detach(run, source.orelse, text))
    match source:
        case ast.Call(func=ast.Attribute(value=old, attr="lerp"), args=[new, _]) if run.text(old) == text:
            return (new,)
        case ast.Call(func=func, args=[old, new, _]) if run.names.qualify(func) == "torch.lerp":
            return (new if run.text(old) == text else source,)
    _, added = _added(run, source, text) if isinstance(source, ast.BinOp) or _adds(run, source) else (False, [])
    return (added[0] if len(added) == 1 else source,)


def _summands(node: ast.expr) -> list[ast.expr]:
    """What a sum adds up, from left to right."""
    found: list[ast.expr] = []
    pending = [node]
    while pending:
        one = pending.pop()
        if isinstance(one, ast.BinOp) and isinstance(one.op, (ast.Add, ast.Sub)):
            pending.extend((one.right, one.left))
        elif one is node and isinstance(one, ast.Call):
            receiver = [one.func.value] if len(one.args) == 1 and isinstance(one.func, ast.Attribute) else []
            pending.extend(reversed([*receiver, *one.args]))
        else:
            found.append(one)
    return found


def keep_in_container(run: Run, node: ast.Call, ref: Ref, name: str, value: Value) -> None:
    """`losses.append(loss)`, to a list that was there before this pass."""
    func = node.func
    if name not in _KEEPS or not isinstance(func, ast.Attribute) or not value.refs:
        return
    obj = ref.obj
    if _is_deque(run, obj) or (obj.made == "deque()" and "popleft" in run.function.calls):
        return  # it may forget
    of_others = obj.kind == "unknown" and obj.owner in ("argument", "attribute", "item")
    if of_others or (obj.kind == "list" and _older(run, obj)):
        if obj.kind == "list" or name == "append":
            for held, given in _each(run, value, node.args[-1]):
                _note(run, node, func.value, "list", run.short(node.args[-1]), held, given, keeper=(obj,))


def _each(run: Run, value: Value, node: ast.expr) -> list[tuple[Value, tuple[ast.expr, ...]]]:
    """The value, or what a new dict or tuple holds: `history.append({"loss": loss})`; each with its expression."""
    obj = value.obj
    if obj is None or obj.kind not in ("dict", "tuple", "list") or obj.owner != "fresh":
        return [(value, (node,))]
    held = list(run.now.fields(obj).values())
    nodes: list[ast.expr] = []
    match node:
        case ast.Dict(keys=keys, values=values) if None not in keys:
            nodes = values
        case ast.Tuple(elts=elts) | ast.List(elts=elts) if not any(isinstance(one, ast.Starred) for one in elts):
            nodes = elts
    given = [(one,) for one in nodes] if len(nodes) == len(held) else [() for _ in held]
    return [(one, at) for one, at in zip(held, given, strict=True) if one.refs]


def put_into(run: Run, target: ast.Subscript, ref: Ref, value: Value, source: ast.expr) -> None:
    """`losses[step] = loss`, into a tensor that was made before the loop."""
    obj = ref.obj
    made = made_at(obj)
    if obj.kind != "tensor" or obj.owner != "fresh" or not run.within or not run.now.grad or run.stmt is None:
        return
    if not detached(ref) and not inside(made, run.within[-1]) and isinstance(target.value, (ast.Name, ast.Attribute)):
        _note(run, run.stmt, target.value, "list", run.short(source), value, (source,), keeper=(obj,))


def listed(run: Run, node: ast.expr, item: ast.expr, value: Value) -> None:
    """`[step(batch) for batch in batches]`, where each call has backpropagated what it returns."""
    if value.refs and item in run.called and not isinstance(node, ast.GeneratorExp):
        _note(run, item, node, "list", run.short(item), value, (item,), made=node)


def put_at_key(run: Run, target: ast.Subscript, obj: Obj, value: Value, source: ast.expr) -> None:
    """`losses[step] = loss`, into a dict or list from before this pass, under a number that the loop counts."""
    if obj.kind not in ("dict", "list") or not run.within or not _older(run, obj) or run.stmt is None:
        return
    if isinstance(target.slice, ast.Name) and isinstance(target.value, (ast.Name, ast.Attribute)) and value.refs:
        counted = run.now.env.get(target.slice.id)
        bound = run.module.below(run.within[-1]).names.get(target.slice.id, ())
        if counted is not None and counted.kind == "number" and any(isinstance(one.ctx, ast.Store) for one in bound):
            for held, given in _each(run, value, source):
                _note(run, run.stmt, target.value, "list", run.short(source), held, given, keeper=(obj,))


def _older(run: Run, obj: Obj) -> bool:
    """Whether a container was made before this pass of the loop."""
    return obj.loop is None or len(obj.loop) < len(run.loop)


def _is_deque(run: Run, obj: Obj) -> bool:
    """Whether `__init__` made an attribute a deque."""
    cls = obj.parent.data if obj.parent is not None and obj.owner == "attribute" else None
    held = run.module.table(cls).get(obj.slot) if isinstance(cls, Class) else None
    made = held.obj.node if held is not None and held.obj is not None else None
    return isinstance(made, ast.Call) and (run.names.qualify(made.func) or run.text(made.func)).endswith("deque")


def added_in_place(run: Run, node: ast.Call, ref: Ref, name: str, func: ast.Attribute, values: list[Value]) -> None:
    """`total.add_(loss)`."""
    if name in ("add_", "sub_") and values and values[0].refs and run.now.grad:
        _note(run, node, func.value, "sum", run.short(node.args[0]), values[0], (node.args[0],), keeper=(ref.obj,))


def _note(
    run: Run,
    site: ast.AST,
    target: ast.expr,
    how: str,
    name: str,
    value: Value,
    given: tuple[ast.expr, ...],
    made: ast.AST | None = None,
    keeper: tuple[Obj, ...] = (),
) -> None:
    if not run.module.once(_backpropagates) or any(detached(ref) for ref in value.refs):
        return
    tensors = [ref for ref in value.refs if not _says_number(ref.arms | run.now.arms)]
    found = [terms(obj) for obj in dict.fromkeys(ref.obj for ref in tensors)]
    if not any(found):
        return
    # Of several alternatives each has to be on the graph.
    common = set(found[0]).intersection(*found[1:])
    objs = tuple(one for one in found[0] if one in common)
    now = run.now
    keeper = (*keeper, *(ref.obj for ref in _held(run, target)))
    run.trail.added.append(
        Added(
            site,
            target,
            how,
            name,
            objs,
            keeper,
            run.loop,
            run.within,
            now.arms,
            run.ticks,
            made or site,
            all_narrowed(run, given, objs),
        )
    )


def _backpropagates(module: Module) -> bool:
    """Whether the file calls `backward()` of anything."""
    return any(not _BACKWARDS.isdisjoint(one.calls) for one in module.survey.all)


def _says_number(arms: frozenset[Arm]) -> bool:
    """Whether a test that was passed says that it is no tensor: `loss.item() if is_tensor(loss) else loss`."""
    return any((_OF_NUMBERS if arm.taken else _OF_TENSORS).search(arm.text) for arm in arms)


def all_narrowed(run: Run, nodes: tuple[ast.expr, ...], objs: tuple[Obj, ...]) -> tuple[ast.expr, ...]:
    """The tensors in expressions, of which these are on the graph; nothing where one may be no tensor."""
    state = last_state(run)
    found = [_narrowed(run, one, objs, state.env if state is not None else {}) for one in nodes]
    return tuple(one for one in found if one is not None) if None not in found else ()


def _narrowed(run: Run, node: ast.expr, objs: tuple[Obj, ...], env: dict[str, Value]) -> ast.expr | None:
    """The tensor that an expression scales, copies or reduces; None where it may be none."""
    match node:
        case ast.UnaryOp(operand=inner):
            return _narrowed(run, inner, objs, env)
        case ast.BinOp(left=left, right=right, op=ast.Mult() | ast.Div()):
            first, second = _is_scale(left, objs, env), _is_scale(right, objs, env)
            if first != second:
                return _narrowed(run, right if first else left, objs, env)
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=args) if _is_scale(ast.Tuple(args), objs, env):
            base = env.get(inner.id) if isinstance(inner, ast.Name) else None
            tensor = base is not None and all(_is_tensor(run, ref) for ref in base.refs)
            if name == "clone" and (base is not None or not isinstance(inner, ast.Name)):
                return inner
            if tensor and base is not None and base.refs and ops.method(name) is not None:
                return inner
        case ast.IfExp() | ast.BoolOp() | ast.Starred() | ast.Constant():
            return None
        case ast.Dict() | ast.List() | ast.Tuple() | ast.ListComp() | ast.GeneratorExp():
            return None
    return node


def _is_tensor(run: Run, ref: Ref) -> bool:
    """Whether what has a method of tensors is one: surely, or an argument of which nothing else is known."""
    obj = ref.obj
    if ref.kind == "tensor" or run.evidence(obj) >= 1:
        return True
    return ref.kind == "unknown" and obj.owner == "argument" and not obj.refuted and obj not in run.params[:1]


def _is_scale(node: ast.expr, objs: tuple[Obj, ...], env: dict[str, Value]) -> bool:
    """Whether an expression is a number, by its form, or names nothing that is known to be on a graph."""
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name):
                for ref in env[name].refs if name in env else ():
                    if ref.obj in objs or (ref.obj.graph is True and not detached(ref)):
                        return False
            case ast.Call(func=ast.Attribute(attr="size" | "numel" | "item") | ast.Name(id="len" | "float" | "int")):
                pass
            case ast.Call():
                return False
    return True


def _held(run: Run, target: ast.expr) -> tuple[Ref, ...]:
    """What a name stands for before the statement."""
    value = run.now.env.get(target.id) if isinstance(target, ast.Name) else None
    return value.refs if value is not None else ()


def added_by_callee(run: Run, node: ast.Call, done: Run, values: list[Value], args: Args) -> None:
    """`meter.update(loss)`, where the method adds its argument to what the object holds."""
    func = node.func
    bound = isinstance(func, ast.Attribute) or done.function.name == "__call__"
    method = bound and done.function.cls is not None and not done.function.static
    first = 1 if method else 0
    for added in done.trail.added:
        root = _root(added.target)
        holder = next((i for i, param in enumerate(done.params) if param.key == root), None)
        if holder is None or added.arms:
            continue
        if _set_beside(done.function.node, added):
            continue
        if method and holder == 0:
            target = func.value if isinstance(func, ast.Attribute) else func
        elif root in args.keywords:
            target = args.keywords[root][0]
        elif holder - first < len(node.args):
            target = node.args[holder - first]
        else:
            continue
        for value, given in _given_to(run, done, added, values, args, first):
            shown = run.short(given[0]) if given else added.name
            _note(run, node, target, "meter", shown, value, given)


def _given_to(
    run: Run, done: Run, added: Added, values: list[Value], args: Args, first: int
) -> Iterator[tuple[Value, tuple[ast.expr, ...]]]:
    """What a call gives of what a function of this file adds to a sum or list; each with its expression."""
    for one in added.objs:
        holder = one if one.owner == "argument" else one.parent
        if holder is None or holder.owner != "argument" or holder.key == _root(added.target):
            continue
        if _binds(done.function.node, holder.key):
            continue  # `value = value.item()`, perhaps
        position = next((i for i, param in enumerate(done.params) if param is holder), None)
        each = one is not holder
        if position is None:
            if each and _goes_over(added, holder.key):
                named = [name for name in args.keywords if all(param.key != name for param in done.params)]
                yield from ((args.keywords[name][1], (args.keywords[name][0],)) for name in named)
            continue
        if holder.key in args.keywords:
            given, value = args.keywords[holder.key]
        elif 0 <= position - first < len(args.nodes) and position < len(values):
            given, value = args.nodes[position - first], values[position]
        else:
            continue
        if not each:
            if not added.within:
                yield value, (given,)
        elif value.obj is not None and value.obj.kind == "dict" and _goes_over(added, holder.key):
            yield from _each(run, value, given)


def _goes_over(added: Added, name: str) -> bool:
    """Whether what is added is each item of a dict, as it is: the loop around goes over that, and binds nothing."""
    match added.within:
        case (ast.For(iter=over) as loop,):
            pass
        case _:
            return False
    if _set_beside(loop, added) or any(
        isinstance(part, ast.Name) and _binds(loop, part.id) for part in walk(added.made)
    ):
        return False
    match over:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=known), attr="items" | "keys" | "values"), args=[]):
            return known == name
        case ast.Name(id=known):
            return known == name
    return False


def _binds(node: ast.AST, name: str) -> bool:
    """Whether the body of a function or loop binds a name anew."""
    return any(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
        for statement in getattr(node, "body", ())
        for part in walk(statement)
    )


def _root(node: ast.expr) -> str:
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner, attr="setdefault")):
                node = inner
            case _:
                break
    return node.id if isinstance(node, ast.Name) else ""


def finish_retained(run: Run) -> None:
    """Of what was kept: values backpropagated in the same pass, in what is never backpropagated itself."""
    if not run.backwards or not run.trail.added:
        return
    recorded = {
        obj
        for call in run.trail.calls
        if call.grad and not library.says_frozen(call.module.key)
        for obj in call.results
    }
    kept: dict[ast.AST, list[tuple[ast.expr, ...]]] = {}
    found: list[GraphRetained] = []
    told: dict[ast.AST, ast.AST] = {}  # sums that have been reported, by the code that makes them
    walks = Walks(run, recorded)
    for added in run.trail.added:
        if not _outlives(run, added, walks) or _backpropagated(added, walks):
            continue
        if any(told.get(obj.node, added.site) is not added.site for obj in added.objs if obj.node is not None):
            continue  # a list of such sums
        sources = _copied(added) if added.how == "list" else set()
        for backward in walks.through(added.objs, sources):
            if not same_pass(backward, added.loop, added.within, added.arms):
                continue
            if backward.retains and kept_for_others(run, added):
                continue
            shared = [one for one in walks.terms(backward) if one in added.objs]
            certain = bool(shared) and all(_of_this_pass(one, added) for one in shared)
            if not certain and walks.reached(backward).isdisjoint(sources):
                continue
            told[added.made] = added.site
            kept.setdefault(added.site, []).append(added.given)
            found.append(
                GraphRetained(
                    site=added.site,
                    target=run.short(added.target),
                    value=added.name,
                    how=added.how,
                    backward=backward.node,
                    certain=certain,
                )
            )
            break
    for number, fact in enumerate(found):
        given = tuple(dict.fromkeys(one for part in kept[fact.site] for one in part))
        # Of very many in one function only the first ones are looked at again, for what to detach.
        few = number < MAX_GIVEN
        sure = few and all(kept[fact.site]) and all(surely_tensor(run.module, one) for one in given)
        run.fact(changed(fact, given=given if sure else ()))


class Walks:
    """What the `backward()`s of a run go through, each gone through once."""

    def __init__(self, run: Run, recorded: set[Obj]) -> None:
        self._run = run
        self._recorded = recorded
        # An object of a class has a method of its own by that name, and is on no graph.
        self._on_graph = [
            backward
            for backward in run.backwards
            if not detached(backward.ref) and backward.ref.obj.kind not in ("module", "instance")
        ]
        self._terms: dict[int, list[Obj]] = {}
        self._reached: dict[int, set[Obj]] = {}
        self._binds: dict[ast.AST, set[str]] = {}
        self._sets: dict[ast.AST, _Sets] = {}
        self.objs = {one for backward in run.backwards for one in ancestors(backward.ref.obj)}
        self.by_node: dict[ast.AST | None, list[Obj]] = {}
        for one in self.objs:
            self.by_node.setdefault(one.node, []).append(one)
        self.texts = [(backward.node, run.text(backward.node)) for backward in run.backwards]
        self.all_texts = "\n".join(text for _, text in self.texts)

    def binds(self, loop: ast.AST) -> set[str]:
        """The names that a loop binds."""
        if loop not in self._binds:
            names = (node for node in walk(loop) if isinstance(node, ast.Name))
            self._binds[loop] = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        return self._binds[loop]

    def set_in(self, block: ast.AST) -> _Sets:
        """What each pass of a block sets, empties or detaches."""
        if block not in self._sets:
            self._sets[block] = _sets_in(block)
        return self._sets[block]

    def terms(self, backward: Backward) -> list[Obj]:
        """The terms of the value that are surely on the graph."""
        known = self._terms.get(id(backward))
        if known is None:
            known = self._terms[id(backward)] = list(proven_terms(backward.ref.obj, self._recorded))
        return known

    def reached(self, backward: Backward) -> set[Obj]:
        """What the value hangs on, and the modules that it came through."""
        known = self._reached.get(id(backward))
        if known is None:
            known = set(linked(backward.ref.obj))
            known |= {call.module for call in self._run.trail.giving(known)}
            self._reached[id(backward)] = known
        return known

    def through(self, objs: Iterable[Obj], sources: Iterable[Obj]) -> list[Backward]:
        """The calls, in order, of a value of which one of the objects is a term, or that one of the sources reaches."""
        found = {number for obj in objs for number in self._by_term.get(obj, ())}
        found.update(number for obj in sources for number in self._by_reached.get(obj, ()))
        return [self._on_graph[number] for number in sorted(found)]

    @cached_property
    def _by_term(self) -> dict[Obj, list[int]]:
        return self._index(self.terms)

    @cached_property
    def _by_reached(self) -> dict[Obj, list[int]]:
        return self._index(self.reached)

    def _index(self, objs_of: Callable[[Backward], Iterable[Obj]]) -> dict[Obj, list[int]]:
        found: dict[Obj, list[int]] = {}
        for number, backward in enumerate(self._on_graph):
            for one in objs_of(backward):
                found.setdefault(one, []).append(number)
        return found


def _copied(added: Added) -> set[Obj]:
    """What the values that are kept are copies of, if they are on the graph; of a parameter, its module too.

    Where a backward goes through that, the copy is on the graph, too.
    """
    copied = [one.copied for one in added.objs if one.made == "clone" and one.copied is not None]
    found = {ref.obj for ref in copied if not detached(ref) and ref.obj.graph}
    return found | {obj.parent for obj in found if obj.param and obj.parent is not None}


def kept_for_others(run: Run, added: Added) -> bool:
    """Whether another function may go through what is kept: it has the name, or the object, and calls `backward()`."""
    root = _root(added.target)
    if isinstance(added.target, ast.Name) and all(root != one.key for one in run.params):
        return read_elsewhere(run, root)
    functions = run.module.survey.all
    return any(one is not run.function and not _BACKWARDS.isdisjoint(one.calls) for one in functions)


def _of_this_pass(obj: Obj, added: Added) -> bool:
    """Whether each pass makes its own."""
    return not added.within or inside(made_at(obj), added.within[-1])


def _outlives(run: Run, added: Added, walks: Walks) -> bool:
    """Whether what keeps the value is there before the pass, and keeps it at its end."""
    if isinstance(added.target, (ast.ListComp, ast.DictComp)):
        return True
    root = _root(added.target)
    if not root:
        return False
    if not added.within:
        me = run.params[0].key if run.params and run.function.cls is not None else ""
        own = root == me and not isinstance(added.target, ast.Name)
        return own and not _set_beside(run.function.node, added, walks.set_in(run.function.node))
    loop = added.within[-1]
    if not isinstance(added.target, ast.Name) and root in walks.binds(loop):
        return False  # another object in each pass
    return not _set_beside(loop, added, walks.set_in(loop))


def _set_beside(block: ast.AST, added: Added, known: _Sets | None = None) -> bool:
    """Whether the statements around set, empty or detach what keeps the value each time; `known` is what they set."""
    text = text_of(added.target)
    sets = _sets_in(block) if known is None else known
    own = (added.site, added.made)
    held = (text, text.partition("[")[0])  # an item, and what it is an item of
    if any(statement not in own for one in held for statement in sets.whole.get(one, ())):
        return True
    return any(said.startswith(text) and statement not in own for said, statement in sets.deleted)


class _Sets(NamedTuple):
    """What the statements of a block set, empty or detach in each pass, as text; what they delete."""

    whole: dict[str, list[ast.stmt]]
    deleted: list[tuple[str, ast.stmt]]


def _sets_in(block: ast.AST) -> _Sets:
    sets = _Sets({}, [])
    for statement in every_time(getattr(block, "body", [])):
        match statement:
            case ast.Assign(targets=targets):
                flat = [item for t in targets for item in (t.elts if isinstance(t, (ast.Tuple, ast.List)) else [t])]
            case ast.AnnAssign(target=target):
                flat = [target]
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=base, attr=name))):
                flat = [base] if name in ("clear", "pop", "popleft", "detach_", "reset") else []
            case ast.Delete(targets=targets):
                sets.deleted.extend((text_of(item), statement) for item in targets)
                continue
            case _:
                continue
        for item in flat:
            sets.whole.setdefault(text_of(item), []).append(statement)
    return sets


def _backpropagated(added: Added, walks: Walks) -> bool:
    """Whether what keeps the value gets `backward()` somewhere: then the graph is kept on purpose."""
    text = text_of(added.target)
    if text in walks.all_texts:
        whole = re.compile(rf"(?<![\w.]){re.escape(text)}(?!\w)")
        if any((added.how != "meter" or node is not added.site) and whole.search(said) for node, said in walks.texts):
            return True
    if not walks.objs.isdisjoint(added.keeper):
        return True
    return any(one not in added.objs for one in walks.by_node.get(added.made, ()))
