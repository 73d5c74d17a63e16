"""Exact numbers: ints as long as they are whole, so that few files need Python's fractions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from fractions import Fraction

    Exact: TypeAlias = int | Fraction


def is_exact(value: object) -> TypeGuard[Exact]:
    """Whether a value is an int or a Fraction."""
    return hasattr(value, "denominator")


def quotient(one: Exact, other: Exact) -> Exact:
    """One number divided by another one.  Raises ZeroDivisionError."""
    if isinstance(one, int) and isinstance(other, int) and one % other == 0:
        return one // other
    from fractions import Fraction

    return Fraction(one) / other
