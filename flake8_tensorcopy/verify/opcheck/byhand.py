"""Calls written out, for names whose arguments no database has and no search finds: a callable, a buffer, an LSTM.

Each text is what stands between the parentheses; methods have `self` first.  Names without torch's prefix are those of
`_names`, made anew for each process.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import numpy
import torch

from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.verify.opcheck.calls import Call, module_call, resolve

_FLAT: Final = (
    "[torch.rand(20, 6), torch.rand(20, 5), torch.rand(20), torch.rand(20)], True, 1, 0.0, False, False, True"
)
_STATE: Final = "torch.rand(2, 4, 6), torch.rand(1, 2, 5), "
_PADDED: Final = "torch.rand(2, 4, 6, 6), torch.rand(4, 4, 3, 3), None, "
_SCALES: Final = "torch.full((4,), 0.1), torch.zeros(4, dtype=torch.int32)"
_PICKED: Final = ("x", "x.long()", "x.bool()", "x.half()", "x.bfloat16()", "x.double()", "z", "z.conj()", "x.t()")

CALLS: Final[dict[str, tuple[str, ...]]] = {
    "Tensor.apply_": ("x, lambda value: value + 1",),
    "Tensor.as_subclass": ("x, torch.Tensor", "x, torch.nn.Parameter", "x.long(), torch.Tensor"),
    "Tensor.backward": ("(x.clone().requires_grad_() * 2).sum()", "x.clone().requires_grad_() * 2, x"),
    "Tensor.cpu": _PICKED,
    "Tensor.dequantize": ("quantized", "channels", "x"),
    "Tensor.map2_": ("x, y, x, lambda one, two, three: two + three",),
    "Tensor.map_": ("x, y, lambda one, two: one + two",),
    "Tensor.module_load": ("x, y", "x, y, assign=True"),
    "Tensor.new": ("x", "x, y", "x, 2, 3", "x, [1.0, 2.0]"),
    "Tensor.new_tensor": ("x, [1.0, 2.0]", "x, y", "x, array"),
    "Tensor.norm": ("x", "x, 'nuc'"),
    "Tensor.numpy": ("x", "x.t()", "x.long()", "x, force=True", "x.clone().requires_grad_(), force=True"),
    "Tensor.polygamma": ("x, 1",),
    "Tensor.polygamma_": ("x, 1",),
    "Tensor.resize": ("x, [2, 8]", "x, 16"),
    "Tensor.resize_as": ("x, x.reshape(2, 8)", "x, y"),
    "Tensor.resize_as_sparse_": ("coo, x.to_sparse()",),
    "Tensor.sparse_mask": ("x, coo",),
    "Tensor.sparse_resize_": ("coo, [4, 4], 2, 0",),
    "Tensor.sparse_resize_and_clear_": ("coo, [4, 4], 2, 0",),
    "Tensor.sspaddmm": ("coo, coo.clone(), x",),
    "Tensor.smm": ("coo, x",),
    "Tensor.to": (
        "x, torch.float32",
        "x, torch.float64",
        "x, 'cpu'",
        "x, x.double()",
        "x, x.clone()",
        "z, torch.complex64",
    ),
    "Tensor.to_dense": ("coo", "x", "x, dtype=torch.float64", "csr"),
    "Tensor.to_sparse": ("x", "coo", "csr"),
    "Tensor.to_sparse_coo": ("x", "coo", "csr"),
    "Tensor.to_sparse_csr": ("x", "csr", "coo"),
    "Tensor.to_sparse_csc": ("x", "x.to_sparse_csc()", "coo"),
    "Tensor.type": ("x", "x, torch.float32", "x, torch.float64", "x, 'torch.LongTensor'", "x.long(), torch.int64"),
    "torch.affine_grid_generator": (
        "torch.rand(2, 2, 3), [2, 4, 6, 6], False",
        "torch.rand(1, 2, 3), [1, 2, 3, 3], True",
    ),
    "torch.alpha_dropout": ("x, 0.5, True", "x, 0.5, False", "x, 0.0, True"),
    "torch.alpha_dropout_": ("x, 0.5, True", "x, 0.5, False"),
    "torch.as_tensor": ("x", "array", "[1.0, 2.0]", "x, dtype=torch.float64", "1", "x.long()"),
    "torch.asarray": ("x", "array", "[1.0, 2.0]", "x, dtype=torch.float64", "x, copy=True", "1"),
    "torch.atleast_1d": ("x", "x, y, x[0, 0]"),
    "torch.atleast_2d": ("x", "x, y, x[0, 0]"),
    "torch.atleast_3d": ("x", "x, y, x[0, 0]"),
    "torch.chain_matmul": ("x", "x, y", "x, y, x.t()", "x, y, y + 1"),
    "torch.choose_qparams_optimized": ("x.flatten(), 16, 2, 0.16, 8",),
    "torch.conv_tbc": ("torch.rand(6, 2, 4), torch.rand(3, 4, 5), torch.rand(5)",),
    "torch.nn.functional.conv_tbc": ("torch.rand(6, 2, 4), torch.rand(3, 4, 5), torch.rand(5)",),
    "torch.convolution": (
        _PADDED + "[1, 1], [0, 0], [1, 1], False, [0, 0], 1",
        _PADDED + "[2, 2], [1, 1], [1, 1], True, [0, 0], 1",
    ),
    "torch.ctc_loss": (
        "torch.rand(4, 2, 5), torch.tensor([[1, 2], [2, 3]]), [4, 4], [2, 2]",
        "torch.rand(4, 2, 5), torch.tensor([[1, 2], [2, 3]]), torch.tensor([4, 4]), torch.tensor([2, 2])",
    ),
    "torch.dropout": ("x, 0.5, True", "x, 0.5, False", "x, 0.0, True", "x.t(), 0.3, True"),
    "torch.dropout_": ("x, 0.5, True", "x, 0.5, False"),
    "torch.dsmm": ("coo, x",),
    "torch.einsum": (
        "'ij,jk->ik', x, y",
        "'ij->ij', x",
        "'ij->ji', x",
        "'ij->', x",
        "'ii->i', x",
        "'ij,jk', [x, y]",
        "'i,j->ij', x[0], y[0]",
    ),
    "torch.fake_quantize_per_channel_affine": (f"x, {_SCALES}, 0, 0, 255",),
    "torch.fake_quantize_per_tensor_affine": (
        "x, 0.1, 0, 0, 255",
        "x, torch.tensor(0.1), torch.tensor(0, dtype=torch.int32), 0, 255",
    ),
    "torch.fbgemm_linear_fp16_weight": ("x, half, x[0]",),
    "torch.fbgemm_linear_fp16_weight_fp32_activation": ("x, half, x[0]", "x, half, None"),
    "torch.fbgemm_pack_quantized_matrix": ("torch.ones(4, 4, dtype=torch.int8)",),
    "torch.feature_alpha_dropout": ("cube, 0.5, True", "cube, 0.5, False"),
    "torch.feature_alpha_dropout_": ("cube, 0.5, True", "cube, 0.5, False"),
    "torch.feature_dropout": ("cube, 0.5, True", "cube, 0.5, False"),
    "torch.feature_dropout_": ("cube, 0.5, True", "cube, 0.5, False"),
    "torch.frombuffer": (
        "bytearray(16), dtype=torch.float32",
        "bytearray(16), dtype=torch.int64, count=1",
        "array, dtype=torch.float32",
    ),
    "torch.from_dlpack": ("x", "array", "x, copy=True"),
    "torch.from_numpy": ("array", "array.T", "array.astype('int64')"),
    "torch.fft.fft": ("x", "z"),
    "torch.fft.ifft": ("x", "z"),
    "torch.fused_moving_avg_obs_fake_quant": (
        "x, torch.ones(1), torch.ones(1), torch.zeros(1), torch.ones(1), torch.ones(1), torch.zeros(1, "
        "dtype=torch.int32), 0.1, 0, 255, -1",
        "x, torch.zeros(1), torch.zeros(1), torch.zeros(1), torch.ones(1), torch.ones(1), "
        "torch.zeros(1, dtype=torch.int32), 0.1, 0, 255, -1",
    ),
    "torch.grid_sampler": ("torch.rand(2, 4, 6, 6), torch.rand(2, 6, 6, 2), 0, 0, False",),
    "torch.gru": (_STATE + _FLAT.replace("20", "15"),),
    "torch.gru_cell": ("x[:, :3], y, torch.rand(12, 3), torch.rand(12, 4), torch.rand(12), torch.rand(12)",),
    "torch.histogramdd": ("x[:, :2], [3, 3]", "x[:, :2], [edges, edges + 0]", "x[:, :2], 4"),
    "torch.hsmm": ("coo, x",),
    "torch.hspmm": ("coo, x",),
    "torch.indices_copy": ("coo.coalesce()",),
    "torch.is_tensor": ("x", "1"),
    "torch.linalg.matrix_norm": ("x", "x, 'nuc'"),
    "torch.linalg.norm": ("x", "x, 'nuc'"),
    "torch.norm": ("x", "x, 'nuc'"),
    "torch.lobpcg": ("torch.eye(9) * 3 + 0.1, k=1", "torch.eye(9) * 3 + 0.1, k=2"),
    "torch.lstm": ("torch.rand(2, 4, 6), [torch.rand(1, 2, 5), torch.rand(1, 2, 5)], " + _FLAT,),
    "torch.lstm_cell": ("x[:, :3], [y, y + 1], torch.rand(16, 3), torch.rand(16, 4), torch.rand(16), torch.rand(16)",),
    "torch.mkldnn_convolution": (_PADDED + "[0, 0], [1, 1], [1, 1], 1",),
    "torch.mkldnn_max_pool2d": ("torch.rand(2, 4, 6, 6).to_mkldnn(), [2, 2]",),
    "torch.mkldnn_max_pool3d": ("torch.rand(2, 4, 4, 4, 4).to_mkldnn(), [2, 2, 2]",),
    "torch.mkldnn_adaptive_avg_pool2d": ("torch.rand(2, 4, 6, 6).to_mkldnn(), [2, 2]",),
    "torch.nn.functional.dropout": ("cube, training=False", "cube, 0.5", "cube, 0.0"),
    "torch.nn.functional.dropout1d": ("cube, training=False", "cube, 0.5", "cube, 0.0"),
    "torch.nn.functional.dropout2d": ("cube, training=False", "cube, 0.5", "cube, 0.0"),
    "torch.nn.functional.dropout3d": ("cube, training=False", "cube, 0.5", "cube, 0.0"),
    "torch.nn.functional.affine_grid": (
        "torch.rand(2, 2, 3), [2, 4, 6, 6]",
        "torch.rand(2, 3, 4), [2, 4, 3, 3, 3], True",
    ),
    "torch.nn.functional.fold": ("torch.rand(1, 8, 9), [4, 4], 2", "torch.rand(1, 4, 4), [3, 3], 2"),
    "torch.nn.functional.gumbel_softmax": ("x", "x, hard=True", "x, 0.5"),
    "torch.nn.functional.grouped_mm": (
        "torch.rand(2, 16, 16).bfloat16(), torch.rand(2, 16, 16).bfloat16()",
        "torch.rand(16, 16).bfloat16(), torch.rand(2, 16, 16).bfloat16(), offs=torch.tensor([8, 16], "
        "dtype=torch.int32)",
    ),
    "torch.nn.functional.multi_head_attention_forward": tuple(
        f"cube, cube + 1, cube + 2, 4, 1, torch.rand(12, 4), torch.rand(12), None, None, False, 0.0, x, y[0]{more}"
        for more in ("", ", need_weights=False", ", training=False")
    ),
    "torch.native_group_norm": (
        "torch.rand(2, 4, 6, 6), torch.ones(4), torch.ones(4), 2, 4, 36, 2, 1e-5",
        "torch.rand(2, 4, 6, 6), None, None, 2, 4, 36, 2, 1e-5",
    ),
    "torch.nn.functional.adaptive_avg_pool2d": ("torch.rand(2, 4, 6, 6), 1", "torch.rand(2, 4, 6, 6), 2"),
    "torch.nn.functional.scaled_mm": (
        "torch.rand(16, 16).to(torch.float8_e4m3fn), torch.rand(16, 16).to(torch.float8_e4m3fn).t(), "
        "torch.tensor(1.0), torch.nn.functional.ScalingType.TensorWise, "
        "torch.tensor(1.0), torch.nn.functional.ScalingType.TensorWise",
    ),
    "torch.nn.functional.scaled_dot_product_attention": ("x, y, x + y", "x, y, cube", "cube, cube + 1, cube + 2"),
    "torch.norm_except_dim": ("x", "x, 2, 1"),
    "torch.quantize_per_channel": (f"x, {_SCALES}, 0, torch.quint8",),
    "torch.embedding_bag": (
        "torch.rand(5, 4), torch.tensor([0, 2, 1]), torch.tensor([0, 2])",
        "torch.rand(5, 4), torch.tensor([0, 2, 1]), torch.tensor([0, 2]), False, 1",
    ),
    "torch.q_per_channel_axis": ("channels",),
    "torch.q_per_channel_scales": ("channels",),
    "torch.q_per_channel_zero_points": ("channels",),
    "torch.q_scale": ("quantized",),
    "torch.q_zero_point": ("quantized",),
    "torch.quantized_batch_norm": (
        "torch.quantize_per_tensor(torch.rand(2, 4, 6, 6), 0.1, 0, torch.quint8), torch.ones(4), "
        "torch.ones(4), torch.ones(4), torch.ones(4), 1e-5, 0.1, 0",
    ),
    "torch.quantized_max_pool1d": ("torch.quantize_per_tensor(torch.rand(2, 4, 6), 0.1, 0, torch.quint8), [2]",),
    "torch.quantized_max_pool2d": ("torch.quantize_per_tensor(torch.rand(2, 4, 6, 6), 0.1, 0, torch.quint8), [2, 2]",),
    "torch.quantized_max_pool3d": (
        "torch.quantize_per_tensor(torch.rand(2, 4, 4, 4, 4), 0.1, 0, torch.quint8), [2, 2, 2]",
    ),
    "torch.resize_as_sparse_": ("coo, x.to_sparse()",),
    "torch.rnn_relu": (_STATE + _FLAT.replace("20", "5"),),
    "torch.rnn_tanh": (_STATE + _FLAT.replace("20", "5"),),
    "torch.saddmm": ("coo, coo.clone(), x", "x, coo, y"),
    "torch.segment_reduce": ("x, 'sum', lengths=torch.tensor([1, 3])", "x, 'max', lengths=torch.tensor([2, 2])"),
    "torch.smm": ("coo, x",),
    "torch.sparse_bsc_tensor": (
        "[0, 1], [0], torch.rand(1, 2, 2)",
        "torch.tensor([0, 1]), torch.tensor([0]), torch.rand(1, 2, 2)",
    ),
    "torch.sparse_bsr_tensor": (
        "[0, 1], [0], torch.rand(1, 2, 2)",
        "torch.tensor([0, 1]), torch.tensor([0]), torch.rand(1, 2, 2)",
    ),
    "torch.sparse_compressed_tensor": ("torch.arange(5), torch.arange(4), torch.rand(4), layout=torch.sparse_csr",),
    "torch.sparse_coo_tensor": (
        "torch.tensor([[0, 1], [1, 0]]), x[0, :2]",
        "[[0, 1], [1, 0]], [1, 2]",
        "[[0, 1], [1, 0]], [1.0, 2.0]",
        "[2, 2]",
    ),
    "torch.sparse_csc_tensor": ("torch.arange(5), torch.arange(4), torch.rand(4)", "[0, 1, 2], [0, 1], [1.0, 2.0]"),
    "torch.sparse_csr_tensor": ("torch.arange(5), torch.arange(4), torch.rand(4)", "[0, 1, 2], [0, 1], [1.0, 2.0]"),
    "torch.spmm": ("coo, x",),
    "torch.sspaddmm": ("coo, coo.clone(), x",),
    "torch.sym_float": ("1", "2.5", "True"),
    "torch.sym_int": ("1", "2.5", "True"),
    "torch.sym_ite": ("True, 1, 2", "False, 1, 2"),
    "torch.sym_max": ("1, 2", "1.5, 0"),
    "torch.sym_min": ("1, 2", "1.5, 0"),
    "torch.sym_not": ("True", "False"),
    "torch.sym_sqrt": ("4", "2.5"),
    "torch.sym_sum": ("[1, 2]", "(3, 4, 5)"),
    "torch.tensor": ("[1.0, 2.0]", "x", "array", "1", "[[1, 2], [3, 4]]", "x, dtype=torch.float64", "True"),
}


MODULES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "torch.nn.AdaptiveLogSoftmaxWithLoss": (("4, 6, [2, 4]", "x, torch.tensor([0, 1, 2, 5])"),),
    "torch.nn.Fold": (("[4, 4], 2", "torch.rand(1, 8, 9)"), ("output_size=3, kernel_size=2", "torch.rand(1, 4, 4)")),
    "torch.nn.Unflatten": (("1, (2, 2)", "x"), ("0, (2, 2)", "x.t()")),
}
"""The arguments of the constructor, and those of the call."""


def written(op: Op) -> Iterator[Call]:
    """The calls of a name that are written out; for casts one to the dtype that the argument has already."""
    target = resolve(op)
    if target is None:
        return
    for text in CALLS.get(op.name, ()):
        args, kwargs = _read(text)
        yield Call(target, args, kwargs, searched=True, written=True)
    for constructor, text in MODULES.get(op.name, ()):
        args, kwargs = _read(text)
        yield from (module_call(target, *_read(constructor), training, args, kwargs) for training in (True, False))
    if op.casts:
        yield Call(target, (torch.ones(4, 4).to(getattr(torch, op.casts)),), searched=True, written=True)
        yield Call(target, (torch.ones(4, 4).to(torch.int16),), searched=True, written=True)


def _read(text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    read: tuple[tuple[Any, ...], dict[str, Any]]
    read = eval(f"_collect({text})", {**_names(), "torch": torch, "_collect": _collect})
    return read


def _collect(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


@cache
def _names() -> dict[str, Any]:
    torch.default_generator.manual_seed(0)
    x = torch.rand(4, 4) + 0.1
    scales, zeros = torch.full((4,), 0.1, dtype=torch.float64), torch.zeros(4, dtype=torch.int64)
    return {
        "x": x,
        "y": torch.rand(4, 4) + 0.1,
        "z": torch.complex(x, x),
        "cube": torch.rand(4, 4, 4),
        "edges": torch.tensor([0.0, 0.5, 1.0]),
        "half": torch.fbgemm_pack_gemm_matrix_fp16(x),
        "array": numpy.ones((4, 4), dtype=numpy.float32),
        "coo": x.to_sparse(),
        "csr": x.to_sparse_csr(),
        "quantized": torch.quantize_per_tensor(x, 0.1, 0, torch.quint8),
        "channels": torch.quantize_per_channel(x, scales, zeros, 0, torch.quint8),
    }
