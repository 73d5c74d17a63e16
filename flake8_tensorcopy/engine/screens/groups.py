"""Groups of what may share storage: joined when one may be the other, with the groups of what they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterable

NOTHING: frozenset[str] = frozenset()

# What is known of some member of a group.
ARGUMENT = 1  # given by a caller
ATTRIBUTE = 2  # held by an object
GLOBAL = 4
CONVERTED = 8  # by what shares or copies, as the case may be; between torch and NumPy
VIEWED = 16  # a part or view of another one
EXPANDED = 32
LEAF = 64  # may be a parameter
SEVERAL = 128  # one of several views: of `chunk`, of a loop, of an unpacking
JOINED = 256  # one of several, as a test decides
ITEM = 512  # taken by a number
PUT = 1024  # put into a list or dict
YIELDED = 2048
OBTAINED = 4096  # what a method returned of what its object holds
GRADIENT = 8192
ARRAY = 16384
KEYED = 32768  # taken by a text
HOLDER = 65536  # an object that was given it may be reached through any attribute

MAX_REACHED = 64

OUTSIDE = ARGUMENT | ATTRIBUTE | GLOBAL


class Group:
    """A storage or object, or several that cannot be told apart; `find` gives the one that stands for it."""

    __slots__ = ("above", "collapsed", "container", "fields", "flags", "loops", "made", "tensor")

    def __init__(
        self, flags: int = 0, made: frozenset[str] = NOTHING, container: bool = False, tensor: bool = False
    ) -> None:
        self.above: Group | None = None
        self.fields: dict[str, Group] = {}
        self.flags = flags
        self.made = made  # classes of this file that it may be an object of, and marks
        self.collapsed = False  # its items are not told apart from itself
        self.container = container  # this very one was made as a list, tuple, dict or set
        self.tensor = tensor  # this very one is the result of an operation of torch
        self.loops: frozenset[int] = frozenset()  # this very one is made anew in each pass of these


Groups = tuple[Group, ...]


def find(group: Group) -> Group:
    """What stands for a group."""
    while (above := group.above) is not None:
        if above.above is not None:
            group.above = above.above
        group = above
    return group


def join(groups: Iterable[Group]) -> None:
    """Make one group of several, and of the fields that they have in common."""
    pending: list[tuple[Group, Group]] = []
    first: Group | None = None
    for group in groups:
        if first is None:
            first = group
        else:
            pending.append((first, group))
    while pending:
        one, other = map(find, pending.pop())
        if one is other:
            continue
        if one.container and not other.container:
            one, other = other, one  # what stands for both is no list for certain
        other.above = one
        one.flags |= other.flags
        one.made |= other.made
        for key, held in other.fields.items():
            if key in one.fields:
                pending.append((one.fields[key], held))
            else:
                one.fields[key] = held
        other.fields = {}
        if one.collapsed or other.collapsed:
            one.collapsed = True
            pending += _items(one)


def _items(group: Group) -> list[tuple[Group, Group]]:
    """Take the items out of the fields, to be joined with the group itself."""
    keys = [key for key in group.fields if key[0] == "["]
    return [(group, group.fields.pop(key)) for key in keys]


def collapse(group: Group) -> Group:
    """The group that stands for any item: an index that is not known may be that of any."""
    group = find(group)
    if not group.collapsed:
        group.collapsed = True
        for one, other in _items(group):
            join((one, other))
    return find(group)


def element(group: Group) -> Group:
    """Any item of a group, or part of it: no container itself, as far as is known."""
    top = collapse(group)
    if not top.container:
        return top
    part = Group()
    part.above = top
    return part


def field(group: Group, key: str, flags: int = 0, made: frozenset[str] = NOTHING) -> Group:
    """What a group holds under a key: `.name`, or `[key]` of an item."""
    group = find(group)
    if group.collapsed and key[0] == "[":
        return group
    held = group.fields.get(key)
    if held is None:
        held = group.fields[key] = Group(group.flags & OUTSIDE | flags, made)
    return find(held)


def key_of(index: ast.Constant) -> str:
    """What an item is called; Python writes no number of more than some thousands of digits."""
    key = index.value
    return f"[{hex(key)}]" if isinstance(key, int) and key.bit_length() > 64 else f"[{key!r}]"


def reached(group: Group) -> list[Group]:
    """A group and all that it holds, as far as that is known."""
    top = find(group)
    if not top.fields:
        return [top]
    found = [top]
    seen = {top}
    for one in found:  # the list grows meanwhile
        if len(found) > MAX_REACHED:
            break
        for held in one.fields.values():
            inner = find(held)
            if inner not in seen:
                seen.add(inner)
                found.append(inner)
    return found
