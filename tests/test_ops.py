"""The op table: its reader, facts that must be in it, and its agreement with torch itself where torch is installed."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.ops import Op
from tests.conftest import ROOT

SAVED = Path(__file__).parent / "data" / "saved_for_backward.tsv"
SAVED_BY_GRAD = Path(__file__).parent / "data" / "saved_for_backward_conditional.tsv"
NN = "torch.nn.functional."


def get(name: str) -> Op:
    """The row of `Tensor.x` or `torch...x`."""
    op = ops.method(name.removeprefix("Tensor.")) if name.startswith("Tensor.") else ops.function(name)
    assert op is not None, name
    return op


# ----------------------------------------------------------------------------------------------------------- the reader


def test_method_and_function_are_told_apart() -> None:
    assert get("Tensor.unfold").name == "Tensor.unfold"
    assert ops.method("torch.add") is None
    assert ops.method("relu6") is None, "F.relu6 is no method"
    assert ops.function("Tensor.add") is None
    assert ops.function("add") is None
    assert ops.function("torch.no_such_op") is None
    assert ops.method("no_such_op") is None
    assert ops.method("__getitem__") is None, "x[mask] is no op of the table"


def test_an_unbound_method_is_the_method() -> None:
    assert ops.function("torch.Tensor.add_") is ops.method("add_")
    assert ops.function("torch.Tensor.data") is None, "a property cannot be called"


def test_the_forms() -> None:
    assert {get(name).form for name in ("Tensor.T", "Tensor.data", "Tensor.shape", "Tensor.grad")} == {"property"}
    assert get("Tensor.t").form == "method"
    assert get("torch.t").form == "function"
    assert get("torch.nn.ReLU").form == "module"


def test_rows_are_read_once() -> None:
    assert ops.method("add_") is ops.method("add_")


def test_every_line_is_what_the_renderer_writes() -> None:
    lines = (ROOT / "flake8_tensorcopy/engine/ops.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith(ops.STAMP)
    assert tuple(lines[1].split("\t")) == ops.COLUMNS
    assert [ops.render(ops.parse(line)) for line in lines[2:]] == lines[2:]
    assert ops.names() == sorted(set(ops.names()))
    assert len(ops.names()) > 1400


def test_the_columns_hold_what_the_reader_documents() -> None:
    for name in ops.names():
        op = get(name)
        assert op.form in ("method", "property", "function", "module")
        assert op.result in ("fresh", "view", "maybe", "same", "host", "array", "none", "other")
        assert op.dtype in ("bool", "int", "same", "")
        assert (op.of >= 0) == (op.result in ("view", "maybe", "same", "array")), name
        assert op.many >= -1 and (op.many == 1 or op.result in ("fresh", "view", "maybe")), name
        assert op.inplace_flag or op.inplace_position == -1
        assert op.result != "same" or op.of not in op.saves_inputs, name
        if op.form != "function":
            assert not op.factory and not op.out_keyword, name
        assert not (op.permutes or op.part) or op.result == "view", name
        assert not (op.permutes and op.part), name
        assert not (op.layout or op.casts) or op.result == "maybe", name
        assert not (op.layout and op.casts), name
        assert not op.reads_data or op.result == "host", name
        # `lu` gives two tensors or three, always in a tuple.
        assert not op.second_int or op.many in ((-1,) if name in ("Tensor.lu", "torch.lu") else (0, 2)), name
        assert not op.default_dtype or (op.factory and op.result == "fresh"), name
        assert re.fullmatch(r"(bool|b?float\d+|u?int\d+|complex\d+)?", op.casts), name


@pytest.mark.parametrize(
    "line",
    [
        "torch.x\tfunction\tfresh",
        "torch.x\tfunction\tfresh\t-\t-\t1\t-\t-\t-\t-\tno_such_flag",
        "torch.x\tfunction\tfresh\t-\tzero\t1\t-\t-\t-\t-\t-",
        "torch.x\tfunction\tfresh\t-\t-\t1\t-\t-\t-\t-",
    ],
)
def test_a_bad_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        ops.parse(line)


def test_a_good_line_is_read() -> None:
    line = "torch.x\tfunction\tmaybe\t0\t-\t1\t-\tint8\t-\t-\tfactory layout"
    assert ops.parse(line) == Op("torch.x", "function", "maybe", 0, factory=True, layout=True, casts="int8")


def test_the_stamp() -> None:
    version = ops.torch_version()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)


def test_the_reader_does_not_import_torch() -> None:
    code = "import sys; from flake8_tensorcopy.engine import ops; ops.method('add_'); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


# -------------------------------------------------------------------------------------- facts that must be in the table

FRESH = """Tensor.clone Tensor.diag Tensor.index_select Tensor.flip Tensor.repeat Tensor.gather Tensor.masked_select
    Tensor.add Tensor.relu Tensor.repeat_interleave Tensor.masked_fill Tensor.roll Tensor.tril Tensor.new_tensor
    torch.clone torch.diag torch.flip torch.where torch.cat torch.stack torch.add torch.tensor torch.zeros_like
    torch.nn.functional.unfold torch.nn.functional.relu torch.nn.functional.pad torch.nn.functional.embedding
    torch.nn.functional.interpolate torch.nn.functional.linear torch.nn.functional.softmax torch.linalg.inv
    torch.fft.fft torch.special.expit torch.expand_copy"""
VIEW = """Tensor.view Tensor.view_as Tensor.transpose Tensor.permute Tensor.t Tensor.T Tensor.mT Tensor.H Tensor.data
    Tensor.detach Tensor.diagonal Tensor.unfold Tensor.expand Tensor.expand_as Tensor.squeeze Tensor.unsqueeze
    Tensor.narrow Tensor.select Tensor.chunk Tensor.split Tensor.unbind Tensor.unflatten Tensor.real Tensor.as_strided
    torch.detach torch.transpose torch.chunk torch.split torch.unbind torch.broadcast_tensors torch.meshgrid
    torch.atleast_2d torch.from_numpy torch.frombuffer torch.diagonal torch.narrow"""
MAYBE = """Tensor.reshape Tensor.reshape_as Tensor.flatten Tensor.ravel Tensor.contiguous Tensor.to Tensor.cpu
    Tensor.cuda Tensor.float Tensor.half Tensor.double Tensor.bfloat16 Tensor.long Tensor.int Tensor.bool Tensor.type
    Tensor.type_as Tensor.resolve_conj Tensor.new torch.reshape torch.flatten torch.ravel torch.as_tensor
    torch.asarray torch.from_dlpack torch.dropout torch.nn.functional.dropout torch.nn.functional.dropout2d
    torch.nn.functional.alpha_dropout torch.nn.functional.feature_alpha_dropout torch.einsum"""
WRITES = """Tensor.add_ Tensor.mul_ Tensor.copy_ Tensor.zero_ Tensor.fill_ Tensor.clamp_ Tensor.relu_ Tensor.index_add_
    Tensor.scatter_ Tensor.masked_fill_ Tensor.index_put_ Tensor.normal_ Tensor.uniform_ Tensor.apply_ Tensor.map_
    Tensor.fill_diagonal_ Tensor.sigmoid_ torch.relu_ torch.nn.functional.relu_ torch.nn.functional.leaky_relu_
    torch.nn.functional.elu_ torch.nn.functional.hardtanh_ torch.index_put_"""
METADATA = """Tensor.t_ Tensor.transpose_ Tensor.squeeze_ Tensor.unsqueeze_ Tensor.swapaxes_ Tensor.as_strided_
    Tensor.detach_ Tensor.requires_grad_ Tensor.set_ Tensor.resize_ Tensor.share_memory_"""
HOST = """Tensor.item Tensor.tolist Tensor.size Tensor.dim Tensor.shape Tensor.dtype Tensor.device Tensor.data_ptr
    Tensor.is_contiguous Tensor.stride Tensor.numel Tensor.nbytes Tensor.is_leaf Tensor.requires_grad torch.numel
    torch.equal torch.allclose torch.is_tensor"""


@pytest.mark.parametrize("name", FRESH.split())
def test_fresh(name: str) -> None:
    op = get(name)
    assert (op.result, op.of, op.writes, op.shares) == ("fresh", -1, (), False)


@pytest.mark.parametrize("name", VIEW.split())
def test_view(name: str) -> None:
    op = get(name)
    assert (op.result, op.of, op.writes, op.shares) == ("view", 0, (), True)


@pytest.mark.parametrize("name", MAYBE.split())
def test_maybe(name: str) -> None:
    op = get(name)
    assert (op.result, op.writes, op.shares) == ("maybe", (), False)


@pytest.mark.parametrize("name", WRITES.split())
def test_writes_and_returns_its_argument(name: str) -> None:
    op = get(name)
    assert (op.result, op.of, op.writes) == ("same", 0, (0,))


@pytest.mark.parametrize("name", METADATA.split())
def test_metadata_is_not_data(name: str) -> None:
    op = get(name)
    assert (op.result, op.of, op.writes) == ("same", 0, ())


@pytest.mark.parametrize("name", HOST.split())
def test_host(name: str) -> None:
    op = get(name)
    assert (op.result, op.of, op.writes, op.many) == ("host", -1, (), 1)


def test_arrays() -> None:
    numpy = get("Tensor.numpy")
    assert (numpy.result, numpy.of, numpy.detaches, numpy.shares) == ("array", 0, True, True)
    assert get("Tensor.__array__").result == "array"


def test_overlaps() -> None:
    names = "Tensor.expand Tensor.expand_as Tensor.broadcast_to Tensor.unfold Tensor.as_strided torch.broadcast_to"
    for name in [*names.split(), "torch.broadcast_tensors", "torch.meshgrid", "torch.as_strided"]:
        assert get(name).overlaps, name
    for name in [
        "Tensor.view",
        "Tensor.repeat",
        NN + "unfold",
        "torch.atleast_2d",
        "Tensor.transpose",
        "Tensor.reshape",
    ]:
        assert not get(name).overlaps, name


def test_in_place_flags() -> None:
    positions = {"relu": 1, "relu6": 1, "silu": 1, "mish": 1, "hardswish": 1, "leaky_relu": 2, "elu": 2, "celu": 2}
    positions |= {"dropout": 3, "dropout2d": 3, "alpha_dropout": 3, "hardtanh": 3, "threshold": 3, "rrelu": 4}
    for name, position in positions.items():
        op = get(NN + name)
        assert op.inplace_flag and op.inplace_position == position, name
        assert op.writes == (), "without the flag nothing is written"
    for name in ("gelu", "softmax", "linear", "sigmoid"):
        assert not get(NN + name).inplace_flag, name


def test_out_keyword() -> None:
    for name in ("torch.add", "torch.mm", "torch.topk", "torch.exp", "torch.cat", "torch.empty", "torch.linalg.inv"):
        assert get(name).out_keyword, name
    for name in ("torch.relu", "torch.clone", "torch.zeros_like", "torch.isnan", "torch.as_tensor", NN + "relu"):
        assert not get(name).out_keyword, name


def test_many() -> None:
    expected = {"Tensor.topk": 2, "Tensor.sort": 2, "torch.svd": 3, "torch.linalg.slogdet": 2, "torch.std_mean": 2}
    expected |= {"Tensor.chunk": -1, "Tensor.split": -1, "Tensor.unbind": -1, "torch.broadcast_tensors": -1}
    expected |= {"torch.meshgrid": -1, "Tensor.max": 0, "Tensor.unique": 0, "torch.where": 0, "Tensor.sum": 1}
    assert {name: get(name).many for name in expected} == expected


def test_variadic() -> None:
    variadic = {name for name in ops.names() if get(name).variadic}
    assert variadic == {
        *("torch.atleast_1d", "torch.atleast_2d", "torch.atleast_3d", "torch.block_diag", "torch.broadcast_tensors"),
        *("torch.cartesian_prod", "torch.chain_matmul", "torch.einsum", "torch.meshgrid"),
    }
    assert get("torch.einsum").of == 1, "the equation comes first"


def test_forbids_inplace() -> None:
    forbidding = {name.rpartition(".")[2] for name in ops.names() if get(name).forbids_inplace}
    assert {"chunk", "split", "unbind"} <= forbidding
    assert not forbidding & {"view", "expand", "transpose", "narrow", "unsafe_chunk", "unsafe_split", "meshgrid"}


def test_detaches() -> None:
    for name in ("Tensor.detach", "Tensor.data", "Tensor.detach_", "torch.zeros_like", "Tensor.argmax", "torch.isnan"):
        assert get(name).detaches, name
    for name in ("Tensor.clone", "Tensor.to", "Tensor.view", "torch.add", NN + "relu", "torch.zeros"):
        assert not get(name).detaches, name


def test_dtypes() -> None:
    for name in (
        "torch.isnan",
        "torch.eq",
        "Tensor.lt",
        "torch.logical_and",
        "torch.isfinite",
        "Tensor.bool",
        "torch.isin",
    ):
        assert get(name).dtype == "bool", name
    for name in ("Tensor.argmax", "Tensor.argsort", "torch.nonzero", "Tensor.long", "Tensor.int", "torch.searchsorted"):
        assert get(name).dtype == "int", name
    for name in ("Tensor.clone", "Tensor.reshape", "Tensor.add_", "torch.relu"):
        assert get(name).dtype == "same", name
    for name in ("Tensor.sum", "Tensor.mean", "torch.exp", "Tensor.view"):
        assert get(name).dtype == "", name


def test_zero_dim() -> None:
    for name in ("sum", "mean", "max", "min", "prod", "norm", "std", "var", "median", "any", "all", "argmax", "trace"):
        assert get("Tensor." + name).zero_dim and get("torch." + name).zero_dim, name
    for name in ("mse_loss", "cross_entropy", "nll_loss", "l1_loss", "kl_div", "binary_cross_entropy", "ctc_loss"):
        assert get(NN + name).zero_dim, name
    for name in ("Tensor.cumsum", "Tensor.relu", "Tensor.softmax", NN + "relu", NN + "cosine_similarity", "torch.mm"):
        assert not get(name).zero_dim, name


def test_factories() -> None:
    for name in "zeros ones empty full rand randn arange linspace eye tensor as_tensor from_numpy frombuffer".split():
        assert get("torch." + name).factory, name
    for name in ("torch.zeros_like", "torch.add", "Tensor.new_zeros", "torch.cat"):
        assert not get(name).factory, name


def bare_names(holds: Callable[[Op], object], owner: str = "") -> set[str]:
    """The last parts of the names whose rows satisfy a condition, of one owner or of all."""
    found = {name.rpartition(".") for name in ops.names() if holds(get(name))}
    return {bare for prefix, _, bare in found if owner in ("", prefix)}


def test_default_dtype() -> None:
    sizes = {"zeros", "ones", "empty", "rand", "randn", "eye", "linspace", "logspace", "empty_strided", "hann_window"}
    found = bare_names(lambda op: op.default_dtype)
    assert sizes <= found
    assert not found & {"full", "arange", "tensor", "as_tensor", "asarray", "randint", "randperm", "normal"}
    assert not found & {"from_numpy", "frombuffer", "tril_indices", "zeros_like", "new_zeros"}


def test_permutes() -> None:
    names = {"t", "transpose", "permute", "swapaxes", "swapdims", "movedim", "moveaxis", "adjoint"}
    assert bare_names(lambda op: op.permutes, "torch") == names
    assert bare_names(lambda op: op.permutes, "Tensor") == names | {"T", "mT", "H", "mH"}


def test_part() -> None:
    names = {"narrow", "select", "diagonal", "unbind", "chunk", "split", "split_with_sizes", "tensor_split"}
    names |= {"hsplit", "vsplit", "dsplit", "as_strided"}
    assert names <= bare_names(lambda op: op.part, "torch")
    assert names | {"unfold"} <= bare_names(lambda op: op.part, "Tensor")
    for name in ("view", "expand", "broadcast_to", "squeeze", "unsqueeze", "detach", "data", "real", "imag", "T"):
        assert not get("Tensor." + name).part, name
    assert not get("torch.view_as_complex").part, "half as many elements, each of them twice as long"


def test_layout() -> None:
    names = {"reshape", "flatten", "ravel"}
    assert bare_names(lambda op: op.layout, "torch") == names
    assert bare_names(lambda op: op.layout, "Tensor") == names | {"contiguous", "reshape_as", "resize", "resize_as"}


def test_reads_data() -> None:
    names = {"equal", "allclose", "is_nonzero"}
    assert bare_names(lambda op: op.reads_data, "Tensor") == names | {"item", "tolist"}
    assert names <= bare_names(lambda op: op.reads_data, "torch")
    for name in ("size", "dim", "stride", "numel", "is_contiguous", "data_ptr", "is_set_to", "is_shared", "get_device"):
        assert not get("Tensor." + name).reads_data, name


def test_second_int() -> None:
    for name in "topk sort max min mode median nanmedian kthvalue cummax cummin unique frexp".split():
        assert get("Tensor." + name).second_int and get("torch." + name).second_int, name
    for name in ("torch.linalg.lu_factor", "torch.linalg.inv_ex", NN + "max_pool2d", NN + "max_pool2d_with_indices"):
        assert get(name).second_int, name
    for name in ("torch.aminmax", "torch.std_mean", "torch.linalg.slogdet", "torch.qr", "torch.where", "torch.split"):
        assert not get(name).second_int, name


def test_casts() -> None:
    given = {name.rpartition(".")[2]: get(name).casts for name in ops.names() if get(name).casts}
    floats = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}
    integers = {"byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "bool": "bool"}
    complexes = {"chalf": "complex32", "cfloat": "complex64", "cdouble": "complex128"}
    assert given == floats | integers | complexes | {"dequantize": "float32"}


def test_modules_with_several_outputs() -> None:
    several = {name: get(name).many for name in ops.names() if get(name).form == "module" and get(name).many != 1}
    names = {"RNN": 2, "GRU": 2, "LSTM": 0, "LSTMCell": 2, "MultiheadAttention": 2, "AdaptiveLogSoftmaxWithLoss": 2}
    assert several == {f"torch.nn.{name}": many for name, many in names.items()}
    assert get("torch.nn.GRUCell").many == get("torch.nn.Linear").many == 1


def test_random() -> None:
    for name in (
        "torch.rand",
        "torch.randn",
        "Tensor.normal_",
        "Tensor.uniform_",
        "torch.multinomial",
        "torch.randperm",
    ):
        assert get(name).random, name
    for name in ("torch.zeros", "torch.add", NN + "dropout", "torch.empty"):
        assert not get(name).random, name


# --------------------------------------------------------------------------------------------------- saved for backward

NUCLEAR = "the nuclear norm keeps the decomposition instead"
CONDITIONAL = {
    ("Tensor.pow", "tensor,tensor"): "pow keeps its result only where the exponent is a tensor",
    ("torch.pow", "scalar base"): "pow keeps its result only where the exponent is a tensor",
    ("Tensor.max", "-"): "max() keeps its result, max(dim) keeps the indices",
    (NN + "gumbel_softmax", "-"): "hard=True returns another tensor than the softmax that is kept",
    (NN + "scaled_dot_product_attention", "-"): "only the fused kernel keeps it, for four dimensions without dropout",
    ("torch.linalg.norm", "-"): NUCLEAR,
    ("Tensor.norm", "p=2"): NUCLEAR,
    ("Tensor.norm", "p=1"): NUCLEAR,
}


def measured() -> list[tuple[str, str, bool]]:
    """Name, variant and whether the result is kept, from the measurements."""
    lines = [line for line in SAVED.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines[1:]]
    return [(name, "-" if variant in ("", "-") else variant, saves == "yes") for name, variant, saves, _ in rows]


def disagreements(table: Callable[[str], Op]) -> list[tuple[str, str]]:
    """Where the table and the measurements differ on `saves_output`."""
    return [(name, variant) for name, variant, saves in measured() if table(name).saves_output != saves]


def test_saved_outputs_agree_with_the_measurements() -> None:
    found = disagreements(get)
    for name, variant in found:
        print(name, variant, "table:", get(name).saves_output, CONDITIONAL.get((name, variant), "UNEXPLAINED"))
    assert len(measured()) > 230
    assert sorted(found) == sorted(CONDITIONAL)


@pytest.mark.parametrize("name", ["torch.exp", "torch.tanh", "Tensor.add", NN + "softmax", "Tensor.logsumexp"])
def test_a_flipped_saved_output_is_noticed(name: str) -> None:
    def flipped(asked: str) -> Op:
        op = get(asked)
        return replace(op, saves_output=not op.saves_output) if asked == name else op

    assert name in {found for found, _ in disagreements(flipped)}


# Where the tensors among the arguments do not lie at the front: the position of each.
PLACES = {
    "torch.einsum": (1, 2),
    NN + "batch_norm": (0, 3, 4),
    NN + "layer_norm": (0, 2, 3),
    NN + "group_norm": (0, 2, 3),
    NN + "rms_norm": (0, 2),
}
NUMBER = "a number stood for an operand that may be a tensor"
ITSELF = "the argument that an in-place op wrote is its result"
KEY = "an index, a mask, a target or lengths: only float arguments were written to"
LEFT = "an argument was left out that may be given"
INPUTS = {
    **{("Tensor.clamp", "min,max"): NUMBER, ("Tensor.clamp_min", "-"): NUMBER, ("Tensor.clamp_", "-"): NUMBER},
    **{("Tensor.pow", power): NUMBER for power in ("scalar 2", "0.5")},
    **{(f"Tensor.{op}", "scalar"): NUMBER for op in ("mul", "div", "lerp", "lerp_")},
    **{(f"Tensor.{op}_", "2"): NUMBER for op in ("mul", "pow")},
    ("torch.pow", "scalar base"): NUMBER,
    **{(f"{NN}{op}_", "-"): ITSELF for op in ("relu", "leaky_relu", "elu", "selu", "celu")},
    **{(f"Tensor.{op}_", "-"): ITSELF for op in ("sigmoid", "tanh", "exp", "sqrt")},
    **{(f"Tensor.{op}", "-"): KEY for op in ("index_select", "gather", "take_along_dim", "masked_fill")},
    **{("Tensor.masked_select", "-"): KEY, ("Tensor.scatter", "src"): KEY, ("Tensor.scatter_add", "-"): KEY},
    **{(NN + "embedding", "-"): KEY, (NN + "embedding_bag", "mean"): KEY, (NN + "ctc_loss", "-"): KEY},
    **{(NN + op, "-"): KEY for op in ("nll_loss", "soft_margin_loss")},
    **{(NN + op, "-"): LEFT for op in ("mse_loss", "l1_loss", "huber_loss")},
    (NN + "cross_entropy", "-"): "a target of classes was given, and no weight",
    (NN + "cross_entropy", "prob target"): LEFT,
    ("Tensor.matmul", "3d,2d"): "matrices of equal rank are kept both, a batch of the first is kept by another shape",
    ("Tensor.max", "dim"): "max(dim) and max() are one row, and so is max(other), which keeps both",
    ("Tensor.max", "-"): "max(dim) and max() are one row, and so is max(other), which keeps both",
    ("Tensor.median", "-"): "median(dim) was measured, median() keeps its argument",
    (NN + "adaptive_avg_pool2d", "2"): "to a size of 1 it is a mean, which keeps nothing",
    (NN + "scaled_dot_product_attention", "-"): "broadcast operands are copied",
}


def inputs_measured() -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Name, variant and the positions of the arguments that are kept."""
    for line in SAVED.read_text(encoding="utf-8").splitlines():
        if not line.startswith(("#", "name\t")):
            name, variant, _, kept = line.split("\t")
            yield name, variant or "-", positions(name, kept)


def positions(name: str, kept: str) -> tuple[int, ...]:
    """Positions among the parameters, from those among the tensors."""
    return tuple(PLACES.get(name, range(9))[int(k)] for k in kept.split(",") if k != "-")


def test_saved_inputs_agree_with_the_measurements() -> None:
    rows = list(inputs_measured())
    found = {(name, variant) for name, variant, kept in rows if get(name).saves_inputs != kept}
    assert len(rows) > 230
    assert found == set(INPUTS)


def by_grad() -> dict[tuple[str, str], dict[str, tuple[tuple[int, ...], bool]]]:
    """What is kept, arguments by position and the result, by what requires grad, for each name and variant."""
    found: dict[tuple[str, str], dict[str, tuple[tuple[int, ...], bool]]] = {}
    for line in SAVED_BY_GRAD.read_text(encoding="utf-8").splitlines():
        if not line.startswith(("#", "name\t")):
            name, variant, mask, kept, result = line.split("\t")
            found.setdefault((name, variant), {})[mask] = (positions(name, kept), result == "yes")
    return found


def test_what_is_kept_by_what_requires_grad_agrees_with_the_table() -> None:
    """The table says what is kept when all operands require grad; with fewer of them nothing more is."""
    rows = by_grad()
    assert sum(map(len, rows.values())) == 126
    inputs, outputs = set(), set()
    for (name, variant), masks in rows.items():
        whole = max(masks, key=lambda mask: mask.count("R"))
        if masks[whole][0] != get(name).saves_inputs:
            inputs.add((name, variant))
        for kept, result in masks.values():
            assert set(kept) <= set(masks[whole][0]), (name, variant)
            if result != get(name).saves_output:
                outputs.add((name, variant))
    attention = (NN + "scaled_dot_product_attention", "-")
    assert inputs == {("Tensor.matmul", "3d,2d"), (NN + "mse_loss", "-"), attention} <= set(INPUTS)
    assert outputs == {("Tensor.pow", "tensor,tensor"), attention} <= set(CONDITIONAL)


def test_operands_that_are_kept_for_each_other() -> None:
    """`mul`, `mm`, `linear` keep an operand only if another one requires grad; `conv2d` and norms keep all."""
    rows = by_grad()
    kept = {name: {mask: found[0] for mask, found in masks.items()} for (name, _), masks in rows.items()}
    for name in ("Tensor.mul", "Tensor.mm"):
        assert kept[name] == {"RR": (0, 1), "R-": (1,), "-R": (0,)}
    assert kept[NN + "linear"]["--R"] == ()
    for name in (NN + "conv2d", NN + "layer_norm", NN + "batch_norm", "Tensor.pow"):
        assert len(set(kept[name].values())) == 1, name


def test_saved_inputs() -> None:
    expected = {"Tensor.mul": (0, 1), "torch.mm": (0, 1), "torch.sin": (0,), "torch.exp": (), "Tensor.add": ()}
    expected |= {"Tensor.mul_": (1,), NN + "linear": (0, 1), NN + "conv2d": (0, 1), NN + "layer_norm": (0, 2, 3)}
    expected |= {"torch.where": (0,), "torch.cat": (), "Tensor.masked_fill": (1,), NN + "mse_loss": (0, 1, 5)}
    assert {name: get(name).saves_inputs for name in expected} == expected


# -------------------------------------------------------------------------------------------------------- against torch

torch_only = pytest.mark.torch


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


@torch_only
def test_every_public_method_and_property_has_a_row(torch: Any) -> None:
    same_version(torch)
    missing = [name for name in dir(torch.Tensor) if not name.startswith("_") and ops.method(name) is None]
    assert missing == []


@torch_only
def test_every_function_has_a_row(torch: Any) -> None:
    same_version(torch)
    from torch.overrides import get_overridable_functions

    overridable = get_overridable_functions()
    tensors_go_in = [function for module in overridable for function in overridable[module]]
    stub = (Path(torch.__file__).parent / "_C" / "_VariableFunctions.pyi").read_text(encoding="utf-8")
    tensors_come_out = set(re.findall(r"^def (\w+)\([^()]*\) -> Tensor:", stub, re.M))
    wanted = set()
    for prefix in ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft"):
        module = sys.modules[prefix]
        for name, member in inspect.getmembers(module, inspect.isroutine):
            documented = prefix != "torch" and (inspect.getdoc(member) or "").startswith(f"{name}(input")
            comes_out = prefix == "torch" and name in tensors_come_out
            if name[0] != "_" and (documented or comes_out or any(member is function for function in tensors_go_in)):
                wanted.add(f"{prefix}.{name}")
    assert len(wanted) > 750
    assert sorted(name for name in wanted if ops.function(name) is None) == []


def same_version(torch: Any) -> None:
    version = torch.__version__.partition("+")[0]
    if version != ops.torch_version():
        pytest.skip(f"the table is of torch {ops.torch_version()}, this is {version}")


@torch_only
def test_the_table_is_what_the_generator_writes(torch: Any) -> None:
    same_version(torch)
    if torch.cuda.is_available() or torch.__version__.partition("+")[2] not in ("", "cpu"):
        pytest.skip("more names can be called where there is an accelerator: the table is of the CPU build")
    if sys.platform == "win32":
        pytest.skip("the generator forks")
    command = [sys.executable, "-W", "ignore", "-m", "flake8_tensorcopy.verify.optable", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def simple_calls(name: str, op: Op, torch: Any) -> Iterator[Callable[[Any], Any]]:
    """Ways to call a name on one tensor that need no knowledge of it."""
    owner, _, bare = name.rpartition(".")
    if owner == "Tensor":
        if op.form == "property":
            yield lambda x: getattr(x, bare)
            return
        yield lambda x: getattr(x, bare)()
        yield lambda x: getattr(x, bare)(torch.full((3, 3), 0.5))
        yield lambda x: getattr(x, bare)(0)
        yield lambda x: getattr(x, bare)(0, 1)
        return
    module = torch
    for part in owner.split(".")[1:]:
        module = getattr(module, part)
    function = getattr(module, bare)
    yield lambda x: function(x)
    if op.variadic:
        return
    yield lambda x: function(x, torch.full((3, 3), 0.5))
    yield lambda x: function(x, 0)


def tensors_in(value: Any, torch: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in tensors_in(item, torch)] if isinstance(value, (list, tuple)) else []


def objections(name: str, op: Op, torch: Any) -> list[str]:
    """What running the name on a few plain inputs says against its row."""
    found = []
    makers: list[Callable[[], Any]] = [
        lambda: torch.rand(3, 3),
        lambda: torch.rand(3, 3).t(),
        lambda: torch.rand(3, 6)[:, ::2],
    ]
    for call in simple_calls(name, op, torch):
        for make in makers:
            x = make()
            before, kept = x._version, x.clone()
            alias = x.detach()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = call(x)
            except Exception:
                continue
            wrote = x._version != before or not torch.equal(alias, kept)
            # `resize_` and its like bump the counter and write nothing.
            if 0 in op.writes and not wrote:
                found.append("did not write")
            if not op.writes and not torch.equal(alias, kept):
                found.append("wrote")
            outputs = [t for t in tensors_in(result, torch) if t.layout == torch.strided and t.numel()]
            address = alias.untyped_storage().data_ptr()
            shares = [t.untyped_storage().data_ptr() == address for t in outputs]
            match op.result:
                case "fresh" if any(shares):
                    found.append("shares")
                case "view" if op.of == 0 and shares and not all(shares):
                    found.append("does not share")
                case "same" if op.of == 0 and result is not x:
                    found.append("is another object")
                case "host" | "none" | "array" if outputs:
                    found.append("is a tensor")
            if op.dtype == "bool" and outputs and outputs[0].dtype != torch.bool:
                found.append("is not bool")
            if op.dtype == "int" and outputs and outputs[0].is_floating_point():
                found.append("is not int")
    return sorted(set(found))


def runnable() -> list[str]:
    """Names that are safe to call on anything in this process."""
    unsafe = (
        "set_",
        "resize",
        "sparse",
        "embedding",
        "quantize",
        "share_memory_",
        "from_file",
        "storage",
        "mkldnn",
        "rnn",
    )
    return [name for name in ops.names() if get(name).form != "module" and not any(part in name for part in unsafe)]


@torch_only
def test_plain_execution_agrees_with_every_row(torch: Any) -> None:
    same_version(torch)
    torch.manual_seed(0)
    found = {name: said for name in runnable() if (said := objections(name, get(name), torch))}
    # `sym_sum` is for lists of numbers; `module_load(other, assign=True)` does not write, so writing is not certain.
    assert found == {"Tensor.module_load": ["wrote"], "torch.sym_sum": ["is a tensor"]}


@torch_only
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Tensor.add_", {"writes": ()}),
        ("Tensor.clone", {"result": "view", "of": 0}),
        ("Tensor.detach", {"result": "fresh", "of": -1}),
        ("Tensor.flatten", {"result": "fresh", "of": -1}),
        ("Tensor.exp", {"dtype": "bool"}),
        ("torch.relu", {"writes": (0,)}),
        ("torch.sum", {"result": "host"}),
    ],
)
def test_a_flipped_row_is_noticed(name: str, change: dict[str, Any], torch: Any) -> None:
    assert objections(name, get(name), torch) == []
    assert objections(name, replace(get(name), **change), torch) != []
