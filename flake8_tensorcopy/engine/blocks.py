"""Very many tests passed one after the other: their arms are kept in blocks, so that no set of arms grows with them.

After the first `PLAIN` arms, the tests of a long `if` with `elif`s, or of early exits in a row, are put into blocks.
A path that has passed all tests of a block has one arm instead of theirs, "none of these"; a path on which one of them
held has two, that of the test and "one of these".  Blocks are put into blocks in their turn.  What excludes what, and
what two paths have in common, stays as it is without blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flake8_tensorcopy.engine.values import Arm, blocks_around, both_arms

PLAIN = 16  # arms that a path has before blocks are made
BLOCK = 16  # arms in a block, blocks in a block of them

# A comparison of names and numbers.  Tests that say more (of None, kinds, modes, devices) are asked for by their text.
_COMPARISON = re.compile(r"[\w.]+(\[[\w.]+\])?( (==|<|<=|>|>=|in) .+)?")
_TELLING = re.compile(r"\(|None|grad|train|mode|cuda|gpu|debug|enabled|contiguous", re.IGNORECASE)

Arms = frozenset[Arm]


def entered(arms: Arms, arm: Arm) -> Arms:
    """The arms of a path that enters this one."""
    if arm.one_of is not None:
        arms = arms.union(blocks_around(arm.one_of))
    return arms | {arm, *arm.apart}


def passed(arms: Arms, arm: Arm) -> Arms:
    """The arms of a path that goes past a test: of a block that it has passed, that of the block."""
    arms = arms | {arm}
    block = arm.none_of
    while block is not None and len(block.parts) == BLOCK and arms.issuperset(block.parts):
        arms = arms.difference(block.parts) | {block}
        block = block.none_of
    return arms


def denied(arm: Arm, arms: Arms) -> bool:
    """Whether a path with these arms cannot enter this one."""
    return arm.other in arms or any(one.other in arms for one in blocks_around(arm.one_of))


def put_into_block(open_blocks: list[Arm], arms: Arms, yes: Arm, no: Arm) -> list[Arm]:
    """The blocks to go on with, innermost first, where a test is met for the first time on a path with many arms."""
    if yes.met or _TELLING.search(yes.text) or not _COMPARISON.fullmatch(yes.text):
        return open_blocks
    blocks = open_blocks.copy()
    for level in range(len(blocks) + 1):
        known = blocks[level] if level < len(blocks) else None
        if known is not None and len(known.parts) < BLOCK and arms.issuperset(known.parts):
            _add(known, yes, no)
            break
        some, none = both_arms("")
        _add(none, yes, no)
        blocks[level : level + 1] = [none]
        yes, no = some, none
    return blocks


def _add(block: Arm, yes: Arm, no: Arm) -> None:
    block.parts.append(no)
    no.none_of, yes.one_of = block, block.other


def one_each(choices: Sequence[tuple[Arm, Arm]]) -> Iterator[Arms]:
    """For each of some choices, of which a path takes one: its arm, and of the others that they are not taken.

    To be asked once for the same choices.
    """
    if len(choices) <= PLAIN:
        others = frozenset(no for _, no in choices)
        for yes, no in choices:
            yield others - {no} | {yes}
        return
    blocks = [(choices[at : at + BLOCK], both_arms("")) for at in range(0, len(choices), BLOCK)]
    for (part, (_, none)), outside in zip(blocks, one_each([pair for _, pair in blocks]), strict=True):
        for yes, no in part:
            _add(none, yes, no)
        for inside in one_each(part):
            yield inside | outside
