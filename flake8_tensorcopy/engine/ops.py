"""The op table: what each operation of torch does to storage, data and graph.

The table is data: `ops.tsv` beside this module, written by `python -m flake8_tensorcopy.verify.optable` from torch's
own schemas, its derivative formulas and execution, and stamped with the version of torch it was taken from.  This
module only reads it.  torch is never imported.  The text is read at the first look-up and a row is parsed when it is
asked for.

Argument indices count positional parameters from 0; 0 is `self` in a method or property.  A name without a row, or with
the result "other", is unknown: say nothing about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, cast

Form = Literal["method", "property", "function", "module"]
Result = Literal["fresh", "view", "maybe", "same", "host", "array", "none", "other"]
DType = Literal["bool", "int", "same", ""]

COLUMNS: Final = (
    "name",
    "form",
    "result",
    "of",
    "writes",
    "many",
    "dtype",
    "casts",
    "inplace",
    "saves",
    "flags",
)
FLAGS: Final = (
    "out",
    "variadic",
    "overlaps",
    "detaches",
    "saves_output",
    "forbids_inplace",
    "zero_dim",
    "factory",
    "default_dtype",
    "random",
    "permutes",
    "part",
    "layout",
    "reads_data",
    "second_int",
)
STAMP: Final = "# torch "


@dataclass(frozen=True, slots=True)
class Op:
    """One row: one name of torch that a program can call or read.

    The facts hold for the call with its defaults and for every other way of calling it that the generator tried, except
    where `inplace=True` or `out=` is given: then `inplace_flag` and `out_keyword` say what happens.
    """

    name: str
    """Qualified: `Tensor.add_`, `torch.add`, `torch.nn.functional.relu`, `torch.linalg.norm`."""

    form: Form

    result: Result
    """What comes back:

    - "fresh": tensors with storage of their own;
    - "view": tensors that always share the storage of argument `of` (the object itself may come back, as from
      `torch.real` of a real tensor);
    - "maybe": shares the storage of argument `of`, or not, by layout, dtype, device, sizes or mode; never to be
      taken for certain either way;
    - "same": argument `of` itself, the very object, always (in-place ops);
    - "host": a Python value (number, bool, str, tuple, list, size, dtype, device, bound facts such as `is_contiguous`);
    - "array": a NumPy array, which shares the memory of argument `of` unless `of` is -1;
    - "none": None;
    - "other": anything else, or undecided.
    """

    of: int = -1
    """The argument that `result` refers to; -1 if none.  With `variadic`, each output belongs to its own argument."""

    writes: tuple[int, ...] = ()
    """The arguments whose data every call writes.

    Changes of metadata only do not count: `t_`, `squeeze_`, `transpose_`, `detach_`, `rename_`, `requires_grad_`,
    `share_memory_`; nor do `set_`, `resize_` and `resize_as_`, which torch tags so as well: they exchange the memory of
    the tensor and write no element that another tensor would see.  Writes that depend on another argument (the running
    statistics of `batch_norm`, `inplace=True`, `out=`) are not listed.
    """

    inplace_flag: bool = False
    """Takes `inplace=`, and with True writes argument 0 and returns it."""

    inplace_position: int = -1
    """The position of `inplace`; -1 where there is none or it is keyword-only."""

    out_keyword: bool = False
    """Accepts `out=`, which is then written and returned.  (`ihfft2` and `ihfftn` return it unwritten if they transform
    one dimension.)"""

    many: int = 1
    """Tensors that come back: 1; n for a tuple of fixed length; -1 for a list or tuple whose length depends on the call
    (`split`, `chunk`, `unbind`); 0 where one tensor or a tuple comes back, by the arguments (`max`, `median`,
    `unique`), or a tuple that holds tuples (calling a `torch.nn.LSTM`).  1 for results that are no tensors.  For
    modules: of an instance that was made with the defaults of its class."""

    variadic: bool = False
    """Takes any number of tensors as separate arguments (`broadcast_tensors`, `meshgrid`, `atleast_2d`)."""

    overlaps: bool = False
    """Elements of the result may share memory with each other though those of the argument do not (`expand`); also of
    results in place (`as_strided_`) and fresh ones of given strides (`empty_strided`)."""

    detaches: bool = False
    """The result is off the graph, though an argument requires grad: `detach`, `data`, comparisons, `argmax`,
    `zeros_like`, and every Python value or array.  False where no argument is a tensor."""

    saves_output: bool = False
    """Every differentiable call keeps its result for backward: writing to the result breaks backward."""

    saves_inputs: tuple[int, ...] = ()
    """Arguments kept for backward when all tensor arguments require grad and operands that may be numbers are tensors;
    without the argument that the op writes.  Of arguments that may be left out, those that are kept whenever tensors
    are all that is given (the weight of `layer_norm`).  `mul`, `mm` and `linear` keep an operand only if the other one
    requires grad."""

    forbids_inplace: bool = False
    """In-place ops on the results raise under grad mode: they are views of which one op made several."""

    dtype: DType = ""
    """For a float argument: "bool" or "int" (any integer type) if the result (the first one of several) always has that
    dtype; "same" if it always has the dtype of the first tensor argument, whatever that is; "" otherwise."""

    casts: str = ""
    """For a "maybe" op whose result has one dtype, whatever the dtype of argument 0: that dtype as torch names it, so
    "float32" for `float` and "int64" for `long`.  "" otherwise, so for `to` and `type`, which take the dtype."""

    zero_dim: bool = False
    """The result has no dimensions when only the required arguments are given (`sum`, `norm`, `max`, `dot`; losses)."""

    factory: bool = False
    """A function that makes a tensor from no tensor: `zeros`, `arange`, `tensor`, `from_numpy`."""

    default_dtype: bool = False
    """A factory whose result has the default dtype (float32 unless the program changed it) if `dtype` is not given,
    whatever sizes and real numbers it is given: `zeros`, `rand`, `linspace`; not `full`, `arange`, `tensor`, where an
    int gives an int tensor, nor `normal`, which may be given tensors."""

    random: bool = False
    """Draws from the random generator in every call that has something to draw."""

    permutes: bool = False
    """A view of all elements of its argument which some call gives out of memory order, though the argument was in
    memory order (contiguous) and had two dimensions or more: `t`, `permute`, `mT`.  False for calls that only drop or
    add dimensions and for views that may leave elements out (`unfold`, `as_strided`)."""

    part: bool = False
    """A view that may leave elements out: in some call without options each result had fewer elements than its
    argument, and fewer bytes: `narrow`, `select`, `diagonal`, `chunk`, `unfold`, `as_strided`.  Other calls may give
    all elements, as `x.narrow(0, 0, len(x))` does.  Not `real` and `imag`, which have as many elements."""

    layout: bool = False
    """A "maybe" op that goes by the layout alone: without options it keeps the dtype, shares the storage of every
    contiguous argument and copies some that are not contiguous: `contiguous`, `reshape`, `flatten`.  False for what may
    move or cast (`to`, `cpu`, `float`) and for what depends on the mode (`dropout`).  False for modules."""

    reads_data: bool = False
    """A "host" result that depends on the elements of a tensor argument, so that the caller waits for them: `item`,
    `equal`, `is_nonzero`.  False for metadata: `size`, `stride`, `data_ptr`."""

    second_int: bool = False
    """Where two tensors come back, for a float argument, the first one is of a float and the second one of an integer
    type: `topk`, `sort`, `frexp`, `lu_factor`, and `max(dim)`, `unique(return_inverse=True)`, where many is 0; of
    `lu`, where it is -1.  False for modules."""

    @property
    def shares(self) -> bool:
        """The result certainly has the memory of argument `of`."""
        return self.of >= 0 and self.result in ("view", "same", "array")

    @property
    def shrinks(self) -> bool:
        """The result for one tensor takes fewer bytes: a number, bools, the places of the largest elements."""
        return self.zero_dim or self.dtype == "bool" or self.name.endswith((".argmax", ".argmin", ".count_nonzero"))


def method(name: str) -> Op | None:
    """The method or property `name` of `torch.Tensor`, or None."""
    return _row("Tensor." + name)


def function(qualified: str) -> Op | None:
    """The function of that qualified name, or None.

    A class of `torch.nn` has a row of the form "module": what calling an instance does.
    Known modules: `torch`, `torch.nn.functional`, `torch.linalg`, `torch.special`, `torch.fft`.
    `torch.Tensor.add_` is the method, called with `self` as its argument 0.
    """
    if qualified.startswith("torch.Tensor."):
        op = _row(qualified.removeprefix("torch."))
        return op if op is not None and op.form == "method" else None
    return _row(qualified) if qualified.startswith("torch.") else None


def names() -> list[str]:
    """Every qualified name of the table, in its order."""
    return list(_table()[1])


def torch_version() -> str:
    """The version of torch that the table was taken from, without a local part: "2.13.0"."""
    return _table()[0]


def parse(line: str) -> Op:
    """One line of the table.  Raises ValueError if it does not have the columns or knows an unknown word."""
    name, form, result, of, writes, many, dtype, casts, inplace, saves, flags = line.split("\t")
    words = frozenset(flags.split()) - {"-"}
    if not words.issubset(FLAGS):
        raise ValueError(f"{name}: unknown flags {sorted(words.difference(FLAGS))}")
    return Op(
        name=name,
        form=cast(Form, form),
        result=cast(Result, result),
        of=-1 if of == "-" else int(of),
        writes=_indices(writes),
        inplace_flag=inplace != "-",
        inplace_position=-1 if inplace in ("-", "*") else int(inplace),
        out_keyword="out" in words,
        many=int(many),
        variadic="variadic" in words,
        overlaps="overlaps" in words,
        detaches="detaches" in words,
        saves_output="saves_output" in words,
        saves_inputs=_indices(saves),
        forbids_inplace="forbids_inplace" in words,
        dtype=cast(DType, "" if dtype == "-" else dtype),
        casts="" if casts == "-" else casts,
        zero_dim="zero_dim" in words,
        factory="factory" in words,
        default_dtype="default_dtype" in words,
        random="random" in words,
        permutes="permutes" in words,
        part="part" in words,
        layout="layout" in words,
        reads_data="reads_data" in words,
        second_int="second_int" in words,
    )


def render(op: Op) -> str:
    """The line that `parse` reads as `op`."""
    present = {
        "out": op.out_keyword,
        "variadic": op.variadic,
        "overlaps": op.overlaps,
        "detaches": op.detaches,
        "saves_output": op.saves_output,
        "forbids_inplace": op.forbids_inplace,
        "zero_dim": op.zero_dim,
        "factory": op.factory,
        "default_dtype": op.default_dtype,
        "random": op.random,
        "permutes": op.permutes,
        "part": op.part,
        "layout": op.layout,
        "reads_data": op.reads_data,
        "second_int": op.second_int,
    }
    inplace = "-" if not op.inplace_flag else "*" if op.inplace_position < 0 else str(op.inplace_position)
    return "\t".join(
        (
            op.name,
            op.form,
            op.result,
            "-" if op.of < 0 else str(op.of),
            _listed(op.writes),
            str(op.many),
            op.dtype or "-",
            op.casts or "-",
            inplace,
            _listed(op.saves_inputs),
            " ".join(flag for flag in FLAGS if present[flag]) or "-",
        )
    )


def _indices(text: str) -> tuple[int, ...]:
    return () if text == "-" else tuple(int(part) for part in text.split(","))


def _listed(indices: tuple[int, ...]) -> str:
    return ",".join(str(index) for index in indices) or "-"


@cache
def _row(name: str) -> Op | None:
    line = _table()[1].get(name)
    return None if line is None else parse(line)


@cache
def _table() -> tuple[str, dict[str, str]]:
    """The version, and each line by its name."""
    lines = Path(__file__).with_name("ops.tsv").read_text(encoding="utf-8").splitlines()
    stamp, _heading, *rows = lines
    return stamp.removeprefix(STAMP).partition(";")[0], {row[: row.index("\t")]: row for row in rows}
