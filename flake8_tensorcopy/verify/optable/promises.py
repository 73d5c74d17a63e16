"""What torch's schemas and derivative formulas promise, and whether execution contradicts it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.verify.optable.targets import Target, dispatched, is_out, qualified


class Contradiction(Exception):
    """A schema and execution disagree, or the schemas of one name do."""


@cache
def reads_output() -> dict[str, bool]:
    """For each overload with a derivative formula: whether a formula for an argument reads an output."""
    import torchgen

    path = Path(torchgen.__file__).parent / "packaged" / "autograd" / "derivatives.yaml"
    found = {}
    for entry in path.read_text(encoding="utf-8").split("\n- name: ")[1:]:
        signature, _, body = entry.partition("\n")
        name, _, rest = signature.partition("(")
        arguments, _, results = rest.rpartition(" -> ")
        inputs = set(re.findall(r"(\w+)(?:=[^,()]*)?(?=[,)])", arguments))
        outputs = {"result", *re.findall(r"Tensor(?:\([^)]*\))? (\w+)", results)}
        reads = False
        for keys, formula in re.findall(r"^ +([\w, ]+): (.*)$", body, re.M):
            if set(keys.split(", ")) <= inputs:
                words = re.findall(r"\w+", formula)
                reads |= any(word in outputs or re.fullmatch(r"result\d", word) for word in words)
        found["aten::" + name] = reads
    return found


def views_in_place(target: Target) -> frozenset[int]:
    """{0} if torch tags the op as one that changes metadata only."""
    import torch

    tagged = []
    for schema in target.schemas:
        if not is_out(schema) and dispatched(schema):
            packet = getattr(torch.ops.aten, schema.name.removeprefix("aten::"))
            tagged.append(torch.Tag.inplace_view in getattr(packet, schema.overload_name or "default").tags)
    if tagged and any(tagged) and not all(tagged):
        raise Contradiction(f"{target.name}: inplace_view on some overloads only")
    return frozenset({0}) if tagged and all(tagged) else frozenset()


@dataclass(frozen=True, slots=True)
class Said:
    """What one overload says about aliasing."""

    overload: str
    writes: frozenset[int]
    shares: frozenset[int]
    """Arguments that a result may alias, without those it returns after writing."""
    wildcard: bool
    """The alias set is one of several, `Tensor(b|a)`: TorchScript's way to say "or a copy"."""
    returns: tuple[str, ...]
    primitive: bool
    """The dispatcher has kernels for it: its annotation is checked by torch itself.  The annotations of composite ops
    are not: `dropout` returns its argument in eval mode and says nothing."""


def said(target: Target) -> list[Said]:
    """What the schemas of a name say, out overloads left out."""
    import torch

    found = []
    for schema in target.schemas:
        if is_out(schema):
            continue
        infos = [argument.alias_info for argument in schema.arguments]
        results = [r.alias_info for r in schema.returns if r.alias_info is not None and not r.alias_info.is_write]
        after = frozenset[str]().union(*(r.after_set for r in results)) - {"*"}
        composite = not dispatched(schema) or torch._C._dispatch_has_kernel_for_dispatch_key(
            qualified(schema), "CompositeImplicitAutograd"
        )
        found.append(
            Said(
                qualified(schema),
                frozenset(k for k, info in enumerate(infos) if info is not None and info.is_write),
                frozenset(
                    k
                    for k, info in enumerate(infos)
                    # `Tensor(a -> *)` goes into a list, which is then returned.
                    if info is not None and not info.is_write and (info.before_set & after or "*" in info.after_set)
                ),
                any(len(r.after_set) > 1 for r in results),
                tuple(str(r.type) for r in schema.returns),
                not composite,
            )
        )
    return found


def check(target: Target, op: Op, ever: frozenset[int], notes: list[str]) -> Op:
    """The row that execution gave, held against the schemas; `ever` are the arguments that some call wrote.

    Execution has the last word where it saw what a schema leaves out.  Raises `Contradiction` where a schema promises
    sharing that no call showed, or where overloads differ and execution did not find the difference.
    """
    overloads = said(target)
    if not overloads:
        return op
    shared = {overload.shares for overload in overloads}
    if len(shared) > 1 and op.result != "maybe":
        raise Contradiction(f"overloads alias {sorted(map(sorted, shared))}, execution found {op.result}, not maybe")
    if frozenset() not in shared and op.result == "fresh":
        raise Contradiction(f"overloads alias {sorted(map(sorted, shared))}, execution saw no sharing")
    if len({overload.writes for overload in overloads}) > 1:
        raise Contradiction("overloads write different arguments")
    metadata = views_in_place(target)
    for position in sorted(overloads[0].writes - metadata - set(op.writes)):
        # torch annotates `requires_grad_` and `retain_grad` as writes, and `dropout_` without its condition.
        how_often = "in some calls" if position in ever else "never"
        notes.append(f"the schema writes {position}, execution did so {how_often}")
    for position in sorted(set(op.writes) - overloads[0].writes):
        raise Contradiction(f"execution wrote {position}, the schemas do not say so")
    may_share = overloads[0].writes.union(*shared)
    if op.result in ("view", "maybe", "same") and op.of not in may_share:
        # Composite ops say nothing (`dropout`), and `unsafe_split` conceals that it makes views.
        notes.append(f"no schema says that the result may have the memory of {op.of}: {op.result}")
    if any(overload.wildcard for overload in overloads) and op.result in ("view", "same"):
        return replace(op, result="maybe")
    return op


def check_formulas(target: Target, op: Op, ever: bool) -> None:
    """Holds what backward minded against the derivative formulas, where every overload has one."""
    formulas = reads_output()
    reads = [formulas.get(overload.overload) for overload in said(target)]
    if not reads or None in reads or op.result == "same":
        return
    if op.saves_output and not any(reads):
        raise Contradiction("backward minds a write to the result, no formula reads it")
    # Of several outputs, the one that is read may be the indices: those are no differentiable result.
    if all(reads) and not ever and op.many == 1:
        raise Contradiction("every formula reads the result, backward never minded a write to it")
