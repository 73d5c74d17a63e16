"""
## What it does

Reports `copy.deepcopy(x)` where x is a tensor on the graph that is no leaf, and the line that keeps such a tensor in
what is deep-copied: a list or dict, a module whose `forward` keeps a result in an attribute
(`self.features = self.encoder(x)`) and which was called before it is copied, or one whose constructor computes an
attribute from parameters (`self.weights = self.raw.softmax(0)`).

## Why it is a bug

Torch deep-copies leaves only ("Only Tensors created explicitly by the user support the deepcopy protocol"). The best
model, an average or a checkpoint is then lost at the first copy after a training step, far from the line that kept
the tensor. The kept tensor also keeps the graph of its step alive.

## Example

```python
import copy

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.features = self.encoder(x)
        return self.features.sum()


def best_of_one(x: torch.Tensor) -> Net:
    net = Net()
    net(x).backward()
    return copy.deepcopy(net)
```

## Write instead

```python
import copy

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.encoder(x)
        self.features = features.detach()
        return features.sum()


def best_of_one(x: torch.Tensor) -> Net:
    net = Net()
    net(x).backward()
    return copy.deepcopy(net)
```

## Fix

What is kept, or copied, is detached; what reads it in the same method goes on with a local name. Unsafe: the copy is
off the graph. None where other functions read what is kept, for they may want its gradient.

## Limits

Silent where what is kept is detached, computed under `torch.no_grad()`, or reset before the copy; where the module
whose `forward` keeps it was not called before; and where it is not proven that the tensor is on the graph.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
- https://docs.python.org/3/library/copy.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import CopiedGraph

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.edits import Editor, Edits
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[CopiedGraph], region: Region) -> Iterator[Finding]:
    for fact in facts:
        line = region.line(fact.copied)
        if fact.direct:
            message = f"`{fact.name}` is on the graph and no leaf: torch refuses to deep-copy it; detach it first"
        else:
            message = (
                f"`{fact.name}` keeps a tensor on the graph: torch refuses the deep copy of `{fact.owner}` on line "
                f"{line}; keep `.detach()` of it"
            )
        steps = (
            region.step(fact.site, f"`{fact.name}` is on the graph"),
            region.step(fact.copied, f"`{fact.owner}` is deep-copied"),
        )
        fix = region.edit.fix("Keep it detached", _detached(fact, region.edit), safe=False)
        yield Finding(region.span(fact.site), "TSC416", message, steps, fix=fix)


def _detached(fact: CopiedGraph, edit: Editor) -> Edits | None:
    """What is kept loses its graph, and what is computed from it in the method does not."""
    if fact.direct or fact.reads == ():
        return edit.method(fact.kept, ".detach()")
    match fact.site:
        case ast.Assign(targets=[ast.Attribute(attr=name) as target]) if fact.reads and fact.name_free:
            others = [edit.replace(read, name) for read in fact.reads]
            kept = edit.after(fact.site, f"{edit.text(target)} = {name}.detach()")
            return edit.join(edit.replace(target, name), kept, *others)
    return None


RULE = Rule(
    code="TSC416",
    name="deepcopy-of-nonleaf",
    summary="a tensor on the graph is deep-copied",
    kinds=("CopiedGraph",),
    check=check,
    fix="unsafe",
    preview=True,
)
