"""What execution can say against a row: each claim of the table, held against the calls that were seen.

A claim about every call ("fresh", "view", "same", `writes`, `many`, `detaches`, a dtype) is refuted by one call.  A
claim that something happens in some call ("maybe", `overlaps`, `permutes`, `part`, `many` 0) needs that call: it is
refuted by none, and reported as not witnessed where no call showed it.  The absence of a flag is a claim too, and of
the other kind: no `overlaps` says that no result ever overlaps, no `saves_output` that some call does not keep its
result.  Such an absence is refuted where it says "never" by one call, and where it says "not always" by all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.verify.opcheck.seen import Graph, Position, Seen

INTEGERS: Final = frozenset({"uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"})
FLOATS: Final = frozenset({"float16", "bfloat16", "float32", "float64"})
ENOUGH: Final = 3
"""Calls that must agree before they say that the table leaves out what always happens."""


@dataclass(frozen=True, slots=True)
class Against:
    """A claim, what was seen instead, and the call that showed it."""

    claim: str
    observed: str
    call: str


@dataclass(slots=True)
class Verdict:
    """What the calls of one row say about it."""

    against: list[Against] = field(default_factory=list)
    unwitnessed: list[str] = field(default_factory=list)
    """Claims that need a call which none was."""

    def refute(self, claim: str, observed: str, seen: Seen) -> None:
        """Adds a refutation, one for each claim: the first call will do."""
        if all(found.claim != claim for found in self.against):
            self.against.append(Against(claim, observed, seen.call))


def judge(op: Op, seen: Sequence[Seen]) -> Verdict:
    """Holds a row against the calls of it; there must be one at least."""
    verdict = Verdict()
    for check in MODULE_CHECKS if op.form == "module" else CHECKS:
        check(op, seen, verdict)
    return verdict


def _named(where: Iterable[Position]) -> str:
    listed = sorted(where, key=str)
    return "no argument" if not listed else " and ".join(f"argument {k}" for k in listed)


# ------------------------------------------------------------------------------------------------------- what came back


def _kind(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    wanted = {"fresh": "tensor", "view": "tensor", "maybe": "tensor", "same": "tensor"}.get(op.result, op.result)
    kinds = {s.kind for s in seen}
    if op.result == "other":
        for kind in ("tensor", "array", "host"):
            if kinds == {kind} and kind != "tensor":
                verdict.refute('result "other"', f"always {kind}", seen[0])
        return
    for s in seen:
        if s.kind != wanted and not (wanted == "tensor" and s.kind == "host" and "tensor" in kinds and s.count == 0):
            verdict.refute(f'result "{op.result}"', f"{_a(s.kind)} came back", s)


def _a(kind: str) -> str:
    return {"none": "None", "host": "a Python value", "array": "an array", "tensor": "a tensor"}.get(
        kind, "something else"
    )


def _sharing(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    claim = f'result "{op.result}"' + (f" of argument {op.of}" if op.of >= 0 else "")
    shared = apart = 0
    for s in seen:
        if s.kind not in ("tensor", "array"):
            continue
        for k, mine in enumerate(s.shares):
            if mine is None:
                continue
            own = op.of + k if op.variadic and len(s.shares) > 1 else op.of
            others = [o for o in mine if o != own and (o, own) not in s.linked and not (op.variadic and own in mine)]
            match op.result:
                case "fresh" if mine:
                    verdict.refute(claim, f"result {k} shares the storage of {_named(mine)}", s)
                case "view" | "array" if op.of >= 0:
                    if own in s.solid and own not in mine:
                        verdict.refute(claim, f"result {k} does not share the storage of argument {own}", s)
                    elif others:
                        verdict.refute(claim, f"result {k} shares the storage of {_named(others)}", s)
                case "array" if mine:
                    verdict.refute(claim, f"it shares the memory of {_named(mine)}", s)
                case "maybe":
                    shared += own in mine
                    apart += own not in mine and own in s.solid
                    if others and own not in mine:
                        verdict.refute(claim, f"result {k} shares the storage of {_named(others)}", s)
        if op.result == "same" and op.of not in s.same:
            verdict.refute(claim, f"argument {op.of} is not the object that came back", s)
    if op.result == "view" and all(op.of in s.same for s in seen if s.kind == "tensor") and len(seen) >= ENOUGH:
        verdict.refute(claim, f"argument {op.of} itself came back in every call", seen[0])
    if op.result == "maybe":
        if not shared:
            verdict.unwitnessed.append(f"{claim}: no call shared storage")
        if not apart:
            verdict.unwitnessed.append(f"{claim}: every call shared storage")


def _writes(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    for k in op.writes:
        claim = f"writes argument {k}"
        for s in seen:
            if k in s.given and k not in s.bumped | s.changed:
                verdict.refute(claim, "neither its version nor its bytes changed", s)
        given = [s for s in seen if k in s.solid]
        if given and not any(k in s.changed for s in given):
            if len(given) >= ENOUGH:
                verdict.refute(claim, "no call changed a byte of it", given[0])
            else:
                verdict.unwitnessed.append(f"{claim}: no call changed a byte of it")
    for k in sorted({k for s in seen for k in s.changed if isinstance(k, int)} - set(op.writes)):
        with_k = [s for s in seen if k in s.solid]
        written = [s for s in with_k if k in s.changed | s.bumped]
        first = next(s for s in with_k if k in s.changed)
        sharers = [w for w in op.writes if all((k, w) in s.linked for s in with_k if k in s.changed)]
        # What may be left out is not written by every call.
        if len(written) == len(with_k) and all(k in s.given for s in seen) and not sharers:
            verdict.refute("writes " + _named(op.writes), f"argument {k} was written in every call", first)


def _many(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    claim = f"many {op.many}"
    made = [s for s in seen if s.kind == "tensor" and s.count and (op.form != "module" or s.minimal)]
    for s in made:
        what = f"{s.count} tensors in a tuple or list" if s.packed else "one tensor"
        nested = s.packed == "nested"
        match op.many:
            case 1 if s.packed:
                verdict.refute(claim, f"{what} came back", s)
            case -1 if not s.packed or nested:
                verdict.refute(claim, f"{what} came back", s)
            case n if n > 1 and (not s.packed or nested or s.count != n):
                verdict.refute(claim, f"{what} came back", s)
    shapes = {"nested" if s.packed == "nested" else s.count if s.packed else 1 for s in made}
    if op.many == 0 and "nested" not in shapes and len(shapes) < 2:
        verdict.unwitnessed.append(f"{claim}: every call gave {'/'.join(map(str, shapes))}")
    if op.many == -1 and len(shapes) < 2:
        verdict.unwitnessed.append(f"{claim}: every call gave {'/'.join(map(str, shapes))}")


def _overlaps(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    for s in seen:
        if s.overlaps and not op.overlaps:
            verdict.refute("no overlaps", "two elements of the result lie at one address", s)
    if op.overlaps and not any(s.overlaps for s in seen):
        verdict.unwitnessed.append("overlaps: no call gave elements at one address")


def _dtype(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    floats = [s for s in seen if s.dtypes and s.given_dtype in FLOATS]
    for s in seen if op.dtype == "same" else floats:
        # torch short-cuts what has no elements, and takes dtypes there that it refuses elsewhere.
        if not s.dtypes or not s.given_dtype or s.given != s.solid:
            continue
        right = {
            "bool": s.dtypes[0] == "bool",
            "int": s.dtypes[0] in INTEGERS,
            "same": s.dtypes[0] == s.given_dtype,
        }.get(op.dtype, True)
        if not right:
            verdict.refute(f'dtype "{op.dtype}"', f"{s.dtypes[0]} came back", s)
    if op.dtype == "" and op.result in ("fresh", "view", "maybe", "same") and len(floats) >= ENOUGH:
        for word, holds in (("bool", {"bool"}), ("int", INTEGERS)):
            if all(s.dtypes[0] in holds for s in floats):
                verdict.refute("no dtype", f"every call gave {word}", floats[0])
    if op.casts:
        for s in seen:
            if s.dtypes and s.dtypes[0] != op.casts:
                verdict.refute(f"casts to {op.casts}", f"{s.dtypes[0]} came back", s)


def _second_int(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    pairs = [s for s in seen if s.count == 2 and s.packed == "flat" and s.given_dtype in FLOATS]
    split = [s.dtypes[0] in FLOATS and s.dtypes[1] in INTEGERS for s in pairs]
    for s, good in zip(pairs, split, strict=True):
        if op.second_int and not good:
            verdict.refute("second_int", f"{' and '.join(s.dtypes)} came back", s)
    if op.second_int and not pairs:
        verdict.unwitnessed.append("second_int: no call gave two tensors")
    if not op.second_int and len(pairs) >= ENOUGH and all(split) and op.many in (0, 2):
        verdict.refute("no second_int", f"{' and '.join(pairs[0].dtypes)} came back in every call", pairs[0])


def _zero_dim(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    if op.result not in ("fresh", "view", "maybe", "same"):
        return
    shown = [s for s in _fewest(seen) if not s.packed and s.dims]
    if op.zero_dim:
        for s in shown:
            if s.dims != (0,):
                verdict.refute("zero_dim", f"a result of {s.dims[0]} dimensions came back", s)
        if not any(s.most_dims > 0 for s in shown):
            verdict.unwitnessed.append("zero_dim: no call with only the required arguments had dimensions to lose")
    else:
        dims = [s for s in shown if s.most_dims > 0]
        if len(dims) >= ENOUGH and all(s.dims == (0,) for s in dims):
            verdict.refute("no zero_dim", "every call with only the required arguments gave no dimensions", dims[0])


# ------------------------------------------------------------------------------------------------------ layout of views


def _fewest(seen: Sequence[Seen]) -> list[Seen]:
    """The calls that give tensors and have no more arguments than required, nor more than the others of those."""
    minimal = [s for s in seen if s.minimal and s.kind == "tensor"]
    fewest = min((s.arguments for s in minimal), default=0)
    return [s for s in minimal if s.arguments == fewest]


def _views(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    plain = [s for s in seen if s.minimal and s.kind == "tensor"]
    turned = next((s for s in plain if op.of in s.moved and s.shares[0] and op.of in s.shares[0]), None)
    smaller = next((s for s in plain if op.of in s.fewer), None)
    if op.result != "view":
        return
    if op.part and smaller is None:
        verdict.unwitnessed.append("part: no call left elements out")
    if not op.part and smaller is not None:
        verdict.refute("no part", "each result had fewer elements than its argument", smaller)
    if op.permutes and turned is None:
        verdict.unwitnessed.append("permutes: no call gave the elements of a contiguous argument in another order")
    if not op.permutes and not op.part and turned is not None:
        verdict.refute("no permutes", "the elements of a contiguous argument came in another order", turned)


def _layout(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    if op.result != "maybe":
        return
    plain = [s for s in seen if s.minimal and s.kind == "tensor" and s.shares and s.shares[0] is not None]
    dense = [s for s in plain if op.of in s.dense and op.of in s.solid]
    copied = [s for s in plain if op.of in s.scattered and s.shares[0] is not None and op.of not in s.shares[0]]
    if op.layout:
        for s in dense:
            if s.shares[0] is not None and op.of not in s.shares[0]:
                verdict.refute("layout", "a contiguous argument was copied", s)
        for s in plain:
            if s.dtypes[0] != s.given_dtype:
                verdict.refute("layout", f"{s.dtypes[0]} came back", s)
        if not copied:
            verdict.unwitnessed.append("layout: no call copied an argument that is not contiguous")


# ------------------------------------------------------------------------------------------------------------ the graph


def _graphs(seen: Sequence[Seen]) -> Iterator[tuple[Seen, Graph]]:
    return ((s, s.graph) for s in seen if s.graph is not None)


def _detaches(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    if op.result in ("host", "array"):
        given = next((s for s in seen if s.given), None)
        if not op.detaches and given is not None:
            verdict.refute("no detaches", "a Python value came from a tensor", given)
        if op.detaches and given is None:
            verdict.unwitnessed.append("detaches: no call had a tensor")
        return
    found = list(_graphs(seen))
    for s, graph in found:
        if op.detaches and graph.attached:
            verdict.refute("detaches", "the result requires grad", s)
    if not op.detaches and len(found) >= ENOUGH and not any(graph.attached for _, graph in found):
        verdict.refute("no detaches", "no result requires grad", found[0][0])
    if op.detaches and not found and op.result not in ("none", "other"):
        verdict.unwitnessed.append("detaches: no argument could require grad")


def _saves_output(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    found = [(s, graph) for s, graph in _graphs(seen) if graph.differentiable]
    for s, graph in found:
        if op.saves_output and not graph.keeps_result:
            verdict.refute("saves_output", "backward ran after a write to the result", s)
    if op.saves_output and not found:
        verdict.unwitnessed.append("saves_output: no differentiable call")
    if not op.saves_output and len(found) >= ENOUGH and all(graph.keeps_result for _, graph in found):
        verdict.refute("no saves_output", "backward raised after a write to the result in every call", found[0][0])


def _saves_inputs(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    """What must be given is judged by the calls that have no more, with the most tensors and the fewest other
    arguments; what may be left out by the calls without options that have it.  Every tensor that can require grad does
    so, and is contiguous: of others some ops keep a copy of their own."""
    plain = [(s, graph) for s, graph in _graphs(seen) if graph.differentiable and s.plain and not s.scattered]
    able = frozenset[Position]().union(*(graph.tracked for _, graph in _graphs(seen)))
    plain = [(s, graph) for s, graph in plain if s.given & able <= graph.tracked]
    least = [(s, graph) for s, graph in plain if s.minimal] or plain
    most = max((graph.grads for _, graph in least), default=0)
    least = [(s, graph) for s, graph in least if graph.grads == most]
    fewest = min((s.arguments for s, _ in least), default=0)
    least = [(s, graph) for s, graph in least if s.arguments == fewest]
    claim = "saves_inputs " + (",".join(map(str, op.saves_inputs)) or "-")
    needed = frozenset[Position]().union(*(s.given for s, _ in least))
    # The table has no place for what is passed by keyword only.
    for k in sorted({k for s, _ in plain for k in s.given if isinstance(k, int)}):
        telling = [(s, graph) for s, graph in (least if k in needed else plain) if k in s.given]
        kept = [k in graph.keeps for _, graph in telling]
        if k in op.saves_inputs and not all(kept):
            lost = next(s for s, graph in telling if k not in graph.keeps)
            verdict.refute(claim, f"backward ran after a write to argument {k}", lost)
        if k not in op.saves_inputs and all(kept) and len(kept) > 1:
            verdict.refute(claim, f"backward raised after a write to argument {k} in every call", telling[0][0])
    for k in sorted(set(op.saves_inputs) - {k for s, _ in plain for k in s.given}):
        verdict.unwitnessed.append(f"saves_inputs: no differentiable call without options had argument {k}")


def _forbids(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    found = [(s, graph) for s, graph in _graphs(seen) if graph.attached]
    for s, graph in found:
        if graph.forbids and not op.forbids_inplace:
            verdict.refute("no forbids_inplace", "an in-place op on a result raised: one op made several views", s)
    if op.forbids_inplace and not any(graph.forbids for _, graph in found):
        verdict.unwitnessed.append("forbids_inplace: no in-place op on a result raised")


# ----------------------------------------------------------------------------------------------------- how it is called


def _random(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    telling = [s for s in seen if s.size > 1 or s.kind in ("none", "host")]
    for s in telling:
        if op.random and not s.drew:
            verdict.refute("random", "nothing was drawn", s)
    if op.random and not telling:
        verdict.unwitnessed.append("random: no call had anything to draw")
    if not op.random and len(telling) >= ENOUGH and all(s.drew for s in telling):
        verdict.refute("no random", "every call drew from the generator", telling[0])


def _factory(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    if op.form != "function":
        return
    made = [s for s in seen if s.kind == "tensor" and not s.given and s.fits]
    if made and not op.factory:
        verdict.refute("no factory", "a tensor came from no tensor", made[0])
    without = [s for s in seen if s.kind == "tensor" and not s.given_dtype]
    if op.factory and not without:
        verdict.unwitnessed.append("factory: every call had a tensor")
    tried = [s for s in seen if s.default_dtype is not None]
    for s in tried:
        if op.default_dtype and not s.default_dtype:
            verdict.refute("default_dtype", "another dtype came back, or it did not follow the default", s)
    if op.default_dtype and not tried:
        verdict.unwitnessed.append("default_dtype: no call without dtype")
    if op.factory and not op.default_dtype and len(tried) >= ENOUGH and all(s.default_dtype for s in tried):
        verdict.refute("no default_dtype", "every call gave the default dtype", tried[0])


def _out(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    answers = [s for s in seen if s.out is not None]
    for s in answers:
        if op.out_keyword and s.out and all(t.out for t in answers):
            verdict.refute("out", f"`out=` {s.out} in every call", s)
        if not op.out_keyword and s.out == "":
            verdict.refute("no out", "`out=` was written and returned", s)
    if op.out_keyword and not answers:
        verdict.unwitnessed.append("out: no call took `out=`")


def _inplace(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    answers = [s for s in seen if s.inplace is not None]
    claim = "inplace" if op.inplace_flag else "no inplace"
    for s in answers:
        if op.inplace_flag and s.inplace not in ("wrote", "kept"):
            verdict.refute(claim, f"`inplace=True` {s.inplace}", s)
        if not op.inplace_flag and s.inplace == "wrote":
            verdict.refute(claim, "`inplace=True` wrote argument 0 and returned it", s)
    if op.inplace_flag and not any(s.inplace == "wrote" for s in answers):
        verdict.unwitnessed.append("inplace: no call with `inplace=True` wrote argument 0")


def _reads_data(op: Op, seen: Sequence[Seen], verdict: Verdict) -> None:
    tried = [s for s in seen if s.values_matter is not None and s.given]
    for s in tried:
        if s.values_matter and not op.reads_data:
            verdict.refute("no reads_data", "other elements gave another value", s)
    if op.reads_data and not any(s.values_matter for s in tried):
        if len(tried) >= ENOUGH:
            verdict.refute("reads_data", "other elements gave the same value in every call", tried[0])
        else:
            verdict.unwitnessed.append("reads_data: no call showed that the elements matter")


Check = Callable[[Op, Sequence[Seen], Verdict], None]
CHECKS: Final[tuple[Check, ...]] = (
    _kind,
    _sharing,
    _writes,
    _many,
    _overlaps,
    _dtype,
    _second_int,
    _zero_dim,
    _views,
    _layout,
    _detaches,
    _saves_output,
    _saves_inputs,
    _forbids,
    _random,
    _factory,
    _out,
    _inplace,
    _reads_data,
)
MODULE_CHECKS: Final[tuple[Check, ...]] = (_kind, _sharing, _writes, _many, _inplace)
"""Of a module the table says what calling an instance gives and writes, and nothing of dtypes and the graph."""
