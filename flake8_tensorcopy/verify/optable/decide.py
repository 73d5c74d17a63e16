"""The row of one name, from everything that was seen of it."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.verify.optable.arguments import Call, find_calls, run
from flake8_tensorcopy.verify.optable.inputs import FEW_LAYOUTS, LAYOUTS, MORE_LAYOUTS, SHAPES, Inputs, Sym, resolve
from flake8_tensorcopy.verify.optable.observe import Graphed, Seen, flat, graph, is_strided, observe
from flake8_tensorcopy.verify.optable.promises import check, check_formulas, said, views_in_place
from flake8_tensorcopy.verify.optable.targets import Target


@dataclass(slots=True)
class Decision:
    """A row, and what a person should know about how it came about."""

    op: Op
    notes: list[str] = field(default_factory=list)


def decide(target: Target) -> Decision:
    """The row of one name."""
    calls = find_calls(target)
    seen = [s for call, layout in _runs(calls) if (s := observe(target, call, layout)) is not None]
    seen = [s for s in seen if not s.empty]
    if not seen:
        return _undecided(target, "not called")
    op = Op(target.name, target.form, "other")
    notes: list[str] = []
    kinds = {s.kind for s in seen}
    if target.form == "function":
        op = replace(op, out_keyword=takes_out(target, [call for call in calls if call.minimal]))
    op = replace(op, random=any(s.draws for s in seen) and all(s.draws or s.hollow for s in seen))
    op = replace(op, **_inplace(target))
    writes = frozenset.intersection(*(s.written for s in seen))
    resized = frozenset.intersection(*(s.reshaped for s in seen))
    op = replace(op, writes=tuple(sorted(writes - views_in_place(target) - resized)))
    ever = frozenset[int]().union(*(s.written for s in seen))
    if kinds == {"host", "tensor"}:
        # `x.type()` names the type, `x.type(t)` casts: what says something about storage counts.
        seen = [s for s in seen if s.kind == "tensor"]
        notes.append("a tensor or a Python value")
        kinds = {"tensor"}
    if kinds == {"none"} and target.form == "property":
        return Decision(op, ["None for a fresh tensor, which says nothing"])
    if kinds in ({"host"}, {"none"}):
        kind: ops.Result = "host" if kinds == {"host"} else "none"
        op = replace(op, result=kind, detaches=kind == "host" and any(s.tensors for s in seen))
        op = replace(op, reads_data=kind == "host" and any(reads_data(target, call) for call in calls))
        return Decision(check(target, op, ever, notes), notes)
    if not kinds <= {"tensor", "array"} or len(kinds) > 1:
        return Decision(op, [f"results of several kinds: {sorted(kinds)}"])
    op = replace(op, variadic=_variadic_position(target, seen) >= 0, **_sharing(target, seen))
    if "array" in kinds:
        return Decision(replace(op, result="array", detaches=True))
    op = replace(op, many=_count(seen), overlaps=any(s.overlaps for s in seen))
    floats = [s for s in seen if s.float_inputs and s.layout not in ("int", "bool", "complex")]
    if floats and all(s.dtype == "bool" for s in floats):
        op = replace(op, dtype="bool")
    elif floats and all(s.dtype == "int" for s in floats):
        op = replace(op, dtype="int")
    elif seen and all(s.dtype in ("same", "bool=", "int=") for s in seen):
        op = replace(op, dtype="same")
    pairs = [s for s in floats if s.outputs == 2]
    op = replace(op, second_int=bool(pairs) and all(s.second_int for s in pairs))
    op = replace(op, **_memory_facts(op, [s for s in seen if s.call.minimal]))
    fewest = min(len(s.call.args) + len(s.call.kwargs) for s in seen)
    minimal = [s for s in seen if len(s.call.args) + len(s.call.kwargs) == fewest]
    op = replace(op, zero_dim=all(s.zero_dim for s in minimal) and _has_dims(minimal))
    op = replace(op, factory=target.form == "function" and any(not s.tensors for s in seen))
    plain = [call for call in calls if call.minimal]
    op = replace(op, default_dtype=op.factory and all(gives_default_dtype(target, call) for call in plain))
    graphs = [g for call in calls if (g := graph(target, call)) is not None]
    attached = [g for g in graphs if g.attached]
    if graphs:
        op = replace(op, detaches=not attached)
    attached = [g for g in attached if g.backward]
    if attached:
        op = replace(op, saves_output=all(g.saves_output for g in attached))
        check_formulas(target, op, any(g.saves_output for g in attached))
        op = replace(op, saves_inputs=_saved(attached), forbids_inplace=any(g.forbids for g in attached))
    return Decision(check(target, op, ever, notes), notes)


def _runs(calls: list[Call]) -> Iterator[tuple[Call, str]]:
    minimal = [call for call in calls if call.minimal]
    for k, call in enumerate(minimal):
        yield from ((call, layout) for layout in LAYOUTS + (MORE_LAYOUTS if k < 2 else ()))
    yield from ((call, layout) for call in calls if not call.minimal for layout in FEW_LAYOUTS)


def _symbols(value: Any) -> list[str]:
    match value:
        case Sym(name):
            return [name]
        case list() | tuple():
            return [name for item in value for name in _symbols(item)]
        case _:
            return []


def _has_dims(seen: list[Seen]) -> bool:
    """Whether some call had an argument with dimensions, so that a result without them says something."""
    return any(name not in SHAPES or SHAPES[name] for s in seen for name in _symbols(s.call.args))


def _repeats(call: Call) -> bool:
    """Whether one tensor is passed twice, so that its positions cannot be told apart."""
    names = _symbols(call.args)
    return len(names) > len(set(names))


def _saved(attached: list[Graphed]) -> tuple[int, ...]:
    """Arguments kept by every call in which the most tensors require grad and the least else is given.  Of arguments
    that may be left out, tensors only, those kept by every call that has them all."""
    full = [g for g in attached if g.full and not _repeats(g.call)]
    found = frozenset[int]()
    given = 0
    for calls in ([g for g in full if g.call.minimal], [g for g in full if g.call.whole]):
        most = max((g.grads for g in calls), default=0)
        richest = [g for g in calls if g.grads == most]
        fewest = min((len(g.call.args) + len(g.call.kwargs) for g in richest), default=0)
        richest = [g for g in richest if len(g.call.args) + len(g.call.kwargs) == fewest]
        if richest:
            found |= {k for k in frozenset.intersection(*(g.saves for g in richest)) if k >= given}
            given = max(len(g.call.args) for g in richest)
    return tuple(sorted(found))


def _count(seen: list[Seen]) -> int:
    if any(s.nested for s in seen):
        return 0
    counts = {s.outputs if s.outputs > 1 or s.listed else 1 for s in seen}
    listed = {s.listed for s in seen}
    if counts == {1} and listed == {False}:
        return 1
    if len(counts) == 1 and 1 not in counts:
        return counts.pop()
    return -1 if all(s.listed for s in seen) else 0


def _sharing(target: Target, seen: list[Seen]) -> dict[str, Any]:
    """`result` and `of` of an op that returns tensors or arrays."""
    start = _variadic_position(target, seen)
    if start >= 0:
        # `einsum(equation, *operands)` hides the equation among them.
        start = min((position for s in seen for position in s.partly), default=start)
        whole = [frozenset({start}) if s.partly else frozenset[int]() for s in seen]
        same = [frozenset({start}) if s.same else frozenset[int]() for s in seen]
    else:
        whole = [s.shared | s.partly for s in seen]
        same = [s.same for s in seen]
    always = frozenset.intersection(*same)
    if always:
        return {"result": "same", "of": min(always)}
    if any(s.lasting for s in seen):
        return {"result": "other"}
    counts: dict[int, int] = {}
    for positions in whole:
        for position in positions:
            counts[position] = counts.get(position, 0) + 1
    if not counts:
        return {"result": "fresh"}
    of = max(counts, key=lambda position: (counts[position], -position))
    if any(positions - {of} for s, positions in zip(seen, whole, strict=True) if not _repeats(s.call)):
        # A result with the memory of another argument, or of several, as sparse tensors made of their parts have.
        return {"result": "other"}
    return {"result": "view" if counts[of] == len(seen) else "maybe", "of": of}


def _memory_facts(op: Op, seen: list[Seen]) -> dict[str, Any]:
    """`permutes`, `part`, `layout` and `casts` of an op that returns tensors, from its calls without options."""
    if op.result == "view":
        part = any(op.of in s.fewer for s in seen)
        return {"part": part, "permutes": not part and any(op.of in s.permuted for s in seen)}
    if op.result != "maybe":
        return {}
    dense = [op.of in s.shared for s in seen if op.of in s.contiguous]
    # The layouts that have more than strides to them ("negative") would say what `resolve_neg` does.
    others = [op.of in s.shared for s in seen if op.of in s.scattered and s.layout in LAYOUTS]
    layout = op.dtype == "same" and bool(dense) and all(dense) and not all(others)
    # A call that passes more than the tensor may pass its dtype.
    exact = {s.exact if len(s.call.args) + len(s.call.kwargs) == 1 else "" for s in seen}
    kept = {s.dtype in ("same", "bool=", "int=") for s in seen}
    return {"layout": layout, "casts": exact.pop() if len(exact) == 1 and len(kept) == 2 else ""}


def reads_data(target: Target, call: Call) -> bool:
    """Whether other elements in the same tensors, at the same addresses, change the Python value that comes back."""
    import torch

    for layout in ("plain", "int", "complex", "double"):
        inputs = Inputs(layout)
        ran = run(target, call, inputs)
        if ran is None:
            continue
        given = [t for value in (*ran.args, *ran.kwargs.values()) for t in flat(value) if isinstance(t, torch.Tensor)]
        dense = [t for t in given if is_strided(t) and not t.is_quantized]
        answers = []
        # All zeros, all ones, then a one in each argument by itself: `equal` says True, True, False.
        for values in ([0] * len(dense), [1] * len(dense), *([int(t is o) for t in dense] for o in dense)):
            try:
                with torch.no_grad():
                    for tensor, value in zip(dense, values, strict=True):
                        tensor.fill_(value)
                answers.append(target.call(*ran.args, **ran.kwargs))
            except Exception:
                continue
        if any(answer != answers[0] for answer in answers):
            return True
    return False


def gives_default_dtype(target: Target, call: Call) -> bool:
    """Whether the result has the default dtype, and changes with it though the arguments stay."""
    import torch

    inputs = Inputs("plain")
    before = torch.get_default_dtype()
    try:
        args = [resolve(value, inputs) for value in call.args]
        kwargs = {name: resolve(value, inputs) for name, value in call.kwargs}
        for dtype in (torch.float32, torch.float64):
            torch.set_default_dtype(dtype)
            outputs = flat(target.call(*args, **kwargs))
            if not outputs or any(o.dtype != dtype for o in outputs):
                return False
    except Exception:
        return False
    finally:
        torch.set_default_dtype(before)
    return True


def _inplace(target: Target) -> dict[str, Any]:
    """`inplace_flag` and `inplace_position`, from the parameters."""
    for params in target.signatures:
        for k, param in enumerate(params):
            if param.name == "inplace" and param.kind == "bool":
                return {"inplace_flag": True, "inplace_position": -1 if param.keyword_only else k}
    return {}


def _variadic_position(target: Target, seen: list[Seen]) -> int:
    """Where the parameter lies that takes tensors as separate arguments; -1 if there is none."""
    for params in target.signatures:
        for k, param in enumerate(params):
            if param.variadic and any(isinstance(a, (Sym, list)) for s in seen for a in s.call.args[k:]):
                return k
    return -1


def takes_out(target: Target, calls: list[Call]) -> bool:
    """Whether some call accepts `out=` and gives it back."""
    import torch

    for call in calls:
        ran, layout = next(
            ((ran, layout) for layout in ("plain", "int", "complex") if (ran := run(target, call, Inputs(layout)))),
            (None, ""),
        )
        outputs = [] if ran is None else flat(ran.result)
        if not outputs or not all(isinstance(o, torch.Tensor) and o.layout == torch.strided for o in outputs):
            continue
        try:
            given = [torch.empty_like(o).zero_() for o in outputs]
        except Exception:
            continue
        out = given[0] if len(given) == 1 else tuple(given)
        ran = run(target, replace(call, kwargs=(*call.kwargs, ("out", out))), Inputs(layout))
        if ran is None:
            continue
        returned = flat(ran.result)
        if ran.result is None or (len(returned) == len(given) and all(map(operator.is_, returned, given))):
            return True
    return False


def _undecided(target: Target, why: str) -> Decision:
    """A name that could not be called: what its schemas say, as far as they are certain."""
    op = Op(target.name, target.form, "other", **_inplace(target))
    overloads = said(target)
    tensors = [sum(r == "Tensor" for r in overload.returns) for overload in overloads]
    shares = {overload.shares for overload in overloads}
    if not overloads or any(overload.writes for overload in overloads) or len(shares) > 1 or not any(tensors):
        return Decision(op, [why])
    (shared,) = shares
    if shared:
        # An annotation does not tell a view from "the same or a copy".
        return Decision(replace(op, result="maybe", of=min(shared)), [why + "; by its schema, maybe"])
    if all(overload.primitive for overload in overloads):
        many = tensors[0] if len(set(tensors)) == 1 else 0
        return Decision(replace(op, result="fresh", many=many), [why + "; by its schema, fresh"])
    return Decision(op, [why])
