"""The axes of a tensor as far as the program shows them: sizes as products of names and numbers, strides, their order.

Sizes are symbols: the axis of an argument, a name with its binding, a number.  What is not known is no layout at all,
or an axis of which nothing can be told; a rule speaks only where every symbol is known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.exact import quotient

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.exact import Exact

MAX_AXES = 12


class Size(NamedTuple):
    """A product of numbers and symbols, each with its power."""

    number: Exact
    symbols: frozenset[tuple[Hashable, int]]

    def times(self, other: Size, power: int = 1) -> Size:
        """The product; with power -1 the quotient, which is taken to be exact."""
        powers = dict(self.symbols)
        for symbol, count in other.symbols:
            powers[symbol] = powers.get(symbol, 0) + power * count
        number = self.number * other.number if power > 0 else quotient(self.number, other.number)
        return Size(number, frozenset((symbol, count) for symbol, count in powers.items() if count))

    def where(self, symbol: Hashable, value: Size) -> Size:
        """The product with a symbol replaced."""
        for known, count in self.symbols:
            if known == symbol:
                rest = Size(self.number, self.symbols - {(known, count)})
                for _ in range(abs(count)):
                    rest = rest.times(value, 1 if count > 0 else -1)
                return rest
        return self


def number(value: int) -> Size:
    return Size(value, frozenset())


def symbol(name: Hashable) -> Size:
    return Size(1, frozenset({(name, 1)}))


ONE = number(1)


def product(sizes: Iterable[Size]) -> Size:
    total = ONE
    for size in sizes:
        total = total.times(size)
    return total


class Of(NamedTuple):
    """The size of an axis of something whose shape nobody wrote down; negative positions count from the end."""

    owner: object
    position: int


class More(NamedTuple):
    """The product of the axes that lie between those which are named; there may be none."""

    owner: object
    front: int
    back: int


class Axis(NamedTuple):
    """One axis: its size, its stride, its place in the order of memory."""

    size: Size
    stride: Size
    place: int
    sure: bool = True  # the size is the one said; else a part of it: a slice
    more: More | None = None  # stands for any number of axes


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of a tensor in their order; `turned` is what exchanged them, `dense` whether the strides are known."""

    axes: tuple[Axis, ...]
    turned: object = None
    dense: bool = True

    @property
    def more(self) -> int | None:
        """Where the axes stand that are not named."""
        return next((place for place, axis in enumerate(self.axes) if axis.more is not None), None)

    @property
    def sizes(self) -> tuple[Size, ...] | None:
        """All sizes, if each is known."""
        if self.more is not None or not all(axis.sure for axis in self.axes):
            return None
        return tuple(axis.size for axis in self.axes)

    @property
    def in_order(self) -> bool:
        """Whether the memory is one piece in the order of the axes."""
        return self.dense and self.turned is None and all(axis.sure for axis in self.axes)


def contiguous(sizes: Iterable[Size], dense: bool = True, sure: Iterable[bool] = ()) -> Layout:
    """Axes in the order of memory."""
    given = tuple(sizes)
    certain = (*sure, *[True] * len(given))
    axes = []
    stride = ONE
    for place in range(len(given) - 1, -1, -1):
        axes.append(Axis(given[place], stride, place, certain[place]))
        stride = stride.times(given[place])
    return Layout(tuple(reversed(axes)), dense=dense)


def unnamed(owner: object, dense: bool = True) -> Layout:
    """A tensor of which nothing is known."""
    more = More(owner, 0, 0)
    return Layout((Axis(symbol(more), ONE, 0, more=more),), dense=dense)


def _renamed(layout: Layout, axes: list[Axis], old: More, value: Size) -> Layout:
    return replace(
        layout,
        axes=tuple(
            axis._replace(size=axis.size.where(old, value), stride=axis.stride.where(old, value)) for axis in axes
        ),
    )


def _name_one(layout: Layout, at: int, front: bool) -> Layout:
    """Give a name to one more of the axes that have none: the first or the last of them."""
    old = layout.axes[at]
    assert old.more is not None
    if front:
        more = old.more._replace(front=old.more.front + 1)
        named = symbol(Of(more.owner, old.more.front))
    else:
        more = old.more._replace(back=old.more.back + 1)
        named = symbol(Of(more.owner, -more.back))
    rest = symbol(more)
    outer, inner = (named, rest) if front else (rest, named)
    one = Axis(outer, old.stride.times(inner), 0, more=None if front else more)
    two = Axis(inner, old.stride, 0, more=more if front else None)
    split = [one, two]
    axes: list[Axis] = []
    for place, axis in enumerate(layout.axes):
        for part in split if place == at else [axis]:
            # Room for one more in the order of memory.
            moved = part.place + 1 if axis.place > old.place and place != at else part.place
            if place == at:
                moved = old.place + (part is two)
            axes.append(part._replace(place=moved))
    new = _renamed(layout, [a for i, a in enumerate(axes) if i not in (at, at + 1)], old.more, named.times(rest))
    kept = list(new.axes)
    kept[at:at] = axes[at : at + 2]
    return replace(layout, axes=tuple(kept))


def of_rank(layout: Layout, rank: int) -> Layout | None:
    """The same tensor, known to have so many axes."""
    at = layout.more
    if at is None:
        return layout if len(layout.axes) == rank else None
    if rank > MAX_AXES or len(layout.axes) - 1 > rank:
        return None
    while len(layout.axes) - 1 < rank:
        at = layout.more
        assert at is not None
        layout = _name_one(layout, at, front=True)
    at = layout.more
    assert at is not None
    return without_more(layout)


def without_more(layout: Layout) -> Layout:
    """The same tensor, if there are no other axes than those named."""
    at = layout.more
    if at is None:
        return layout
    more = layout.axes[at].more
    assert more is not None
    return _renamed(layout, [axis for axis in layout.axes if axis.more is None], more, ONE)


def axis_of(layout: Layout, position: int) -> tuple[Layout, int] | None:
    """Where the axis of that number stands, named if it was not yet."""
    at = layout.more
    count = len(layout.axes)
    if at is None:
        index = position if position >= 0 else count + position
        return (layout, index) if 0 <= index < count else None
    if abs(position) > MAX_AXES:
        return None
    if position >= 0:
        while at <= position:
            layout = _name_one(layout, at, front=True)
            at = layout.more
            assert at is not None
        return layout, position
    while len(layout.axes) - 1 - at < -position:
        layout = _name_one(layout, at, front=False)
        at = layout.more
        assert at is not None
    return layout, len(layout.axes) + position


def permuted(layout: Layout, order: list[int], node: object) -> Layout | None:
    """`permute(0, 2, 1)`."""
    known = of_rank(layout, len(order))
    places = [place if place >= 0 else place + len(order) for place in order]
    if known is None or sorted(places) != list(range(len(order))):
        return None
    return _turned(layout, tuple(known.axes[place] for place in places), node)


def exchanged(layout: Layout, one: int, other: int, node: object) -> Layout | None:
    """`transpose(1, 2)`; by one number from each end of an unknown count it may be the same axis."""
    if (one < 0) != (other < 0) and layout.more is not None:
        return None
    farther, nearer = sorted((one, other), key=abs, reverse=True)
    first = axis_of(layout, farther)
    second = axis_of(first[0], nearer) if first is not None else None
    if first is None or second is None:
        return None
    axes = list(second[0].axes)
    axes[first[1]], axes[second[1]] = axes[second[1]], axes[first[1]]
    return _turned(layout, tuple(axes), node)


def moved(layout: Layout, source: int, target: int, node: object) -> Layout | None:
    """`movedim(1, -1)`."""
    found = axis_of(layout, source)
    if found is None:
        return None
    axes = list(found[0].axes)
    axis = axes.pop(found[1])
    place = target if target >= 0 else len(axes) + 1 + target
    at = next((i for i, one in enumerate(axes) if one.more is not None), None)
    if not 0 <= place <= len(axes) or (at is not None and (place > at if target >= 0 else place <= at)):
        return None
    axes.insert(place, axis)
    return _turned(layout, tuple(axes), node)


def _turned(layout: Layout, axes: tuple[Axis, ...], node: object) -> Layout:
    """The axes in another order, which may be the first one again; an axis of size 1 stands anywhere."""
    places = [axis.place for axis in axes if axis.size != ONE]
    turned = None if places == sorted(places) else layout.turned or node
    return Layout(axes, turned, layout.dense)


def inserted(layout: Layout, position: int) -> Layout | None:
    """`unsqueeze(1)`: one more axis, of size 1."""
    count = len(layout.axes)
    at = layout.more
    if at is not None and position > at:
        found = axis_of(layout, position - 1)
        if found is None:
            return None
        layout, count = found[0], len(found[0].axes)
    elif at is not None and position < 0 and count - 1 - at < -1 - position:
        found = axis_of(layout, position + 1)
        if found is None:
            return None
        layout, count = found[0], len(found[0].axes)
    place = position if position >= 0 else count + 1 + position
    if not 0 <= place <= count:
        return None
    axes = list(layout.axes)
    axes.insert(place, Axis(ONE, ONE, -1))
    return replace(layout, axes=tuple(axes))


def dropped(layout: Layout, position: int) -> Layout | None:
    """One axis less: `select`, an index that is a number."""
    found = axis_of(layout, position)
    if found is None:
        return None
    known, index = found
    axes = known.axes[:index] + known.axes[index + 1 :]
    return _turned(known, axes, layout.turned)


def sized(layout: Layout, position: int, size: Size | None) -> Layout | None:
    """One axis of another size: None is a part of it, of which nothing more is known."""
    found = axis_of(layout, position)
    if found is None:
        return None
    axes = list(found[0].axes)
    old = axes[found[1]]
    axes[found[1]] = old._replace(sure=False) if size is None else old._replace(size=size)
    return _turned(found[0], tuple(axes), layout.turned)


def packed(layout: Layout) -> Layout:
    """A copy that keeps the order of memory and leaves nothing between."""
    stride = ONE
    strides: dict[int, Size] = {}
    for index in sorted(range(len(layout.axes)), key=lambda i: -layout.axes[i].place):
        strides[index] = stride
        stride = stride.times(layout.axes[index].size)
    return replace(layout, axes=tuple(axis._replace(stride=strides[index]) for index, axis in enumerate(layout.axes)))


def empty(sizes: Iterable[Size | None]) -> bool:
    """Whether one of the sizes is zero: there is no element that could lie elsewhere."""
    return any(size is not None and not size.number for size in sizes)


def pieces(layout: Layout) -> list[Size]:
    """The sizes of the pieces that lie in memory one after the other: a view may cut these, and join nothing else."""
    found: list[Size] = []
    last: Axis | None = None
    for axis in layout.axes:
        if axis.size == ONE:
            continue
        if last is not None and last.stride == axis.size.times(axis.stride):
            found[-1] = found[-1].times(axis.size)
        else:
            found.append(axis.size)
        last = axis
    return found


def fewest_pieces(layout: Layout) -> int:
    """At least so many pieces, whether there are other axes than those named, or not."""
    return len(pieces(without_more(layout)))


def fits(layout: Layout, sizes: list[Size | None]) -> bool | None:
    """Whether a view of these sizes (None is -1) joins nothing that is apart in memory; None where that is not known.

    Every end of a piece has to be the end of a size.
    """
    if empty(sizes) or empty(axis.size for axis in layout.axes):
        return None
    wanted = [size for size in sizes if size != ONE]
    if len(wanted) < fewest_pieces(layout):
        return None if ONE in sizes and layout.sizes is None else False  # one of the axes may be of size 1
    if layout.sizes is None:
        return None
    total = product(layout.sizes)
    rest = total.times(product(size for size in wanted if size is not None), -1)
    if rest != ONE and None not in wanted:
        return None
    divided = {one for axis in layout.axes for one, power in axis.size.symbols if power < 0}
    if rest.number.denominator != 1 or any(power < 0 and one not in divided for one, power in rest.symbols):
        return None  # sizes that the axes do not explain
    ends = set()
    for given, from_back in ((wanted, False), (wanted[::-1], True)):
        done = ONE
        for size in given:
            if size is None:
                break
            done = done.times(size)
            ends.add(total.times(done, -1) if from_back else done)
    done = ONE
    for piece in pieces(layout)[:-1]:
        done = done.times(piece)
        if done not in ends:
            return False
    return True


def independent(one: Size, other: Size) -> bool:
    """Whether two sizes are surely meant to differ: two numbers, or two axes of one tensor."""
    if not one.symbols and not other.symbols:
        return one.number != other.number
    if one.number != 1 or other.number != 1 or len(one.symbols) != 1 or len(other.symbols) != 1:
        return False
    ((mine, power),) = one.symbols
    ((theirs, other_power),) = other.symbols
    if not isinstance(mine, Of) or not isinstance(theirs, Of) or power != 1 or other_power != 1:
        return False
    return (
        mine.owner is theirs.owner and mine.position != theirs.position and (mine.position < 0) == (theirs.position < 0)
    )
