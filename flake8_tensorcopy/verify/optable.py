"""Writes the op table (`engine/ops.tsv`) from torch itself: `python -m flake8_tensorcopy.verify.optable [--check]`.

Three sources, none of them a list of what ops mean:

- the schemas of `torch._C._jit_get_all_schemas()`: parameters, alias annotations, out overloads, and the tag
  `inplace_view`;
- `torchgen/packaged/autograd/derivatives.yaml`: which formulas read the result;
- execution: every name is called in every way the generator can find (arguments are found by trying typical ones by
  type and name of the parameter, then each option is moved off its default, then all is repeated on other layouts and
  dtypes), and what happened to storage, version counter and graph is written down.

Where a source promises what execution never showed, the generation fails.  Names that cannot be called here and whose
schema does not settle them are "other", and are printed with everything else that a reader should judge.  The only
tables kept by hand are recipes: how to call an op whose arguments cannot be found by trying.

Bad arguments can crash torch, so the work is done in forked processes: POSIX only.  The CPU build of torch suffices.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import itertools
import operator
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.verify import modulerows

if TYPE_CHECKING:
    import torch

TABLE: Final = Path(ops.__file__).with_name("ops.tsv")
FUNCTION_MODULES: Final = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft")

# Schemas name the ops of a submodule with a prefix.
SCHEMA_PREFIX: Final = {"torch.linalg": "linalg_", "torch.special": "special_", "torch.fft": "fft_"}

# -------------------------------------------------------------------------------------------- recipes: how to call what

# Arguments cannot be found by trying for these, or not the telling ones.  Each entry is one or more argument lists,
# read as Python with `torch`, the symbols of `SHAPES` and the names of `SPECIAL`; a method's list leaves out self,
# which is `m` unless `self=` is given.
CLAMPS: Final = ("0.2, 0.7", "0.2", "None, 0.7", "n", "n, o", "None, o", "min=0.2", "max=0.7", "min=n", "max=o")
POOL_1D: Final = ("seq, 2", "seq, 1", "seq, 2, return_indices=True")
POOL_2D: Final = ("im, 2", "im, 1", "im, 2, stride=1", "im, 2, return_indices=True")
POOL_3D: Final = ("vol, 2", "vol, 1", "vol, 2, return_indices=True")
FRACTIONAL_2D: Final = ("im, 2, 3", "im, 2, output_ratio=0.5")
FRACTIONAL_3D: Final = ("vol, 2, 2", "vol, 2, output_ratio=0.5")
RNN: Final = (
    "seq, h0, [wih, whh, bih, bhh], True, 1, 0.0, False, False, True",
    "seq, h0, [wih, whh, bih, bhh], True, 1, 0.5, True, False, True",
)
UPSAMPLE: Final = ("im, 6", "im, scale_factor=1", "im, scale_factor=2")
RECIPES: Final[dict[str, tuple[str, ...]]] = {
    "Tensor.apply_": ("lambda value: value + 1",),
    "Tensor.as_subclass": ("torch.Tensor", "torch.nn.Parameter"),
    "Tensor.backward": ("self=loss",),
    "Tensor.ccol_indices": ("self=csc",),
    "Tensor.clamp": CLAMPS,
    "Tensor.clamp_": CLAMPS,
    "Tensor.clip": CLAMPS,
    "Tensor.clip_": CLAMPS,
    "Tensor.coalesce": ("self=sp", "self=repeated"),
    "Tensor.col_indices": ("self=csr",),
    "Tensor.crow_indices": ("self=csr",),
    "Tensor.dequantize": ("self=quantized", "self=perchannel", "self=m"),
    "Tensor.grad": ("self=withgrad",),
    "Tensor.indices": ("self=sp",),
    "Tensor.int_repr": ("self=quantized",),
    "Tensor.is_coalesced": ("self=sp",),
    "Tensor.istft": ("n_fft=4, self=spectrum",),
    "Tensor.lu_solve": ("lu, pivots", "lu, pivots, self=v1"),
    "Tensor.map2_": ("n, o, lambda one, two, three: two",),
    "Tensor.map_": ("n, lambda one, two: two",),
    "Tensor.new": ("", "n", "2, 3", "[1.0, 2.0]"),
    "Tensor.new_tensor": ("[1.0, 2.0]", "n", "array"),
    "Tensor.nonzero": ("", "as_tuple=True", "self=v", "self=b"),
    "Tensor.numpy": ("", "force=True", "self=v", "self=b"),
    "Tensor.polygamma": ("1", "2"),
    "Tensor.polygamma_": ("1", "2"),
    "Tensor.q_per_channel_axis": ("self=perchannel",),
    "Tensor.q_per_channel_scales": ("self=perchannel",),
    "Tensor.q_per_channel_zero_points": ("self=perchannel",),
    "Tensor.q_scale": ("self=quantized",),
    "Tensor.q_zero_point": ("self=quantized",),
    "Tensor.qscheme": ("self=quantized",),
    "Tensor.register_hook": ("lambda grad: grad, self=leaf",),
    "Tensor.register_post_accumulate_grad_hook": ("lambda tensor: None, self=leaf",),
    "Tensor.reshape_as": ("n", "v9", "v9, self=one9", "b, self=m27"),
    "Tensor.resize": ("9", "[9]", "[3, 3]", "1, 9"),
    "Tensor.resize_as_sparse_": ("sp2, self=sp",),
    "Tensor.retain_grad": ("self=loss",),
    "Tensor.row_indices": ("self=csc",),
    "Tensor.smm": ("n, self=sp",),
    "Tensor.sparse_mask": ("sp",),
    "Tensor.sparse_resize_": ("[3, 3], 2, 0, self=sp",),
    "Tensor.sparse_resize_and_clear_": ("[3, 3], 2, 0, self=sp",),
    "Tensor.sspaddmm": ("sp2, n, self=sp",),
    "Tensor.stft": ("n_fft=4, return_complex=True, self=v", "n_fft=2, return_complex=True, center=False, self=v"),
    "Tensor.to_padded_tensor": ("0.0, self=nested",),
    "Tensor.to_mkldnn": ("",),
    "Tensor.to_sparse": ("", "self=sp", "self=csr"),
    "Tensor.to_sparse_coo": ("", "self=sp", "self=csr"),
    "Tensor.to_sparse_csr": ("", "self=sp", "self=csr"),
    "Tensor.to_sparse_csc": ("", "self=sp", "self=csc"),
    "Tensor.to_sparse_bsr": ("[1, 1]", "[1, 1], self=csr"),
    "Tensor.to_sparse_bsc": ("[1, 1]", "[1, 1], self=csc"),
    "Tensor.type": ("", "torch.float32", "torch.float64", "'torch.FloatTensor'", "torch.int64"),
    "Tensor.unique": ("", "sorted=False", "return_inverse=True", "dim=0", "self=v"),
    "Tensor.values": ("self=sp", "self=csr"),
    "Tensor.where": ("k, n", "k, 0.5", "k, o"),
    "torch.affine_grid_generator": ("theta, [2, 4, 6, 6], False",),
    "torch.as_tensor": ("m", "array", "[1.0, 2.0]", "m, dtype=torch.float64", "m, dtype=torch.float32", "1.0"),
    "torch.asarray": ("m", "array", "[1.0, 2.0]", "m, dtype=torch.float64", "m, copy=True", "1.0"),
    "torch.batch_norm": (
        "im, None, None, mean, var, False, 0.1, 1e-5, False",
        "im, wn, bn, mean, var, False, 0.1, 1e-5, False",
        "im, wn, bn, mean, var, True, 0.1, 1e-5, False",
        "im, None, None, None, None, True, 0.1, 1e-5, False",
    ),
    "torch.clamp": tuple("m, " + text for text in CLAMPS),
    "torch.clamp_": tuple("m, " + text for text in CLAMPS),
    "torch.clip": tuple("m, " + text for text in CLAMPS),
    "torch.clip_": tuple("m, " + text for text in CLAMPS),
    "torch.broadcast_tensors": ("m, n", "m, v", "v, v1", "m", "m, s", "im, s"),
    "torch.cartesian_prod": ("v, w", "v"),
    "torch.ccol_indices_copy": ("csc",),
    "torch.chain_matmul": ("m, n", "m, n, o", "m"),
    "torch.col_indices_copy": ("csr",),
    "torch.conv3d": ("vol, k3", "vol, k3, four"),
    "torch.conv_transpose3d": ("vol, k3", "vol, k3, four"),
    "torch.convolution": ("im, k2, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1",),
    "torch.crow_indices_copy": ("csr",),
    "torch.ctc_loss": ("logp, labels, [4, 4], [2, 2]", "logp, labels, len4, len2"),
    "torch.dequantize": ("quantized", "m"),
    "torch.dsmm": ("sp, n",),
    "torch.einsum": (
        "'ij,jk->ik', m, n",
        "'ij->ij', m",
        "'ij->ji', m",
        "'ij->', m",
        "'ii->i', m",
        "'bij,bjk->bik', b, c",
        "'i,j->ij', v, w",
        "'ij,ij->ij', m, n",
        "'ij->i', m",
    ),
    "torch.embedding_bag": ("table, i, offsets", "table, i, offsets, False, 1"),
    "torch.empty_quantized": ("[3, 3], quantized",),
    "torch.fbgemm_pack_quantized_matrix": ("bytes3",),
    "torch.from_dlpack": ("m", "array", "m, copy=True"),
    "torch.from_numpy": ("array",),
    "torch.frombuffer": ("buffer, dtype=torch.float32", "buffer, dtype=torch.int64", "array, dtype=torch.float32"),
    "torch.fused_moving_avg_obs_fake_quant": (
        "m, on, off, lowest, highest, scale, point, 0.1, 0, 255, -1",
        "m, off, off, lowest, highest, scale, point, 0.1, 0, 255, -1",
        "m, on, on, lowest, highest, scale, point, 0.1, 0, 255, -1",
    ),
    "torch.gradient": ("m", "v", "m, dim=0", "m, spacing=2.0", "v, edge_order=2"),
    "torch.grid_sampler": ("im, grid, 0, 0, False",),
    "torch.grid_sampler_2d": ("im, grid, 0, 0, False",),
    "torch.grid_sampler_3d": ("vol, grid3, 0, 0, False",),
    "torch.gru": tuple(
        text.replace("wih", "wih3").replace("whh", "whh3").replace("bih", "bias15").replace("bhh", "more15")
        for text in RNN
    ),
    "torch.gru_cell": ("m, n, gate3, more3, bias9, more9", "m, n, gate3, more3"),
    "torch.histogramdd": ("m, [2, 2, 2]", "m, [edges, edges, edges]", "m, 2"),
    "torch.hsmm": ("sp, n",),
    "torch.hspmm": ("sp, n",),
    "torch.instance_norm": (
        "im, None, None, mean, var, True, 0.1, 1e-5, False",
        "im, wn, bn, mean, var, False, 0.1, 1e-5, False",
        "im, None, None, None, None, True, 0.1, 1e-5, False",
    ),
    "torch.indices_copy": ("sp",),
    "torch.int_repr": ("quantized",),
    "torch.istft": ("spectrum, n_fft=4",),
    "torch.linalg.ldl_solve": ("ldl, order, m",),
    "torch.linalg.lu_solve": ("lu, pivots, m",),
    "torch.linalg.tensorinv": ("square4, 2",),
    "torch.linalg.tensorsolve": ("square4, m22",),
    "torch.lobpcg": ("spd9, k=1",),
    "torch.lstm": tuple(
        text.replace("h0", "[h0, c0]")
        .replace("wih", "wih4")
        .replace("whh", "whh4")
        .replace("bih", "bias20")
        .replace("bhh", "more20")
        for text in RNN
    ),
    "torch.lstm_cell": ("m, [n, o], gate4, more4, bias12, more12", "m, [n, o], gate4, more4"),
    "torch.lu": ("spd", "b", "spd, get_infos=True"),
    "torch.lu_solve": ("m, lu, pivots",),
    "torch.lu_unpack": ("lu, pivots",),
    "torch.mkldnn_max_pool2d": (),
    "torch.native_batch_norm": (
        "im, wn, bn, mean, var, False, 0.1, 1e-5",
        "im, None, None, mean, var, True, 0.1, 1e-5",
        "im, wn, bn, None, None, True, 0.1, 1e-5",
    ),
    "torch.native_group_norm": ("im, None, None, 2, 4, 36, 2, 1e-5", "im, wn, bn, 2, 4, 36, 2, 1e-5"),
    "torch.native_norm": ("sp",),
    "torch.nonzero": ("m", "m, as_tuple=True", "v", "b"),
    "torch.normal": ("m, n", "0.5, n", "m, 1.0", "0.0, 1.0, [3, 3]"),
    "torch.quantize_per_channel": ("m, scales, zeros, 0, torch.quint8",),
    "torch.quantize_per_tensor": ("m, 0.1, 0, torch.quint8",),
    "torch.quantize_per_tensor_dynamic": ("m, torch.quint8, False",),
    "torch.quantized_batch_norm": (),
    "torch.q_per_channel_axis": ("perchannel",),
    "torch.q_per_channel_scales": ("perchannel",),
    "torch.q_per_channel_zero_points": ("perchannel",),
    "torch.q_scale": ("quantized",),
    "torch.q_zero_point": ("quantized",),
    "torch.resize_as_sparse_": ("sp, sp2",),
    "torch.row_indices_copy": ("csc",),
    "torch.rnn_relu": RNN,
    "torch.rnn_tanh": RNN,
    "torch.saddmm": ("sp, sp2, n",),
    "torch.segment_reduce": ("v, 'sum', lengths=lengths", "v, 'max', lengths=lengths"),
    "torch.smm": ("sp, n",),
    "torch.sparse_bsc_tensor": ("[0, 1], [0], blocks", "pointers, [0], blocks"),
    "torch.sparse_bsr_tensor": ("[0, 1], [0], blocks", "pointers, [0], blocks"),
    "torch.sparse_compressed_tensor": ("[0, 1, 2, 3], i, v, layout=torch.sparse_csr",),
    "torch.sparse_coo_tensor": ("pairs, v", "[[0, 1], [1, 0]], [1.0, 2.0]", "pairs, v, [3, 3]"),
    "torch.sparse_csc_tensor": ("rows, i, v", "[0, 1, 2, 3], [0, 1, 2], [1.0, 2.0, 3.0]"),
    "torch.sparse_csr_tensor": ("rows, i, v", "[0, 1, 2, 3], [0, 1, 2], [1.0, 2.0, 3.0]"),
    "torch.spmm": ("sp, n",),
    "torch.sspaddmm": ("sp, sp2, n",),
    "torch.stft": ("v, n_fft=4, return_complex=True", "v, n_fft=2, return_complex=True, center=False"),
    "torch.sym_ite": ("True, 1, 2",),
    "torch.sym_max": ("1, 2",),
    "torch.sym_min": ("1, 2",),
    "torch.tensor": ("[1.0, 2.0]", "m", "array", "1.0", "[[1, 2], [3, 4]]", "m, dtype=torch.float64"),
    "torch.unique": ("m", "v", "m, return_inverse=True", "m, dim=0", "m, sorted=False"),
    "torch.unique_consecutive": ("m", "v", "m, return_inverse=True", "m, dim=0"),
    "torch.values_copy": ("csr",),
    "torch.view_as_complex": ("pairs2",),
    "torch.view_as_complex_copy": ("pairs2",),
    "torch.nn.functional.adaptive_max_pool1d": ("seq, 2", "seq, 6", "seq, 2, return_indices=True"),
    "torch.nn.functional.adaptive_max_pool2d": ("im, 2", "im, 6", "im, 2, return_indices=True"),
    "torch.nn.functional.adaptive_max_pool3d": ("vol, 2", "vol, 4", "vol, 2, return_indices=True"),
    "torch.nn.functional.affine_grid": ("theta, [2, 4, 6, 6], False",),
    "torch.nn.functional.batch_norm": (
        "im, mean, var",
        "im, mean, var, wn, bn",
        "im, mean, var, wn, bn, True",
        "im, None, None, training=True",
        "im, None, None, wn, bn, True",
    ),
    "torch.nn.functional.layer_norm": ("m, [3]", "im, [6]", "m, [3], v, w", "m, [3], v"),
    "torch.nn.functional.group_norm": ("im, 2", "im, 2, wn, bn", "im, 2, wn"),
    "torch.nn.functional.instance_norm": (
        "im",
        "im, mean, var",
        "im, None, None, wn, bn",
        "im, mean, var, wn, bn, False",
    ),
    "torch.nn.functional.rms_norm": ("m, [3]", "m, [3], v", "im, [6]"),
    "torch.nn.functional.linear": ("m, n", "m, n, v", "b, n", "v, n"),
    "torch.nn.functional.conv1d": ("seq, k1", "seq, k1, four", "seq, k1, padding='same'", "seq, k1, stride=2"),
    "torch.nn.functional.conv2d": ("im, k2", "im, k2, four", "im, k2, padding=1", "im, k2, stride=2"),
    "torch.nn.functional.bilinear": ("m, n, b", "m, n, b, v"),
    "torch.nn.functional.conv3d": ("vol, k3", "vol, k3, four"),
    "torch.nn.functional.conv_transpose3d": ("vol, k3", "vol, k3, four"),
    "torch.nn.functional.cross_entropy": (
        "m, i",
        "m, n",
        "m, i, weight=v",
        "m, i, reduction='none'",
        "m, i, reduction='sum'",
        "m, i, label_smoothing=0.1",
    ),
    "torch.nn.functional.ctc_loss": ("logp, labels, [4, 4], [2, 2]", "logp, labels, len4, len2"),
    "torch.nn.functional.dropout": (
        "m",
        "m, 0.0",
        "m, 0.5, False",
        "m, training=False",
        "b",
        "v",
        "m, 1.0",
        "m, p=0.0",
        "s",
    ),
    "torch.nn.functional.embedding": (
        "i, m",
        "j, m",
        "i, m, padding_idx=0",
        "i, m, max_norm=10.0",
        "i, m, max_norm=0.1",
    ),
    "torch.nn.functional.embedding_bag": (
        "i, table, offsets",
        "j, table",
        "i, table, offsets, mode='sum'",
        "i, table, offsets, max_norm=0.1",
    ),
    "torch.nn.functional.fold": ("folded, [3, 3], 2", "folded, [3, 3], [2, 2]"),
    "torch.nn.functional.fractional_max_pool2d": (*FRACTIONAL_2D, "im, 2, 3, return_indices=True"),
    "torch.nn.functional.fractional_max_pool2d_with_indices": FRACTIONAL_2D,
    "torch.nn.functional.fractional_max_pool3d": (*FRACTIONAL_3D, "vol, 2, 2, return_indices=True"),
    "torch.nn.functional.fractional_max_pool3d_with_indices": FRACTIONAL_3D,
    "torch.nn.functional.grouped_mm": ("halves, halves2",),
    "torch.nn.functional.scaled_mm": (
        "eighths, eighths2, scale, torch.nn.functional.ScalingType.TensorWise, scale, "
        "torch.nn.functional.ScalingType.TensorWise",
    ),
    "torch.nn.functional.grid_sample": ("im, grid", "im, grid, 'nearest'", "im, grid, align_corners=True"),
    "torch.nn.functional.interpolate": (
        *UPSAMPLE,
        "im, 6, mode='bilinear'",
        "seq, 6",
        "im, scale_factor=2, mode='bicubic'",
    ),
    "torch.nn.functional.lp_pool1d": ("seq, 2, 2", "seq, 2, 1"),
    "torch.nn.functional.lp_pool2d": ("im, 2, 2", "im, 2, 1"),
    "torch.nn.functional.lp_pool3d": ("vol, 2, 2", "vol, 2, 1"),
    "torch.nn.functional.max_pool1d": POOL_1D,
    "torch.nn.functional.max_pool2d": POOL_2D,
    "torch.nn.functional.max_pool3d": POOL_3D,
    "torch.nn.functional.max_unpool1d": ("unpool1, places1, 2",),
    "torch.nn.functional.max_unpool2d": ("unpool2, places2, 2",),
    "torch.nn.functional.max_unpool3d": ("unpool3, places3, 2",),
    "torch.nn.functional.multi_head_attention_forward": (
        "b, c, d, 3, 1, gate3, bias9, None, None, False, 0.0, m, v",
        "b, c, d, 3, 1, gate3, bias9, None, None, False, 0.0, m, v, need_weights=False",
    ),
    "torch.nn.functional.nll_loss": ("m, i", "m, i, weight=v", "m, i, reduction='none'", "m, i, reduction='sum'"),
    "torch.nn.functional.one_hot": ("i", "j", "i, 3", "i, 4"),
    "torch.nn.functional.pad": ("m, [1, 1]", "m, [0, 0]", "im, [1, 1, 1, 1], 'reflect'", "im, [0, 0], 'constant', 1.0"),
    "torch.nn.functional.pixel_shuffle": ("im, 2", "im, 1"),
    "torch.nn.functional.pixel_unshuffle": ("im, 2", "im, 1"),
    "torch.pixel_shuffle": ("im, 2", "im, 1"),
    "torch.pixel_unshuffle": ("im, 2", "im, 1"),
    "torch.nn.functional.upsample": UPSAMPLE,
    "torch.nn.functional.upsample_bilinear": UPSAMPLE,
    "torch.nn.functional.upsample_nearest": UPSAMPLE,
}

# ----------------------------------------------------------------------------------------------------------- the inputs


@dataclass(frozen=True, slots=True)
class Sym:
    """A tensor to be made afresh for each call, by its name in `SHAPES` or `Inputs.special`."""

    name: str


SHAPES: Final[dict[str, tuple[int, ...]]] = {
    "m": (3, 3),
    "n": (3, 3),
    "o": (3, 3),
    "v": (3,),
    "w": (3,),
    "x": (3,),
    "s": (),
    "t": (),
    "b": (3, 3, 3),
    "c": (3, 3, 3),
    "d": (3, 3, 3),
    "im": (2, 4, 6, 6),
    "im2": (2, 4, 6, 6),
    "vol": (2, 4, 4, 4, 4),
    "one": (1, 1),
    "k1": (4, 4, 3),
    "k2": (4, 4, 3, 3),
    "k3": (4, 4, 3, 3, 3),
    "seq": (2, 4, 6),
    "seq2": (2, 4, 6),
    "four": (4,),
    "v9": (9,),
    "one9": (1, 9),
    "m27": (3, 9),
    "wn": (4,),
    "bn": (4,),
    "v1": (3, 1),
    "h0": (1, 2, 5),
    "c0": (1, 2, 5),
    "wih": (5, 6),
    "whh": (5, 5),
    "bih": (5,),
    "bhh": (5,),
    "gate3": (9, 3),
    "gate4": (12, 3),
    "more3": (9, 3),
    "more4": (12, 3),
    "bias9": (9,),
    "more9": (9,),
    "bias12": (12,),
    "more12": (12,),
    "bias15": (15,),
    "more15": (15,),
    "bias20": (20,),
    "more20": (20,),
    "wih3": (15, 6),
    "whh3": (15, 5),
    "wih4": (20, 6),
    "whh4": (20, 5),
    "theta": (2, 2, 3),
    "grid": (2, 6, 6, 2),
    "grid3": (2, 4, 4, 4, 3),
    "table": (3, 4),
    "square4": (2, 2, 2, 2),
    "m22": (2, 2),
    "blocks": (1, 2, 2),
    "pairs2": (3, 2),
    "folded": (1, 4, 4),
    "logp": (4, 2, 5),
    "unpool1": (2, 4, 3),
    "unpool2": (2, 4, 3, 3),
    "unpool3": (2, 4, 2, 2, 2),
}
SEEDS: Final = {name: seed for seed, name in enumerate(sorted(SHAPES))}
LAYOUTS: Final = ("plain", "transposed", "expanded", "stepped", "double", "int", "bool", "complex", "mixed")
# Tried on the first calls only: a cast to such a type is a no-op for them alone.
MORE_LAYOUTS: Final = (
    "half", "bfloat16", "int32", "int16", "int8", "uint8", "complex128", "complex32", "conjugate",
    "negative",
)  # fmt: skip
# Tried when an option is off its default.
FEW_LAYOUTS: Final = ("plain", "transposed", "double")


class Inputs:
    """The tensors of one call, by symbol, in one layout.  Values lie strictly between 0 and 1 for float dtypes."""

    def __init__(self, layout: str, *, grad: bool = False) -> None:
        self.layout = layout
        self.grad = grad
        self.made: dict[str, Any] = {}
        self.leaves: list[torch.Tensor] = []

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            shape = SHAPES.get(name)
            made = special(name) if shape is None else self._strided(name, shape)
            if name in ("i", "j") and self.layout == "int32":
                made = made.int()
            self.made[name] = self._tracked(made) if self.grad else made
        return self.made[name]

    def _tracked(self, made: Any) -> Any:
        """A tensor that requires grad but is no leaf, so that in-place ops are allowed."""
        import torch

        plain = isinstance(made, torch.Tensor) and made.layout != torch._mkldnn and not made.is_quantized
        if not plain or made.requires_grad or not (made.is_floating_point() or made.is_complex()):
            return made
        made.requires_grad_()
        self.leaves.append(made)
        return made.clone()

    def _strided(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        import torch

        generator = torch.Generator().manual_seed(SEEDS[name])

        def rand(*size: int) -> torch.Tensor:
            return torch.rand(size, generator=generator) * 0.8 + 0.1

        match self.layout:
            case "transposed":
                made = rand(*reversed(shape)).permute(tuple(reversed(range(len(shape)))))
            case "expanded" if shape:
                made = rand(*shape[:-1], 1).expand(shape)
            case "stepped" if shape:
                made = rand(*shape[:-1], shape[-1] * 2)[..., ::2]
            case "double":
                made = rand(*shape).double()
            case "mixed" if self.made:
                made = rand(*shape).double()
            case "int":
                made = torch.randint(0, 3, shape, generator=generator)
            case "bool":
                made = torch.randint(0, 2, shape, generator=generator).bool()
            case "complex":
                made = torch.complex(rand(*shape), rand(*shape))
            case "conjugate":
                made = torch.complex(rand(*shape), rand(*shape)).conj()
            case "negative":
                # What `imag` of a conjugate is: a float tensor with its negative bit set.
                made = torch.complex(rand(*shape), rand(*shape)).conj().imag
            case "half" | "bfloat16" | "complex128" | "complex32":
                made = rand(*shape).to(getattr(torch, self.layout))
            case "int32" | "int16" | "int8" | "uint8":
                made = (rand(*shape) * 4).to(getattr(torch, self.layout))
            case _:
                made = rand(*shape)
        return made


def special(name: str) -> Any:
    """Inputs that have one layout only."""
    import numpy
    import torch

    match name:
        case "i":
            return torch.tensor([0, 2, 1])
        case "j":
            return torch.tensor([[0, 2, 1], [1, 0, 2], [2, 1, 0]])
        case "k":
            return torch.tensor([[True, False, True], [False, True, False], [True, True, False]])
        case "kv":
            return torch.tensor([True, False, True])
        case "z":
            return torch.complex(torch.rand(3, 3), torch.rand(3, 3))
        case "spd":
            return torch.eye(3) * 3 + 0.1
        case "sp":
            return torch.eye(3).to_sparse()
        case "csr":
            return torch.eye(3).to_sparse_csr()
        case "array":
            return numpy.ones((3, 3), dtype=numpy.float32)
        case "buffer":
            return bytearray(16)
        case "quantized":
            return torch.quantize_per_tensor(torch.rand(3, 3), 0.1, 0, torch.quint8)
        case "perchannel":
            scales, zeros = torch.full((3,), 0.1), torch.zeros(3).long()
            return torch.quantize_per_channel(torch.rand(3, 3), scales, zeros, 0, torch.quint8)
        case "csc":
            return torch.eye(3).to_sparse_csc()
        case "sp2":
            return torch.ones(3, 3).to_sparse()
        case "repeated":
            return torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (3, 3))
        case "nested":
            return torch.nested.nested_tensor([torch.rand(2), torch.rand(3)])
        case "loss":
            return (torch.rand(3, requires_grad=True) * 2).sum()
        case "leaf":
            return torch.rand(3, requires_grad=True)
        case "spectrum":
            return torch.stft(torch.rand(12), 4, window=torch.ones(4), return_complex=True)
        case "lu":
            return torch.linalg.lu_factor(torch.eye(3) * 3 + 0.1)[0]
        case "pivots":
            return torch.linalg.lu_factor(torch.eye(3) * 3 + 0.1)[1]
        case "labels":
            return torch.tensor([[1, 2], [2, 3]])
        case "len4":
            return torch.tensor([4, 4])
        case "len2":
            return torch.tensor([2, 2])
        case "offsets":
            return torch.tensor([0, 2])
        case "mean":
            return torch.zeros(4)
        case "var":
            return torch.ones(4)
        case "scales":
            return torch.full((3,), 0.1)
        case "zeros":
            return torch.zeros(3).long()
        case "lengths":
            return torch.tensor([1, 2])
        case "rows":
            return torch.tensor([0, 1, 2, 3])
        case "pointers":
            return torch.tensor([0, 1])
        case "pairs":
            return torch.tensor([[0, 1, 2], [2, 1, 0]])
        case "places1":
            return torch.arange(3).mul(2).expand(2, 4, 3).contiguous()
        case "places2":
            return torch.arange(9).repeat(8).reshape(2, 4, 3, 3)
        case "places3":
            return torch.arange(8).repeat(8).reshape(2, 4, 2, 2, 2)
        case "on":
            return torch.ones(1)
        case "off":
            return torch.zeros(1)
        case "lowest":
            return torch.full((1,), -1.0)
        case "highest" | "scale":
            return torch.full((1,), 1.0)
        case "point":
            return torch.zeros(1, dtype=torch.int32)
        case "edges":
            return torch.tensor([0.0, 0.5, 1.0])
        case "ldl":
            return torch.linalg.ldl_factor(torch.eye(3) * 3 + 0.1)[0]
        case "order":
            return torch.linalg.ldl_factor(torch.eye(3) * 3 + 0.1)[1]
        case "halves" | "halves2":
            return torch.rand(2, 16, 16).bfloat16()
        case "eighths":
            return torch.rand(16, 16).to(torch.float8_e4m3fn)
        case "eighths2":
            return torch.rand(16, 16).to(torch.float8_e4m3fn).t()
        case "bytes3":
            return torch.ones(3, 3, dtype=torch.int8)
        case "spd9":
            return torch.eye(9) * 3 + 0.1
        case "withgrad":
            made = torch.rand(3, 3)
            made.grad = torch.rand(3, 3)
            return made
        case _:
            raise KeyError(name)


# ------------------------------------------------------------------------------------------------------- what is called


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter as far as it matters for finding an argument: `kind` is one of the keys of `candidates`."""

    name: str
    kind: str
    required: bool
    keyword_only: bool = False
    default: Any = None
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """One name of the table."""

    name: str
    form: ops.Form
    call: Callable[..., Any]
    schemas: tuple[Any, ...]
    signatures: tuple[tuple[Param, ...], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One way of calling: what is passed, with symbols for tensors."""

    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()
    minimal: bool = True
    """Only required arguments are given."""
    whole: bool = False
    """Besides them every tensor that may be left out, and nothing else."""


def resolve(value: Any, inputs: Inputs) -> Any:
    """`value` with its symbols replaced by tensors."""
    match value:
        case Sym(name):
            return inputs[name]
        case list():
            return [resolve(item, inputs) for item in value]
        case tuple():
            return tuple(resolve(item, inputs) for item in value)
        case _:
            return value


def _schema_kind(text: str) -> str:
    text = re.sub(r"Optional\[(.*)\]", r"\1", text)
    match text:
        case "Tensor":
            return "tensor"
        case "List[Tensor]" | "List[Optional[Tensor]]":
            return "tensors"
        case "int" | "SymInt":
            return "int"
        case "List[int]" | "List[SymInt]":
            return "ints"
        case "float" | "number" | "Scalar" | "complex":
            return "float"
        case "List[float]":
            return "floats"
        case "bool":
            return "bool"
        case "str":
            return "str"
        case _:
            return "other"


def _schema_params(schema: Any) -> tuple[Param, ...]:
    params = []
    for argument in schema.arguments:
        kind = _schema_kind(str(argument.type))
        # The schema registry spells dtypes, layouts and devices as int or Device.
        if kind == "int" and argument.name in ("dtype", "layout", "memory_format", "device"):
            kind = argument.name
        elif argument.name in ("dtype", "memory_format"):
            kind = argument.name
        if kind == "other" and argument.name == "other":
            kind = "float"
        optional = str(argument.type).startswith("Optional[")
        if optional and kind == "tensor" and not argument.kwarg_only:
            kind = "maybe_tensor"
        # A fixed-size list takes one number for all.
        params.append(
            Param(
                argument.name,
                kind,
                required=not argument.has_default_value() and not (optional and argument.kwarg_only),
                keyword_only=argument.kwarg_only,
                default=argument.default_value,
            )
        )
    return tuple(params)


TENSOR_NAMES: Final = frozenset({
    "input", "x", "self", "A", "B", "a", "b", "tensor", "other", "target", "weight", "bias", "LU_data", "LU_pivots",
    "mat", "x1", "x2", "anchor", "positive", "negative", "query", "key", "value", "condition", "indices", "end",
    "input1", "input2", "tensor1", "tensor2", "var", "log_probs", "targets", "input_lengths", "target_lengths",
    "grid", "theta", "running_mean", "running_var",
})  # fmt: skip


def _python_params(function: Callable[..., Any]) -> tuple[Param, ...] | None:
    from torch._jit_internal import boolean_dispatched

    # `max_pool2d(return_indices=...)` chooses one of two functions and shows the parameters of neither.
    while function in boolean_dispatched:
        function = boolean_dispatched[function]["if_false"]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    params = []
    for parameter in signature.parameters.values():
        note = "" if parameter.annotation is parameter.empty else str(parameter.annotation)
        if isinstance(parameter.annotation, type):
            note = parameter.annotation.__name__
        variadic = parameter.kind is parameter.VAR_POSITIONAL
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        default = None if parameter.default is parameter.empty else parameter.default
        params.append(
            Param(
                parameter.name,
                _python_kind(note, parameter.name, default),
                required=parameter.default is parameter.empty,
                keyword_only=parameter.kind is parameter.KEYWORD_ONLY,
                default=default,
                variadic=variadic,
            )
        )
    return tuple(params)


def _python_kind(note: str, name: str, default: Any) -> str:
    if name in ("dtype", "memory_format"):
        return name
    if re.search(r"(list|List|tuple|Tuple|Sequence)\[.*Tensor", note) or name in ("tensors", "matrices", "operands"):
        return "tensors"
    if isinstance(default, bool) or note == "bool":
        return "bool"
    if isinstance(default, float) or note == "float":
        return "float"
    if "Tensor" in note:
        return "tensor"
    if isinstance(default, int) or note in ("int", "Optional[int]", "int | None"):
        return "int"
    if isinstance(default, (tuple, list)) or "BroadcastingList" in note or "list[int]" in note or "List[int]" in note:
        return "ints"
    if note == "str" or isinstance(default, str):
        return "str"
    if name in TENSOR_NAMES:
        return "tensor"
    if name in ("dim", "dims", "kernel_size", "output_size", "size"):
        return "ints"
    return "other"


@cache
def _schemas() -> dict[str, list[Any]]:
    """aten schemas that the dispatcher or the Python bindings know, by bare name."""
    import torch

    known: dict[str, list[Any]] = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            known.setdefault(schema.name.removeprefix("aten::"), []).append(schema)
    return known


def _qualified(schema: Any) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def _dispatched(schema: Any) -> bool:
    """Whether this schema is an op of the dispatcher, and not one of TorchScript's own on lists, strings or numbers."""
    import torch

    return bool(torch._C._dispatch_has_kernel(_qualified(schema)))


def _is_out(schema: Any) -> bool:
    """Whether the overload writes to keyword-only tensors: its name says nothing (`topk.values`)."""
    return any(a.kwarg_only and a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)


@cache
def targets() -> tuple[Target, ...]:
    """Everything the table has a row for, sorted by name."""
    found = [*_methods(), *_functions()]
    return tuple(sorted(found, key=lambda target: target.name))


def _methods() -> Iterator[Target]:
    import torch

    for name in [name for name in dir(torch.Tensor) if not name.startswith("_")] + ["__array__"]:
        member = inspect.getattr_static(torch.Tensor, name)
        # Static lookup: reading `Tensor.data` on the class gives the descriptor as well, but some raise.
        if callable(getattr(torch.Tensor, name, None)):
            schemas = tuple(
                s
                for s in _schemas().get(name, ())
                if s.arguments and str(s.arguments[0].type) == "Tensor" and s.arguments[0].name == "self"
            )
            signatures = tuple(_schema_params(s) for s in schemas if not _is_out(s))
            if not signatures and (params := _python_params(getattr(torch.Tensor, name))) is not None:
                signatures = ((replace(params[0], kind="tensor"), *params[1:]),)
            if isinstance(member, types.FunctionType) and (params := _python_params(member)) is not None:
                signatures = (*signatures, (replace(params[0], kind="tensor"), *params[1:]))
            if not signatures:
                signatures = ((Param("self", "tensor", True),),)
            yield Target("Tensor." + name, "method", _bound(name), schemas, signatures)
        else:
            schemas = tuple(
                s for s in _schemas().get(name, ()) if len(s.arguments) == 1 and str(s.arguments[0].type) == "Tensor"
            )
            yield Target("Tensor." + name, "property", _attribute(name), schemas, ((Param("self", "tensor", True),),))


def _bound(name: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    return call


def _attribute(name: str) -> Callable[..., Any]:
    def call(self: Any) -> Any:
        return getattr(self, name)

    return call


def _functions() -> Iterator[Target]:
    import importlib

    for module_name in FUNCTION_MODULES:
        module = importlib.import_module(module_name)
        for name in dir(module):
            member = getattr(module, name)
            if not name.startswith("_") and takes_or_returns_tensors(module_name, name, member):
                yield _function(module_name, name, member)


def _function(module_name: str, name: str, member: Callable[..., Any]) -> Target:
    schemas: tuple[Any, ...] = ()
    signatures: tuple[tuple[Param, ...], ...] = ()
    if not isinstance(member, types.FunctionType):
        bare = SCHEMA_PREFIX.get(module_name, "") + getattr(member, "__name__", name).removeprefix(
            SCHEMA_PREFIX.get(module_name, "")
        )
        schemas = tuple(s for s in _schemas().get(bare, ()) if _dispatched(s))
        signatures = tuple(_schema_params(s) for s in schemas if not _is_out(s))
    if not signatures and (params := _python_params(member)) is not None:
        signatures = (params,)
    return Target(f"{module_name}.{name}", "function", member, schemas, signatures)


def takes_or_returns_tensors(module_name: str, name: str, member: Any) -> bool:
    """Whether a public member of a module is an op: torch lets tensors override it, a schema of its name speaks of
    tensors, or its annotation returns one."""
    if not callable(member) or isinstance(member, type):
        return False
    if member in _overridable(module_name):
        return True
    if isinstance(member, types.FunctionType):
        # Python functions imported from elsewhere are helpers.
        note = str(getattr(member, "__annotations__", {}).get("return", ""))
        return "Tensor" in note or (member.__module__ == "torch.nn.functional" and "input" in _parameter_names(member))
    if module_name == "torch" and name in _stubbed():
        return True
    bare = SCHEMA_PREFIX.get(module_name, "") + name
    return isinstance(member, types.BuiltinFunctionType) and any(
        "Tensor" in str(s) for s in _schemas().get(bare, ()) if _dispatched(s)
    )


def _parameter_names(member: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(member).parameters)
    except (TypeError, ValueError):
        return []


@cache
def _overridable(module_name: str) -> frozenset[Any]:
    import importlib

    from torch.overrides import get_overridable_functions

    table = get_overridable_functions()
    module = importlib.import_module(module_name)
    found = list(table.get(module, ()))
    if module_name == "torch":
        found += table.get(importlib.import_module("torch.functional"), ())
    return frozenset(found)


@cache
def _stubbed() -> frozenset[str]:
    """Builtin functions of torch whose stub returns a tensor: the only place that says so for `from_numpy`."""
    import torch

    text = (Path(torch.__file__).parent / "_C" / "_VariableFunctions.pyi").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^def (\w+)\((?:[^()]|\([^()]*\))*\) -> Tensor:", text, re.M))


# ---------------------------------------------------------------------------------------------------- finding arguments

INTS: Final = (0, 1, 2, 3, -1)
SCALARS: Final = (0.5, 2, 1.0)


def candidates(param: Param) -> list[Any]:
    """Arguments worth trying for a parameter, the typical first."""
    import torch

    match param.kind:
        case "tensor":
            name = param.name
            if re.search(r"ind(ex|ices)|^idx", name):
                return [Sym("i"), Sym("j"), Sym("m"), Sym("v")]
            if "mask" in name or name == "condition":
                return [Sym("k"), Sym("kv"), Sym("m")]
            if name in ("target", "targets"):
                return [Sym("n"), Sym("i"), Sym("w"), Sym("j")]
            return [Sym("m"), Sym("v"), Sym("b"), Sym("s"), Sym("im"), Sym("seq"), Sym("z"), Sym("spd"), Sym("i")]
        case "maybe_tensor":
            return [None, Sym("v"), Sym("m")]
        case "tensors":
            return [[Sym("m"), Sym("n")], [Sym("v"), Sym("w")], [Sym("m")], [Sym("v")], [Sym("i")]]
        case "int":
            return list(INTS)
        case "ints":
            return [[0], [1], [3, 3], [0, 1], [1, 1], [9], 1, 2, [1, 0], [2, 1, 0], [1, 1, 1, 1], [3], []]
        case "float":
            return list(SCALARS)
        case "floats":
            return [[0.5], [0.5, 0.5]]
        case "bool":
            return [True, False]
        case "dtype":
            return [torch.float32, torch.float64]
        case "memory_format":
            return [torch.contiguous_format, torch.preserve_format]
        case "layout":
            return [torch.strided]
        case "device":
            return ["cpu"]
        case "str":
            norms = ["nuc", "fro"] if param.name in ("p", "ord") else []
            return [*norms, "mean", "constant", "ij", "sum", "none"]
        case _:
            return [*[Sym("m")] * (param.name == "obj"), 0.5, 1, None, "cpu"]


SAME_RANK: Final = (
    ("m", "n", "o"),
    ("v", "w", "x"),
    ("b", "c", "d"),
    ("im", "im2"),
    ("s", "t"),
    ("seq", "seq2"),
    ("z", "z"),
    ("spd", "m"),
)
LIMIT: Final = 300
ENOUGH: Final = 12


def find_calls(target: Target) -> list[Call]:
    """Ways of calling the target that do not raise, each in the plain layout or, failing that, any other."""
    recipes = RECIPES.get(target.name)
    by_params: list[tuple[Sequence[Param], list[Call]]] = []
    if recipes is not None:
        found = [call for text in recipes for call in _from_recipe(text, target)]
        by_params = [(params, found) for params in target.signatures]
    else:
        found = []
        for params in target.signatures:
            mine: list[Call] = []
            for call in itertools.islice(_proposals(params), LIMIT):
                if call not in found and works(target, call):
                    mine.append(call)
                if len(mine) >= ENOUGH:
                    break
            by_params.append((params, [call for call in found[:1] if not mine] + mine))
            found += mine
        moved = [call for params, mine in by_params for call in _required_moved(params, mine[:1])]
        found += [call for call in moved if call not in found and works(target, call)]
    varied = [option for params, mine in by_params for call in mine[:6] for option in _options(params, call)]
    varied = [call for call in varied if works(target, call)]
    whole = [full for params, mine in by_params for call in mine[:6] if (full := _whole(params, call, varied))]
    return found + varied + [call for call in whole if works(target, call)]


def _required_moved(params: Sequence[Param], found: list[Call]) -> Iterator[Call]:
    """The first call with each required argument that is no tensor moved to other values, each in turn."""
    for call in found:
        for k, param in enumerate(params[: len(call.args)]):
            if param.required and param.kind in ("bool", "int", "str") and not isinstance(call.args[k], (Sym, list)):
                for value in candidates(param):
                    if value != call.args[k]:
                        yield replace(call, args=(*call.args[:k], value, *call.args[k + 1 :]))


def _whole(params: Sequence[Param], call: Call, varied: list[Call]) -> Call | None:
    """The call with every tensor that it may be given by position: those of its options that work by themselves."""
    more: dict[str, Any] = {}
    for option in varied:
        if option.args == call.args and option.kwargs[:-1] == call.kwargs:
            name, value = option.kwargs[-1]
            if isinstance(value, Sym):
                more.setdefault(name, value)
    rest = [p for p in params[len(call.args) :] if not p.keyword_only and not p.variadic]
    while rest and rest[-1].name not in more:
        rest.pop()
    if not rest or call.kwargs:
        return None
    args, kwargs = _told_apart([*call.args, *(more.get(p.name, p.default) for p in rest)], [])
    return Call(args, kwargs, minimal=False, whole=True)


def _proposals(params: Sequence[Param]) -> Iterator[Call]:
    required = [p for p in params if p.required]
    tensors = [p for p in required if p.kind == "tensor"]
    # Tensors of equal rank first, for every choice of the other arguments; then mixtures.
    for symbols in SAME_RANK:
        names = itertools.cycle(symbols)
        fixed = {
            p.name: candidates(p)[:2] if _is_index(p) else [Sym(next(names))] if p in tensors else candidates(p)
            for p in required
        }
        yield from itertools.islice(_product(required, fixed), 120)
    yield from _product(required, {p.name: candidates(p) for p in required})


def _is_index(param: Param) -> bool:
    return isinstance(candidates(param)[0], Sym) and candidates(param)[0] not in (Sym("m"), Sym("n"))


def _product(required: Sequence[Param], choices: dict[str, list[Any]]) -> Iterator[Call]:
    for values in itertools.product(*(choices[p.name] for p in required)):
        args: list[Any] = []
        kwargs: list[tuple[str, Any]] = []
        for param, value in zip(required, values, strict=True):
            if param.keyword_only:
                kwargs.append((param.name, value))
            elif param.variadic:
                args.extend(value if isinstance(value, list) else [value])
            else:
                args.append(value)
        yield Call(*_told_apart(args, kwargs))


def _told_apart(args: list[Any], kwargs: list[tuple[str, Any]]) -> tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]:
    """The arguments with another tensor of the same shape for each that is passed a second time."""
    taken: set[str] = set()

    def another(value: Any) -> Any:
        match value:
            case Sym(name):
                if name in taken and name in SHAPES:
                    name = next((n for n, shape in SHAPES.items() if shape == SHAPES[name] and n not in taken), name)
                taken.add(name)
                return Sym(name)
            case list():
                return [another(item) for item in value]
            case _:
                return value

    return tuple(map(another, args)), tuple((name, another(value)) for name, value in kwargs)


def _options(params: Sequence[Param], call: Call) -> Iterator[Call]:
    """The call with one option moved off its default, each in turn."""
    given = {name for name, _ in call.kwargs}
    for param in params[len(call.args) :]:
        if param.required or param.variadic or param.name in given or param.name in ("out", "inplace", "generator"):
            continue
        values = [not param.default] if param.kind == "bool" and isinstance(param.default, bool) else candidates(param)
        if param.kind == "float":
            values = [0.0, *values]
        for value in values[:4]:
            yield Call(call.args, (*call.kwargs, (param.name, value)), minimal=False)


def _from_recipe(text: str, target: Target) -> list[Call]:
    import torch

    symbols = {name: Sym(name) for name in (*SHAPES, *SPECIAL)}

    def collect(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    # `self` must be first for the reader and is a keyword for Python.
    args, kwargs = eval(f"collect({text})", {**symbols, "torch": torch, "collect": collect})
    self = kwargs.pop("self", Sym("m"))
    if target.form != "function":
        args = (self, *args)
    return [Call(tuple(args), tuple(kwargs.items()))]


SPECIAL: Final = (
    "i", "j", "k", "kv", "z", "spd", "sp", "csr", "array", "buffer", "quantized", "withgrad", "perchannel", "csc",
    "sp2", "repeated", "nested", "loss", "leaf", "spectrum", "lu", "pivots", "labels", "len4", "len2", "offsets",
    "mean", "var", "scales", "zeros", "lengths", "rows", "pointers", "pairs", "places1", "places2", "places3", "spd9",
    "on", "off", "lowest", "highest", "scale", "point", "edges", "ldl", "order", "halves", "halves2", "eighths",
    "eighths2", "bytes3",
)  # fmt: skip


def works(target: Target, call: Call) -> bool:
    """Whether the call returns in some layout."""
    return any(run(target, call, Inputs(layout)) is not None for layout in ("plain", "int", "complex", "double"))


@dataclass(slots=True)
class Ran:
    """A call that returned: what went in, by position (lists flattened), and what came out."""

    args: list[Any]
    kwargs: dict[str, Any]
    result: Any


def run(target: Target, call: Call, inputs: Inputs) -> Ran | None:
    """Calls the target; None if it raises."""
    import torch

    try:
        args = [resolve(value, inputs) for value in call.args]
        kwargs = {name: resolve(value, inputs) for name, value in call.kwargs}
    except Exception:
        return None
    torch.default_generator.manual_seed(0)
    try:
        return Ran(args, kwargs, target.call(*args, **kwargs))
    except Exception:
        return None


# ------------------------------------------------------------------------------------------------------------ observing


@dataclass(slots=True)
class Seen:
    """What one call in one layout did, by argument position where there is one."""

    call: Call
    layout: str
    kind: str
    """"tensor", "host", "array", "none" or "other"."""
    outputs: int = 1
    listed: bool = False
    nested: bool = False
    """A list or tuple came back that holds others."""
    shared: frozenset[int] = frozenset()
    """Arguments whose storage every output has (with variadic arguments: its own)."""
    partly: frozenset[int] = frozenset()
    """Arguments whose storage some output has."""
    same: frozenset[int] = frozenset()
    written: frozenset[int] = frozenset()
    reshaped: frozenset[int] = frozenset()
    """Sparse arguments that were written, by their counters, though no byte in their storages changed."""
    overlaps: bool = False
    lasting: bool = False
    """Two calls on one argument gave the same storage, which is no argument's."""
    dtype: str = ""
    exact: str = ""
    """The dtype of the first output, as torch names it."""
    second_int: bool = False
    """There are two outputs, the first of a float type, the second of an integer type."""
    contiguous: frozenset[int] = frozenset()
    """Arguments that are one contiguous tensor before the call."""
    scattered: frozenset[int] = frozenset()
    """Arguments that are one strided tensor, not contiguous, before the call."""
    permuted: frozenset[int] = frozenset()
    """Arguments with two dimensions or more and in memory order, all of whose elements the output has in another one,
    if it shares their storage."""
    fewer: frozenset[int] = frozenset()
    """Arguments of which every output has some elements, but fewer, and fewer bytes."""
    zero_dim: bool = False
    tensors: frozenset[int] = frozenset()
    float_inputs: bool = False
    draws: bool = False
    hollow: bool = False
    """The results have fewer than two elements: `randperm(1)` has nothing to draw."""
    empty: bool = False
    """An empty list came back, which shows nothing."""


@dataclass(slots=True)
class Graphed:
    """What one call did to the graph when its float arguments required grad."""

    call: Call
    attached: bool
    backward: bool = False
    """Backward ran at all; without that nothing is known of what it kept."""
    saves_output: bool = False
    saves: frozenset[int] = frozenset()
    forbids: bool = False
    full: bool = False
    """Every float tensor that went in required grad."""
    grads: int = 0
    """How many tensors did."""


def flat(value: Any) -> list[Any]:
    """The tensors and arrays in a result or argument."""
    import numpy
    import torch

    if isinstance(value, (torch.Tensor, numpy.ndarray)):
        return [value]
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return [item for part in value for item in flat(part)]
    return []


def memory(value: Any) -> frozenset[tuple[int, int]]:
    """The address ranges that a tensor's storages or an array's buffer occupy; empty ones left out."""
    import numpy

    if isinstance(value, bytearray):
        value = numpy.frombuffer(value, dtype=numpy.uint8)
    if isinstance(value, numpy.ndarray):
        low, high = numpy.lib.array_utils.byte_bounds(value)
        return frozenset({(low, high)}) if high > low else frozenset()
    return frozenset((s.data_ptr(), s.data_ptr() + s.nbytes()) for s in storages(value) if s.nbytes())


def storages(value: Any) -> list[Any]:
    """The storages of a tensor, dense or sparse; none of anything else."""
    import torch

    if not isinstance(value, torch.Tensor):
        return []
    match value.layout:
        case torch.strided:
            parts = [value]
        case torch.sparse_coo:
            parts = [value._indices(), value._values()]
        case torch.sparse_csr | torch.sparse_bsr:
            parts = [value.crow_indices(), value.col_indices(), value.values()]
        case torch.sparse_csc | torch.sparse_bsc:
            parts = [value.ccol_indices(), value.row_indices(), value.values()]
        case _:
            parts = []
    return [part.untyped_storage() for part in parts]


def meet(one: frozenset[tuple[int, int]], other: frozenset[tuple[int, int]]) -> bool:
    """Whether two sets of address ranges have a byte in common."""
    return any(a < d and c < b for a, b in one for c, d in other)


def self_overlapping(tensor: Any) -> bool:
    """Whether two elements of a strided tensor lie at one address."""
    import torch

    if not isinstance(tensor, torch.Tensor) or tensor.is_nested or tensor.layout != torch.strided or not tensor.numel():
        return False
    if tensor.is_contiguous():
        return False
    offsets = [0]
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        offsets = [offset + index * stride for offset in offsets for index in range(size)]
    return len(set(offsets)) < len(offsets)


def _is_strided(tensor: Any) -> bool:
    """Whether a tensor has one storage and strides into it."""
    import torch

    return bool(tensor.layout == torch.strided and not tensor.is_nested)


def _is_integer(tensor: Any) -> bool:
    import torch

    other = tensor.is_floating_point() or tensor.is_complex() or tensor.is_quantized
    return not other and tensor.dtype != torch.bool


def _in_memory_order(tensor: Any) -> bool:
    """Whether the strides descend, apart from those of dimensions with one element or none."""
    strides = [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]
    return all(one >= other for one, other in itertools.pairwise(strides))


def kind_of(value: Any) -> str:
    """ "tensor", "host", "array", "none" or "other"."""
    import numpy
    import torch

    match value:
        case None:
            return "none"
        case torch.Tensor():
            return "tensor"
        case numpy.ndarray():
            return "array"
        case bool() | int() | float() | complex() | str() | torch.Size():
            return "host"
        case torch.dtype() | torch.device() | torch.layout() | torch.memory_format() | torch.qscheme():
            return "host"
        case tuple() | list():
            kinds = {kind_of(item) for item in value}
            if "tensor" in kinds:
                return "tensor"
            return "host" if kinds <= {"host", "none"} else "other"
        case _:
            return "other"


def versions(values: Sequence[Any]) -> list[list[int]]:
    """The version counters of the tensors in each argument."""
    import torch

    return [[t._version for t in flat(v) if isinstance(t, torch.Tensor) and not t.is_inference()] for v in values]


def content(storages: Sequence[Any]) -> list[bytes]:
    """The bytes in each storage."""
    import ctypes

    return [ctypes.string_at(s.data_ptr(), s.nbytes()) if s.nbytes() else b"" for s in storages]


def observe(target: Target, call: Call, layout: str) -> Seen | None:
    """Runs the call once and says what it did; None if it raises."""
    import numpy
    import torch

    inputs = Inputs(layout)
    try:
        args = [resolve(value, inputs) for value in call.args]
        kwargs = {name: resolve(value, inputs) for name, value in call.kwargs}
    except Exception:
        return None
    before = versions(args)
    held = [[memory(t) for t in flat(a)] or ([memory(a)] if isinstance(a, bytearray) else []) for a in args]
    dtypes = [t.dtype for a in args for t in flat(a) if isinstance(t, torch.Tensor)]
    overlapped = any(self_overlapping(t) for a in args for t in flat(a))
    strided = {k: a for k, a in enumerate(args) if isinstance(a, torch.Tensor) and _is_strided(a)}
    sizes = {k: (a.numel(), a.numel() * a.element_size()) for k, a in strided.items()}
    contiguous = frozenset(k for k, a in strided.items() if a.is_contiguous())
    flat_ones = frozenset(k for k, a in strided.items() if a.dim() < 2)
    stores = [[s for t in flat(a) for s in storages(t)] for a in args]
    bits = [content(s) for s in stores]
    torch.default_generator.manual_seed(0)
    state = torch.default_generator.get_state()
    try:
        result = target.call(*args, **kwargs)
    except Exception:
        return None
    draws = not torch.equal(state, torch.default_generator.get_state())
    seen = Seen(call, layout, kind_of(result), draws=draws)
    seen.tensors = frozenset(
        k for k, a in enumerate((*args, *kwargs.values())) if any(isinstance(t, torch.Tensor) for t in flat(a))
    )
    seen.written = frozenset(
        k
        for k, (was, now) in enumerate(zip(before, versions(args), strict=True))
        # `map_` and `apply_` write without counting.
        if was != now or any(a[: len(b)] != b[: len(a)] for a, b in zip(bits[k], content(stores[k]), strict=True))
    )
    seen.reshaped = frozenset(
        k
        for k in seen.written
        if flat(args[k])
        and all(isinstance(t, torch.Tensor) and t.layout != torch.strided for t in flat(args[k]))
        and all(a[: len(b)] == b[: len(a)] for a, b in zip(bits[k], content(stores[k]), strict=True))
    )
    seen.float_inputs = bool(dtypes) and dtypes[0] in (torch.float32, torch.float64)
    outputs = flat(result)
    seen.empty = isinstance(result, (list, tuple)) and not result and not isinstance(result, torch.Size)
    if not outputs:
        return seen
    seen.empty = False
    seen.outputs = len(outputs)
    seen.listed = isinstance(result, (list, tuple)) and not hasattr(result, "_fields")
    seen.nested = seen.listed and any(isinstance(item, (list, tuple)) for item in result)
    first = outputs[0]
    seen.hollow = sum(o.size if isinstance(o, numpy.ndarray) else o.numel() for o in outputs) < 2
    after = [memory(o) for o in outputs]
    shared, partly = set(), set()
    for k, ranges in enumerate(held):
        hits = [any(meet(mine, r) for r in ranges) for mine in after]
        if hits and all(hits):
            shared.add(k)
        if any(hits):
            partly.add(k)
        if len(outputs) == 1 and any(first is t for t in flat(args[k])):
            seen.same |= {k}
    seen.shared, seen.partly = frozenset(shared), frozenset(partly)
    seen.overlaps = not overlapped and any(self_overlapping(o) for o in outputs)
    seen.contiguous, seen.scattered = contiguous, frozenset(strided.keys() - contiguous)
    if all(isinstance(o, torch.Tensor) and _is_strided(o) for o in outputs):
        counts, lengths = [o.numel() for o in outputs], [o.numel() * o.element_size() for o in outputs]
        if min(counts) > 0:
            seen.fewer = frozenset(k for k, (n, size) in sizes.items() if max(counts) < n and max(lengths) < size)
        if len(outputs) == 1 and not _in_memory_order(first):
            seen.permuted = frozenset(k for k in contiguous - flat_ones if sizes[k][0] == first.numel())
    if isinstance(first, torch.Tensor):
        seen.exact = str(first.dtype).removeprefix("torch.")
        second = outputs[1] if len(outputs) == 2 and isinstance(outputs[1], torch.Tensor) else None
        seen.second_int = second is not None and first.is_floating_point() and _is_integer(second)
        seen.zero_dim = len(outputs) == 1 and first.dim() == 0
        if first.dtype == torch.bool:
            seen.dtype = "bool"
        elif _is_integer(first):
            seen.dtype = "int"
        if dtypes and first.dtype == dtypes[0]:
            seen.dtype += "=" if seen.dtype else "same"
    if not partly and seen.tensors and not isinstance(first, numpy.ndarray):
        try:
            again = flat(target.call(*args, **kwargs))
        except Exception:
            again = []
        seen.lasting = any(meet(memory(a), memory(b)) for a, b in zip(outputs, again, strict=False))
    return seen


def graph(target: Target, call: Call) -> Graphed | None:
    """Runs the call with float arguments that require grad, then writes to the result and to each argument in turn and
    asks backward whether it minds.  None if the call raises or no argument is a float tensor."""
    import torch

    ran = _graph_run(target, call)
    if ran is None:
        return None
    args, kwargs, outputs, leaves = ran
    attached = any(o.requires_grad for o in outputs)
    report = Graphed(call, attached)
    if not attached:
        return report
    given = [t for value in (*args, *kwargs.values()) for t in flat(value) if isinstance(t, torch.Tensor)]
    report.full = all(t.requires_grad or not (t.is_floating_point() or t.is_complex()) for t in given)
    report.grads = sum(t.requires_grad for t in given)
    report.backward = _backward(outputs, leaves)
    if not report.backward:
        return report
    # An argument that the op wrote, or that the result shares, cannot be told from the result.
    report.saves_output = _minds(target, call, None)
    touched = {k for k, value in enumerate(args) if any(t is o for t in flat(value) for o in outputs)}
    report.saves = frozenset(
        k for k, value in enumerate(args) if flat(value) and k not in touched and _minds(target, call, k)
    )
    report.forbids = _forbids(outputs)
    return report


def _graph_run(target: Target, call: Call) -> tuple[list[Any], dict[str, Any], list[Any], list[Any]] | None:
    import torch

    inputs = Inputs("plain", grad=True)
    torch.default_generator.manual_seed(0)
    try:
        args = [resolve(value, inputs) for value in call.args]
        kwargs = {name: resolve(value, inputs) for name, value in call.kwargs}
        with torch.enable_grad():
            result = target.call(*args, **kwargs)
    except Exception:
        return None
    outputs = [o for o in flat(result) if isinstance(o, torch.Tensor)]
    return (args, kwargs, outputs, inputs.leaves) if inputs.leaves and outputs else None


def _backward(outputs: list[Any], leaves: list[Any]) -> bool:
    import torch

    ends = [o for o in outputs if o.requires_grad]
    try:
        torch.autograd.grad(ends, leaves, [torch.ones_like(o) for o in ends], allow_unused=True)
    except Exception:
        return False
    return True


def _minds(target: Target, call: Call, position: int | None) -> bool:
    """Whether backward complains of a write to an argument (or, for None, to the differentiable results)."""
    import torch

    ran = _graph_run(target, call)
    if ran is None:
        return False
    args, _, outputs, leaves = ran
    try:
        with torch.no_grad():
            ends = [o for o in outputs if o.requires_grad]
            for tensor in ends if position is None else flat(args[position]):
                tensor.copy_(tensor.clone())
    except Exception:
        return False
    try:
        torch.autograd.grad(ends, leaves, [torch.ones_like(o) for o in ends], allow_unused=True)
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)
    return False


def _forbids(outputs: list[Any]) -> bool:
    try:
        outputs[0].mul_(1)
    except RuntimeError as error:
        return "multiple views" in str(error)
    return False


# ------------------------------------------------------------------------------------------------------------- deciding


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


class Contradiction(Exception):
    """A schema and execution disagree, or the schemas of one name do."""


BATCH: Final = 40
"""Targets a child process does: a fork of torch is slow."""


@dataclass(slots=True)
class Decision:
    """A row, and what a person should know about how it came about."""

    op: Op
    notes: list[str] = field(default_factory=list)


def decide(target: Target) -> Decision:
    """The row of one name."""
    calls = find_calls(target)
    seen = [s for call, layout in _runs(calls) if (s := observe(target, call, layout)) is not None]
    seen = [s for s in seen if not s.empty]
    if not seen:
        return _undecided(target, "not called")
    op = Op(target.name, target.form, "other")
    notes: list[str] = []
    kinds = {s.kind for s in seen}
    if target.form == "function":
        op = replace(op, out_keyword=takes_out(target, [call for call in calls if call.minimal]))
    op = replace(op, random=any(s.draws for s in seen) and all(s.draws or s.hollow for s in seen))
    op = replace(op, **_inplace(target))
    writes = frozenset.intersection(*(s.written for s in seen))
    resized = frozenset.intersection(*(s.reshaped for s in seen))
    op = replace(op, writes=tuple(sorted(writes - _views_in_place(target) - resized)))
    ever = frozenset[int]().union(*(s.written for s in seen))
    if kinds == {"host", "tensor"}:
        # `x.type()` names the type, `x.type(t)` casts: what says something about storage counts.
        seen = [s for s in seen if s.kind == "tensor"]
        notes.append("a tensor or a Python value")
        kinds = {"tensor"}
    if kinds == {"none"} and target.form == "property":
        return Decision(op, ["None for a fresh tensor, which says nothing"])
    if kinds in ({"host"}, {"none"}):
        kind: ops.Result = "host" if kinds == {"host"} else "none"
        op = replace(op, result=kind, detaches=kind == "host" and any(s.tensors for s in seen))
        op = replace(op, reads_data=kind == "host" and any(reads_data(target, call) for call in calls))
        return Decision(check(target, op, ever, notes), notes)
    if not kinds <= {"tensor", "array"} or len(kinds) > 1:
        return Decision(op, [f"results of several kinds: {sorted(kinds)}"])
    op = replace(op, variadic=_variadic_position(target, seen) >= 0, **_sharing(target, seen))
    if "array" in kinds:
        return Decision(replace(op, result="array", detaches=True))
    op = replace(op, many=_count(seen), overlaps=any(s.overlaps for s in seen))
    floats = [s for s in seen if s.float_inputs and s.layout not in ("int", "bool", "complex")]
    if floats and all(s.dtype == "bool" for s in floats):
        op = replace(op, dtype="bool")
    elif floats and all(s.dtype == "int" for s in floats):
        op = replace(op, dtype="int")
    elif seen and all(s.dtype in ("same", "bool=", "int=") for s in seen):
        op = replace(op, dtype="same")
    pairs = [s for s in floats if s.outputs == 2]
    op = replace(op, second_int=bool(pairs) and all(s.second_int for s in pairs))
    op = replace(op, **_memory_facts(op, [s for s in seen if s.call.minimal]))
    fewest = min(len(s.call.args) + len(s.call.kwargs) for s in seen)
    minimal = [s for s in seen if len(s.call.args) + len(s.call.kwargs) == fewest]
    op = replace(op, zero_dim=all(s.zero_dim for s in minimal) and _has_dims(minimal))
    op = replace(op, factory=target.form == "function" and any(not s.tensors for s in seen))
    plain = [call for call in calls if call.minimal]
    op = replace(op, default_dtype=op.factory and all(gives_default_dtype(target, call) for call in plain))
    graphs = [g for call in calls if (g := graph(target, call)) is not None]
    attached = [g for g in graphs if g.attached]
    if graphs:
        op = replace(op, detaches=not attached)
    attached = [g for g in attached if g.backward]
    if attached:
        op = replace(op, saves_output=all(g.saves_output for g in attached))
        _check_formulas(target, op, any(g.saves_output for g in attached))
        op = replace(op, saves_inputs=_saved(attached), forbids_inplace=any(g.forbids for g in attached))
    return Decision(check(target, op, ever, notes), notes)


def _runs(calls: list[Call]) -> Iterator[tuple[Call, str]]:
    minimal = [call for call in calls if call.minimal]
    for k, call in enumerate(minimal):
        yield from ((call, layout) for layout in LAYOUTS + (MORE_LAYOUTS if k < 2 else ()))
    yield from ((call, layout) for call in calls if not call.minimal for layout in FEW_LAYOUTS)


def _symbols(value: Any) -> list[str]:
    match value:
        case Sym(name):
            return [name]
        case list() | tuple():
            return [name for item in value for name in _symbols(item)]
        case _:
            return []


def _has_dims(seen: list[Seen]) -> bool:
    """Whether some call had an argument with dimensions, so that a result without them says something."""
    return any(name not in SHAPES or SHAPES[name] for s in seen for name in _symbols(s.call.args))


def _repeats(call: Call) -> bool:
    """Whether one tensor is passed twice, so that its positions cannot be told apart."""
    names = _symbols(call.args)
    return len(names) > len(set(names))


def _saved(attached: list[Graphed]) -> tuple[int, ...]:
    """Arguments kept by every call in which the most tensors require grad and the least else is given.  Of arguments
    that may be left out, tensors only, those kept by every call that has them all."""
    full = [g for g in attached if g.full and not _repeats(g.call)]
    found = frozenset[int]()
    given = 0
    for calls in ([g for g in full if g.call.minimal], [g for g in full if g.call.whole]):
        most = max((g.grads for g in calls), default=0)
        richest = [g for g in calls if g.grads == most]
        fewest = min((len(g.call.args) + len(g.call.kwargs) for g in richest), default=0)
        richest = [g for g in richest if len(g.call.args) + len(g.call.kwargs) == fewest]
        if richest:
            found |= {k for k in frozenset.intersection(*(g.saves for g in richest)) if k >= given}
            given = max(len(g.call.args) for g in richest)
    return tuple(sorted(found))


def _count(seen: list[Seen]) -> int:
    if any(s.nested for s in seen):
        return 0
    counts = {s.outputs if s.outputs > 1 or s.listed else 1 for s in seen}
    listed = {s.listed for s in seen}
    if counts == {1} and listed == {False}:
        return 1
    if len(counts) == 1 and 1 not in counts:
        return counts.pop()
    return -1 if all(s.listed for s in seen) else 0


def _sharing(target: Target, seen: list[Seen]) -> dict[str, Any]:
    """`result` and `of` of an op that returns tensors or arrays."""
    start = _variadic_position(target, seen)
    if start >= 0:
        # `einsum(equation, *operands)` hides the equation among them.
        start = min((position for s in seen for position in s.partly), default=start)
        whole = [frozenset({start}) if s.partly else frozenset[int]() for s in seen]
        same = [frozenset({start}) if s.same else frozenset[int]() for s in seen]
    else:
        whole = [s.shared | s.partly for s in seen]
        same = [s.same for s in seen]
    always = frozenset.intersection(*same)
    if always:
        return {"result": "same", "of": min(always)}
    if any(s.lasting for s in seen):
        return {"result": "other"}
    counts: dict[int, int] = {}
    for positions in whole:
        for position in positions:
            counts[position] = counts.get(position, 0) + 1
    if not counts:
        return {"result": "fresh"}
    of = max(counts, key=lambda position: (counts[position], -position))
    if any(positions - {of} for s, positions in zip(seen, whole, strict=True) if not _repeats(s.call)):
        # A result with the memory of another argument, or of several, as sparse tensors made of their parts have.
        return {"result": "other"}
    return {"result": "view" if counts[of] == len(seen) else "maybe", "of": of}


def _memory_facts(op: Op, seen: list[Seen]) -> dict[str, Any]:
    """`permutes`, `part`, `layout` and `casts` of an op that returns tensors, from its calls without options."""
    if op.result == "view":
        part = any(op.of in s.fewer for s in seen)
        return {"part": part, "permutes": not part and any(op.of in s.permuted for s in seen)}
    if op.result != "maybe":
        return {}
    dense = [op.of in s.shared for s in seen if op.of in s.contiguous]
    # The layouts that have more than strides to them ("negative") would say what `resolve_neg` does.
    others = [op.of in s.shared for s in seen if op.of in s.scattered and s.layout in LAYOUTS]
    layout = op.dtype == "same" and bool(dense) and all(dense) and not all(others)
    # A call that passes more than the tensor may pass its dtype.
    exact = {s.exact if len(s.call.args) + len(s.call.kwargs) == 1 else "" for s in seen}
    kept = {s.dtype in ("same", "bool=", "int=") for s in seen}
    return {"layout": layout, "casts": exact.pop() if len(exact) == 1 and len(kept) == 2 else ""}


def reads_data(target: Target, call: Call) -> bool:
    """Whether other elements in the same tensors, at the same addresses, change the Python value that comes back."""
    import torch

    for layout in ("plain", "int", "complex", "double"):
        inputs = Inputs(layout)
        ran = run(target, call, inputs)
        if ran is None:
            continue
        given = [t for value in (*ran.args, *ran.kwargs.values()) for t in flat(value) if isinstance(t, torch.Tensor)]
        dense = [t for t in given if _is_strided(t) and not t.is_quantized]
        answers = []
        # All zeros, all ones, then a one in each argument by itself: `equal` says True, True, False.
        for values in ([0] * len(dense), [1] * len(dense), *([int(t is o) for t in dense] for o in dense)):
            try:
                with torch.no_grad():
                    for tensor, value in zip(dense, values, strict=True):
                        tensor.fill_(value)
                answers.append(target.call(*ran.args, **ran.kwargs))
            except Exception:
                continue
        if any(answer != answers[0] for answer in answers):
            return True
    return False


def gives_default_dtype(target: Target, call: Call) -> bool:
    """Whether the result has the default dtype, and changes with it though the arguments stay."""
    import torch

    inputs = Inputs("plain")
    before = torch.get_default_dtype()
    try:
        args = [resolve(value, inputs) for value in call.args]
        kwargs = {name: resolve(value, inputs) for name, value in call.kwargs}
        for dtype in (torch.float32, torch.float64):
            torch.set_default_dtype(dtype)
            outputs = flat(target.call(*args, **kwargs))
            if not outputs or any(o.dtype != dtype for o in outputs):
                return False
    except Exception:
        return False
    finally:
        torch.set_default_dtype(before)
    return True


def _check_formulas(target: Target, op: Op, ever: bool) -> None:
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


def _inplace(target: Target) -> dict[str, Any]:
    """`inplace_flag` and `inplace_position`, from the parameters."""
    for params in target.signatures:
        for k, param in enumerate(params):
            if param.name == "inplace" and param.kind == "bool":
                return {"inplace_flag": True, "inplace_position": -1 if param.keyword_only else k}
    return {}


def _variadic_position(target: Target, seen: list[Seen]) -> int:
    """Where the parameter lies that takes tensors as separate arguments; -1 if there is none."""
    for params in target.signatures:
        for k, param in enumerate(params):
            if param.variadic and any(isinstance(a, (Sym, list)) for s in seen for a in s.call.args[k:]):
                return k
    return -1


def takes_out(target: Target, calls: list[Call]) -> bool:
    """Whether some call accepts `out=` and gives it back."""
    import torch

    for call in calls:
        ran, layout = next(
            ((ran, layout) for layout in ("plain", "int", "complex") if (ran := run(target, call, Inputs(layout)))),
            (None, ""),
        )
        outputs = [] if ran is None else flat(ran.result)
        if not outputs or not all(isinstance(o, torch.Tensor) and o.layout == torch.strided for o in outputs):
            continue
        try:
            given = [torch.empty_like(o).zero_() for o in outputs]
        except Exception:
            continue
        out = given[0] if len(given) == 1 else tuple(given)
        ran = run(target, replace(call, kwargs=(*call.kwargs, ("out", out))), Inputs(layout))
        if ran is None:
            continue
        returned = flat(ran.result)
        if ran.result is None or (len(returned) == len(given) and all(map(operator.is_, returned, given))):
            return True
    return False


def _views_in_place(target: Target) -> frozenset[int]:
    """{0} if torch tags the op as one that changes metadata only."""
    import torch

    tagged = []
    for schema in target.schemas:
        if not _is_out(schema) and _dispatched(schema):
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
        if _is_out(schema):
            continue
        infos = [argument.alias_info for argument in schema.arguments]
        results = [r.alias_info for r in schema.returns if r.alias_info is not None and not r.alias_info.is_write]
        after = frozenset[str]().union(*(r.after_set for r in results)) - {"*"}
        composite = not _dispatched(schema) or torch._C._dispatch_has_kernel_for_dispatch_key(
            _qualified(schema), "CompositeImplicitAutograd"
        )
        found.append(
            Said(
                _qualified(schema),
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
    metadata = _views_in_place(target)
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


def _undecided(target: Target, why: str) -> Decision:
    """A name that could not be called: what its schemas say, as far as they are certain."""
    op = Op(target.name, target.form, "other", **_inplace(target))
    overloads = said(target)
    tensors = [sum(r == "Tensor" for r in overload.returns) for overload in overloads]
    shares = {overload.shares for overload in overloads}
    if not overloads or any(overload.writes for overload in overloads) or len(shares) > 1 or not any(tensors):
        return Decision(op, [why])
    (shared,) = shares
    if shared:
        # An annotation does not tell a view from "the same or a copy".
        return Decision(replace(op, result="maybe", of=min(shared)), [why + "; by its schema, maybe"])
    if all(overload.primitive for overload in overloads):
        many = tensors[0] if len(set(tensors)) == 1 else 0
        return Decision(replace(op, result="fresh", many=many), [why + "; by its schema, fresh"])
    return Decision(op, [why])


def answers(batch: Sequence[Target]) -> list[Decision | str]:
    """`decide` for each target, in child processes, which bad arguments may crash: then a sentence instead."""
    found: list[Decision | str] = []
    while len(found) < len(batch):
        got, status = _in_child(batch[len(found) :])
        found += got
        if len(found) < len(batch):
            # The one that crashed may have suffered from another; alone it has a second chance.
            again, status = _in_child([batch[len(found)]])
            found += again or [f"the process ended with status {status}"]
    return found


def _in_child(batch: Sequence[Target]) -> tuple[list[Decision | str], int]:
    import os
    import pickle
    import signal
    import traceback

    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.dup2(devnull, 2)
        with os.fdopen(writing, "wb") as pipe:
            for target in batch:
                signal.alarm(60)
                try:
                    answer: Decision | str = decide(target)
                except Contradiction as error:
                    answer = f"contradiction: {error}"
                except Exception:
                    answer = traceback.format_exc()
                pickle.dump(answer, pipe)
                pipe.flush()
        os._exit(0)
    os.close(writing)
    found: list[Decision | str] = []
    with os.fdopen(reading, "rb") as pipe:
        while True:
            try:
                found.append(pickle.load(pipe))
            except (EOFError, pickle.UnpicklingError):
                break
    return found, os.waitpid(pid, 0)[1]


def _batch(start: int) -> list[Decision | str]:
    return answers(targets()[start : start + BATCH])


def build(log: Callable[[str], None] = print) -> str:
    """The text of the table."""
    import multiprocessing

    import torch

    rows = []
    failures = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        starts = range(0, len(targets()), BATCH)
        with multiprocessing.get_context("fork").Pool(multiprocessing.cpu_count()) as pool:
            found = [answer for batch in pool.imap(_batch, starts) for answer in batch]
    for target, answer in zip(targets(), found, strict=True):
        if isinstance(answer, str) and answer.startswith("Traceback"):
            raise RuntimeError(f"{target.name}: {answer}")
        if isinstance(answer, str):
            failures.append(f"{target.name}: {answer}")
            continue
        for note in answer.notes:
            log(f"{target.name}: {note}")
        rows.append(ops.render(answer.op))
    for failure in failures:
        log(failure)
    if failures:
        raise Contradiction(f"{len(failures)} names could not be decided cleanly")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows.extend(ops.render(op) for op in modulerows.rows())
    rows.sort(key=lambda row: row.partition("\t")[0])
    version = torch.__version__.partition("+")[0]
    head = f"{ops.STAMP}{version}; written by `python -m flake8_tensorcopy.verify.optable`, do not edit"
    return "\n".join([head, "\t".join(ops.COLUMNS), *rows]) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the table, or with `--check` compares and returns 1 with a diff if it differs."""
    parser = argparse.ArgumentParser(prog="python -m flake8_tensorcopy.verify.optable", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    options = parser.parse_args(argv)
    text = build()
    if not options.check:
        TABLE.write_text(text, encoding="utf-8")
        return 0
    old = TABLE.read_text(encoding="utf-8")
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), str(TABLE), "torch", n=0))
    return int(old != text)


if __name__ == "__main__":
    raise SystemExit(main())
