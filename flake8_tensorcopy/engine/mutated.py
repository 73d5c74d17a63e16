"""Arguments and kept items that a function writes: its caller, or the next read of the item, gets the written ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.classes import holds_tensors, way_from
from flake8_tensorcopy.engine.defaults import SURE
from flake8_tensorcopy.engine.facts import (
    AccumulatedItem,
    Fact,
    JoinedWrite,
    MutatedArgument,
    MutatedItem,
    SharedWrite,
    StaleRead,
)
from flake8_tensorcopy.engine.graph import root_of
from flake8_tensorcopy.engine.linked import dtype_of
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.notes import ItemsWritten, Use
from flake8_tensorcopy.engine.parts import must_overlap
from flake8_tensorcopy.engine.run import Run, last_state
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    MAYBE,
    UNSURE,
    VIEW,
    Link,
    Obj,
    Ref,
    Value,
    Write,
    exclusive,
    per_pass,
    same_derivation,
)

# Ops that leave nothing of what the tensor held.
OVERWRITES = frozenset("copy_ fill_ zero_ normal_ uniform_ random_ bernoulli_ exponential_ resize_ set_".split())

# Ops that put values into a tensor.
FILLS = OVERWRITES | frozenset(
    "[...] = scatter_ scatter_add_ index_copy_ index_add_ index_fill_ index_put_ masked_scatter_ masked_fill_".split()
)

# Factories of tensors that are made to be filled.
BLANK = frozenset("empty zeros full empty_like zeros_like full_like new_empty new_zeros new_full".split())

# Parameters that say that, and whether, the function works in place.
_SAYS_INPLACE = frozenset({"inplace", "in_place"})

# First words of functions that are there to change what they are given.
_CHANGES = frozenset(
    "update fill init initialize reset set zero accumulate inplace train step write store push insert load".split()
)

# Methods that neither arrays nor lists have, nor much else that can be written in place.
_OF_TENSORS = frozenset(
    "clone dim numel unsqueeze narrow index_select masked_fill expand_as new_zeros new_ones new_full new_tensor "
    "type_as is_floating_point unbind detach contiguous".split()
)

MAX_REACHED = 300  # values that a result is looked for in

# Reads of an argument that show nothing.
_NO_READS = frozenset({"receiver", "bind", "test", "logged"})


def function_at(module: Module, node: ast.AST) -> Function | None:
    """The function or method in which a node stands."""
    if module.at_line is None:
        module.at_line = {}
        nodes = [(one.node, one) for one in module.survey.all if not isinstance(one.node, ast.Module)]
        for where, function in sorted(nodes, key=lambda pair: pair[0].lineno):  # the inner ones last
            module.at_line.update(dict.fromkeys(range(where.lineno, (where.end_lineno or where.lineno) + 1), function))
    return module.at_line.get(getattr(node, "lineno", 0))


def says_inplace(function: Function, written: str = "") -> bool:
    """Whether a function says itself that it changes what it is given; `written` is the argument that it writes."""
    node = function.node
    if isinstance(node, ast.Module):
        return False
    spec = node.args
    named = [*spec.posonlyargs, *spec.args]
    names = {one.arg for one in (*named, *spec.kwonlyargs)}
    # `out=None` is where to write; a required `out` may be what a model put out.
    optional = {one.arg for one in (*named[len(named) - len(spec.defaults) :], *spec.kwonlyargs)}
    says = (function.name[-1:] == "_" and function.name[-2:] != "__") or not names.isdisjoint(_SAYS_INPLACE)
    return says or "out" in optional or written == "out"


def told(run: Run, site: ast.AST) -> bool:
    """Whether something else is said of this write already."""
    return any(
        fact.site is site
        and (
            isinstance(fact, (SharedWrite, AccumulatedItem, JoinedWrite))
            or (isinstance(fact, StaleRead) and (fact.together or fact.kept or fact.compared))
        )
        for fact in run.facts.values()
    )


def returns(run: Run, obj: Obj) -> bool:
    """Whether something that is returned is the object, holds it, or was computed from it."""
    for value, state, node in run.returned:
        given = [value]
        if node.value is not None and not value.refs:
            # A number: what it was computed from is written there.
            given += [state.env[name] for name in _read_in(node.value) if name in state.env]
        if any(_reaches(one, obj, state.heap) for one in given):
            return True
    return False


def _read_in(node: ast.expr) -> list[str]:
    """The names whose values an expression reads; the device, dtype or shape of a tensor says nothing of it."""
    told = {
        id(item.value) for item in ast.walk(node) if isinstance(item, ast.Attribute) and item.attr in library.METADATA
    }
    return sorted({item.id for item in ast.walk(node) if isinstance(item, ast.Name) and id(item) not in told})


def _reaches(value: Value, obj: Obj, heap: dict[Obj, dict[str, Value]]) -> bool:
    pending = [ref.obj for ref in value.refs]
    seen: set[Obj] = set()
    while pending and len(seen) < MAX_REACHED:
        one = pending.pop()
        if one is obj:
            return True
        if one in seen:
            continue
        seen.add(one)
        pending.extend(one.operands)
        if one.parent is not None:
            pending.append(one.parent)
        if one.kind in ("tuple", "list", "dict"):
            pending.extend(ref.obj for held in heap.get(one, {}).values() for ref in held.refs)
    return False


# ----- `__getitem__`


def mutated_items(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """Writes of `__getitem__` (or of what it calls) to what the object holds."""
    if "__getitem__" not in cls.methods:
        return
    found: set[ast.AST] = set()
    for method in _called_from(cls, "__getitem__"):
        run = module.run_of(method) if not method.static else None
        if run is not None and run.params:
            for home, fact in _mutated_by(module, cls, method, run):
                if fact.site not in found:
                    found.add(fact.site)
                    yield home, fact


def _called_from(cls: Class, name: str) -> list[Function]:
    """A method and those of the class that it calls, directly or through one another."""
    found = [cls.methods[name]]
    for method in found:
        found.extend(one for key, one in cls.methods.items() if key in method.calls and one not in found)
    return [one for one in found if one.name != "__init__"]


def _mutated_by(module: Module, cls: Class, method: Function, run: Run) -> Iterator[tuple[Function, MutatedItem]]:
    me = run.params[0]
    kept = [
        write
        for write in run.log
        if write.ref.obj is not me and root_of(write.ref.obj) is me and write.how not in ("training", "part")
    ]
    reset = {write.ref.obj for write in kept if _overwrites(write)}
    for write in kept:
        ref = write.ref
        if ref.obj in reset or ref.obj.param or ref.obj.kind == "module" or _stores(write):
            continue
        if not all(link.kind in SURE or _by_the_index(link, run, cls) or _no_cast(ref, link) for link in ref.chain):
            continue
        if not returns(run, ref.obj):
            continue
        site, home, inner = write.node, method, write
        if write.inner is not None:
            found = _written_in(module, write.inner)
            if found is None:
                continue
            home, there, inner = found
            site = write.inner
            if told(there, site) or says_inplace(home):
                continue
        kept_first = write.whole is not None and _all_kept(run, me, write.whole)
        if (inner.mixed or (write.inner is None and write.mixed)) and not (inner is write and kept_first):
            continue
        if told(run, site):
            continue
        evidence = max(_evidence(run, write), _evidence(run, inner) if inner is not write else 0)
        if evidence < 1 and _used_as_tensor(run, write.ref.obj) and _kept_in_a_container(module, cls, me, ref.obj):
            evidence = 1
        if evidence < 3:
            evidence = max(evidence, holds_tensors(module, cls, way_from(me, ref.obj)))
        yield (
            home,
            MutatedItem(
                site=site,
                owner_name=ref.obj.key,
                writer=inner.target,
                op=write.op,
                how=inner.how,
                called=write.node if write.inner is not None else None,
                evidence=evidence,
            ),
        )


def _all_kept(run: Run, me: Obj, value: Value) -> bool:
    """Whether all that a name may stand for is what the object holds in the end: `if i not in self.cache: self.cache[i]
    = load(i)` and then `x = self.cache[i]`."""
    state = last_state(run)
    if state is None:
        return False
    held: set[Obj] = set()
    pending = [me]
    while pending and len(held) < MAX_REACHED:
        one = pending.pop()
        if one not in held:
            held.add(one)
            pending += [ref.obj for value in state.fields(one).values() for ref in value.refs]
    return all(ref.obj in held or root_of(ref.obj) is me for ref in value.refs)


def _no_cast(ref: Ref, link: Link) -> bool:
    """A conversion to the dtype that the tensor has for certain."""
    if link.kind != MAYBE or not link.dtype or link.op not in ("float", "double", "half", "long", "int", "to", "type"):
        return False
    return dtype_of(Ref(ref.obj, ref.chain[: ref.chain.index(link)])) == link.dtype


def _by_the_index(link: Link, run: Run, cls: Class) -> bool:
    """`self.images[i]` of a data set: the index that it is given is a number, which makes a view."""
    if link.kind != UNSURE or not isinstance(link.node, ast.Subscript):
        return False
    bases = [base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in cls.bases]
    if "__len__" not in cls.methods and not any(name.endswith("Dataset") for name in bases):
        return False
    given = {obj.key for obj in run.params}
    return given.issuperset(run.names_in(link.node.slice)) and not any(
        isinstance(item, (ast.List, ast.ListComp, ast.Compare)) for item in ast.walk(link.node.slice)
    )


def _overwrites(write: Write) -> bool:
    """Whether nothing is left of what was there before."""
    node = write.node
    if write.how == "out" and isinstance(node, ast.Call):
        return all(text_of(given) != write.target for given in node.args)
    if write.op in OVERWRITES:
        return True
    return write.how == "subscript" and isinstance(node, ast.Subscript) and text_of(node.slice) in (":", "...")


def _stores(write: Write) -> bool:
    """`self.seen[i] = value`: what the object holds is filled on purpose."""
    return write.how == "subscript" and write.target.startswith("self.")


def _evidence(run: Run, write: Write) -> int:
    """How surely what is written is a tensor (or array); a method that only tensors have speaks for itself."""
    if write.ref.kind == "array":
        return 3
    known = run.evidence_of(write.ref, write.stmt)
    named = write.how == "method" and write.op[-1:] == "_" and ops.method(write.op) is not None
    return max(known, 2) if named and not write.ref.obj.refuted else known


def _used_as_tensor(run: Run, obj: Obj) -> bool:
    """Whether the method calls what only tensors have, of the object itself."""
    return not obj.refuted and any(
        name in _OF_TENSORS and any(ref.obj is obj for ref in base.refs) for base, name in run.method_calls.values()
    )


def _kept_in_a_container(module: Module, cls: Class, me: Obj, obj: Obj) -> bool:
    """Whether an item is one of a list or dict that the object holds: another data set may make its items anew."""
    slots = way_from(me, obj)
    held = module.table(cls).get(slots[0]) if len(slots) > 1 else None
    return held is not None and held.obj is not None and held.obj.kind in ("list", "dict", "tuple")


def _written_in(module: Module, node: ast.AST) -> tuple[Function, Run, Write] | None:
    """The write at a node, in the run of the function where it stands."""
    function = function_at(module, node)
    for run in [run for run in module.runs.values() if run is not None]:
        write = next((write for write in run.log if write.node is node and _not_its_own(write)), None)
        if write is not None and function is not None:
            return function, run, write
    return None


def _not_its_own(write: Write) -> bool:
    """Whether a function writes what somebody else has, of the alternatives that the name may stand for."""
    return root_of(write.ref.obj).owner != "fresh"


# ----- arguments


def argument_read(run: Run, use: Use, write: Write) -> None:
    """A binding is read after a function of this file was given it and wrote it."""
    callee = run.called.get(write.node)
    if callee is None or write.inner is None or write.how != "call" or use.role in _NO_READS or use.tick < write.tick:
        return
    if _for_its_effect(write.node, write.stmt) or _again(use, write.node):
        return
    if use.mixed or use.ref.obj.param or run.function is callee.function:
        return
    arms = run.now.arms
    if exclusive(write.arms, use.ref.arms) or exclusive(write.arms, arms) or exclusive(use.ref.arms, arms):
        return
    if not must_overlap(use.ref.chain, write.ref.chain) or not same_derivation(use.ref, write.ref):
        return
    if any(link.kind not in (ALIAS, VIEW, DETACH) for link in write.ref.chain):
        return
    fact = _mutated(run, callee, use, write)
    if fact is not None and not told(run, write.node):
        run.fact(fact)


def _for_its_effect(call: ast.AST, statement: ast.AST | None) -> bool:
    """A statement that is the call alone; `x, n = f(x, n)`: the caller goes on with what it got."""
    if isinstance(statement, ast.Expr):
        return statement.value is call
    if not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call):
        return False
    targets = {text_of(one) for target in statement.targets for one in getattr(target, "elts", [target])}
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(text_of(one) in targets for one in given)


def _again(use: Use, call: ast.AST) -> bool:
    """The very same call, in the next pass of a loop, or its result."""
    if not isinstance(call, ast.Call):
        return False
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    # What the call returned may be the argument itself, which the expression around it reads.
    return any(use.node is one for one in given) or any(inner is call for inner in walk(use.node))


def _meant_to_change(function: Function) -> bool:
    return says_inplace(function) or function.name.strip("_").split("_")[0] in _CHANGES


def items_given(
    run: Run, node: ast.Call, callee: Run, values: list[Value], keywords: dict[str, tuple[ast.expr, Value]]
) -> None:
    """A call gives a list or dict to a function that writes its items in a loop, and returns something made of them."""
    for passed in callee.items_written:
        for ref in _argument(callee, passed.given.obj, values, keywords):
            _items_of(run, ref, passed.write)
    written = callee.once(_items_changed)
    if not written or _for_its_effect(node, run.stmt):
        return
    for parameter, write in written:
        for ref in _argument(callee, parameter, values, keywords):
            items = _items_of(run, ref, write)
            if ref.place is not None or items:
                arms = ref.arms | run.now.arms
                run.items_written.append(ItemsWritten(callee, write, ref, items, node, run.count(), arms))


def _items_changed(callee: Run) -> list[tuple[Obj, Write]]:
    """The parameters of a function of which it writes the items in a loop, and the writes, if it says nothing of that
    and returns something made of them."""
    found: list[tuple[Obj, Write]] = []
    for write in () if _meant_to_change(callee.function) else callee.log:
        parameter = write.ref.obj.parent
        if not per_pass(write.ref.obj.slot) or parameter is None or parameter not in callee.params:
            continue
        if write.mixed or write.op in OVERWRITES or told(callee, write.node):
            continue
        if any(link.kind not in (ALIAS, VIEW, DETACH) for link in write.ref.chain) or not returns(callee, parameter):
            continue
        if any(ref.obj is parameter for value, _, _ in callee.returned for ref in value.refs):
            continue  # the result is the very list
        found.append((parameter, write))
    return found


def _argument(
    callee: Run, parameter: Obj, values: list[Value], keywords: dict[str, tuple[ast.expr, Value]]
) -> tuple[Ref, ...]:
    """What a call gives for a parameter."""
    if parameter.key in keywords:
        return keywords[parameter.key][1].refs
    position = callee.params.index(parameter) if parameter in callee.params else len(values)
    return values[position].refs if position < len(values) else ()


def _items_of(run: Run, ref: Ref, write: Write) -> frozenset[Obj]:
    """The items of a list or dict that a function writes; if they are tensors, so is what it writes."""
    items = frozenset(held.obj for one in run.now.fields(ref.obj).values() for held in one.refs)
    if items and all(item.kind == "tensor" for item in items):
        run.module.proven.add(write.inner or write.node)
    return items


def items_read(run: Run, uses: list[Use]) -> None:
    """What such a call has written is read as if it had not."""
    for use in uses:
        for one in run.items_written:
            obj = use.ref.obj
            whole = obj is one.given.obj and use.ref.place is one.given.place
            if not (whole or obj in one.items or obj.parent is one.given.obj) or use.role in _NO_READS:
                continue
            if use.tick < one.tick or use.mixed or obj.param or _again(use, one.call):
                continue
            if exclusive(one.arms, use.ref.arms) or exclusive(one.arms, run.now.arms):
                continue
            write = one.write
            place = use.ref.place if not whole else one.given.place
            run.fact(
                MutatedArgument(
                    site=write.inner or write.node,
                    function=one.callee.function.name,
                    argument=place.name if place is not None else one.given.obj.key,
                    writer=write.target,
                    op=write.op,
                    how=write.how if write.inner is None else "method",
                    call=one.call,
                    read=use.node,
                    evidence=_evidence(one.callee, write),
                )
            )


def _mutation(callee: Run, write: Write) -> Write | None:
    """The write in a function that a write by its call tells of, if the function gives back what it writes."""
    for own in callee.log:
        if write.inner in (own.node, own.inner) and own.op == write.op and _not_its_own(own):
            surprising = own.op not in OVERWRITES and not own.mixed and not told(callee, own.node)
            return own if surprising and returns(callee, own.ref.obj) else None
    return None


def _mutated(run: Run, callee: Run, use: Use, write: Write) -> MutatedArgument | None:
    function = callee.function
    if _meant_to_change(function):
        return None
    asked = (write.inner, write.op)
    if asked not in callee.mutations:
        callee.mutations[asked] = _mutation(callee, write)
    own = callee.mutations[asked]
    if own is None:
        return None
    if function.cls is not None and not function.static and root_of(own.ref.obj) is callee.params[0]:
        return None  # the object's own state
    if own.ref.obj.owner == "argument" and says_inplace(function, own.ref.obj.key):
        return None
    if any(link.kind not in (ALIAS, VIEW, DETACH) for link in own.ref.chain):
        return None
    if write.ref.obj.made in BLANK and write.op in FILLS:
        return None
    site, shown = own.node, own
    if own.inner is not None and write.inner is not None:
        found = _written_in(run.module, write.inner)
        if found is None or found[2].mixed:
            return None
        if not says_inplace(found[0]):
            site, shown = write.inner, found[2]
            if told(found[1], site):
                return None
    place = write.ref.place
    evidence = max(run.evidence_of(write.ref, write.stmt), _evidence(callee, own), _evidence(callee, shown))
    return MutatedArgument(
        site=site,
        function=function.name,
        argument=place.name if place is not None else write.target,
        writer=shown.target,
        op=write.op,
        how=shown.how,
        call=write.node,
        read=use.node,
        evidence=evidence,
    )
