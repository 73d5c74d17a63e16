"""The op table held against execution: what the check catches, survives and reports; and the table itself, in part."""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.ops import Op
from tests.test_ops import get, same_version

torch_only = pytest.mark.torch
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the check forks")
NN = "torch.nn.functional."


@pytest.fixture(scope="module")
def opcheck() -> Iterator[Any]:
    torch = pytest.importorskip("torch")
    same_version(torch)
    threads = torch.get_num_threads()
    yield importlib.import_module("flake8_tensorcopy.verify.opcheck")
    assert torch.get_num_threads() == threads, "the check changes nothing in the process that asks for it"


# --------------------------------------------------------------------------------------------------- what it must catch

LIES: dict[str, tuple[dict[str, Any], str, str]] = {
    "Tensor.transpose": ({"result": "fresh", "of": -1}, 'result "fresh"', "shares the storage of argument 0"),
    "Tensor.clone": ({"result": "view", "of": 0}, 'result "view"', "does not share the storage of argument 0"),
    "Tensor.add_": ({"result": "fresh", "of": -1, "writes": ()}, "writes no argument", "argument 0 was written"),
    "Tensor.reshape": ({"result": "view", "layout": False}, 'result "view"', "does not share the storage"),
    "Tensor.unsqueeze": ({"result": "same"}, 'result "same"', "is not the object that came back"),
    "Tensor.squeeze_": ({"writes": (0,)}, "writes argument 0", "no call changed a byte"),
    "Tensor.mul": ({"writes": (1,)}, "writes argument 1", "neither its version nor its bytes changed"),
    "Tensor.copy_": ({"of": 1}, 'result "same" of argument 1', "argument 1 is not the object"),
    "Tensor.expand": ({"overlaps": False}, "no overlaps", "lie at one address"),
    "Tensor.detach": ({"detaches": False}, "no detaches", "no result requires grad"),
    "torch.sin": ({"detaches": True}, "detaches", "the result requires grad"),
    "torch.exp": ({"saves_output": False}, "no saves_output", "backward raised after a write to the result"),
    "torch.add": ({"saves_output": True}, "saves_output", "backward ran after a write to the result"),
    "torch.mm": ({"saves_inputs": (0,)}, "saves_inputs 0", "backward raised after a write to argument 1"),
    "torch.cat": ({"saves_inputs": (0,)}, "saves_inputs 0", "backward ran after a write to argument 0"),
    "torch.chunk": ({"forbids_inplace": False}, "no forbids_inplace", "one op made several views"),
    "torch.mul": ({"out_keyword": False}, "no out", "`out=` was written and returned"),
    NN + "relu": ({"inplace_flag": False, "inplace_position": -1}, "no inplace", "wrote argument 0"),
    NN + "leaky_relu": ({"inplace_position": 1}, "inplace", "at position 1"),
    "torch.sort": ({"many": 1}, "many 1", "2 tensors in a tuple or list came back"),
    "torch.sum": ({"result": "host"}, 'result "host"', "a tensor came back"),
    "torch.isnan": ({"dtype": "same"}, 'dtype "same"', "bool came back"),
    "torch.eq": ({"dtype": ""}, "no dtype", "every call gave bool"),
    "Tensor.double": ({"casts": "float32"}, "casts to float32", "float64 came back"),
    "torch.topk": ({"second_int": False}, "no second_int", "int64 came back in every call"),
    "torch.dot": ({"zero_dim": False}, "no zero_dim", "gave no dimensions"),
    "torch.cumsum": ({"zero_dim": True}, "zero_dim", "dimensions came back"),
    "Tensor.narrow": ({"part": False}, "no part", "fewer elements"),
    "Tensor.permute": ({"permutes": False}, "no permutes", "in another order"),
    "Tensor.to": ({"layout": True}, "layout", "a contiguous argument was copied"),
    "torch.rand": ({"random": False}, "no random", "every call drew"),
    "torch.zeros": ({"factory": False, "default_dtype": False}, "no factory", "a tensor came from no tensor"),
    "torch.full": ({"default_dtype": True}, "default_dtype", "another dtype came back"),
    "Tensor.item": ({"reads_data": False}, "no reads_data", "other elements gave another value"),
    "Tensor.stride": ({"reads_data": True}, "reads_data", "the same value in every call"),
    "Tensor.numpy": ({"of": -1}, 'result "array"', "it shares the memory of argument 0"),
    "torch.nn.Dropout": ({"result": "fresh", "of": -1}, 'result "fresh"', "shares the storage of argument 0"),
    "torch.nn.Identity": ({"result": "fresh", "of": -1}, 'result "fresh"', "shares the storage of argument 0"),
    "torch.nn.Hardswish": ({"inplace_flag": False, "inplace_position": -1}, "no inplace", "wrote argument 0"),
}
"""Rows with one lie each: the change, and what the check must say of the claim and of what it saw."""


@torch_only
@needs_fork
def test_each_kind_of_lie_is_caught_on_its_row(opcheck: Any) -> None:
    table = {name: replace(get(name), **change) for name, (change, _, _) in LIES.items()}
    report = opcheck.check(jobs=2, table=table)
    said = {name: [(d.claim, d.observed) for d in report.disagreements if d.row == name] for name in LIES}
    missed = {
        name: said[name]
        for name, (_, claim, observed) in LIES.items()
        if not any(found.startswith(claim) and observed in what for found, what in said[name])
    }
    assert missed == {}
    assert {d.row for d in report.disagreements} == set(LIES)
    assert report.agreeing == 0 and report.run == report.rows == len(LIES)
    assert all(d.row in d.call for d in report.disagreements), "the call is shown"


@torch_only
@needs_fork
def test_the_true_rows_agree_and_so_does_a_sample_of_the_table(opcheck: Any) -> None:
    """Every thirteenth row; `tensorcopy verify --ops` does them all."""
    names = {*LIES, *ops.names()[::13]}
    seen: list[tuple[int, int]] = []
    report = opcheck.check(names, jobs=2, progress=lambda done, of: seen.append((done, of)))
    assert report.disagreements == ()
    assert report.rows == len(names) > 150
    assert report.run > 0.9 * report.rows
    assert not {name for name, _ in report.not_run} & set(LIES)
    assert report.calls > 20 * report.run
    assert seen == [(k, len(names)) for k in range(1, len(names) + 1)]
    assert {row for row, _, _ in report.crashes} <= {"torch.quantized_lstm_cell"}, "kernels that check no argument"


# ------------------------------------------------------------------------------------------------- what it must survive


def _plain(name: str) -> Op:
    return Op(name, "function", "fresh")


@torch_only
@needs_fork
def test_crashes_and_hangs_cost_their_calls_and_no_more(
    opcheck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = sys.modules["torch"]
    guard = importlib.import_module("flake8_tensorcopy.verify.opcheck.guard")
    mark = tmp_path / "crashed"

    def crashing(input: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        os.kill(os.getpid(), signal.SIGSEGV)

    def hanging(input: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        while True:
            signal.pause()

    def exiting(input: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        os._exit(3)

    def once(input: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGSEGV)
        return input.clone()

    functions = {"crashing": crashing, "hanging": hanging, "exiting": exiting, "once": once}
    for name, function in functions.items():
        monkeypatch.setattr(torch, name, function, raising=False)
    monkeypatch.setattr(guard, "SECONDS", 1.0)
    table = {f"torch.{name}": _plain(f"torch.{name}") for name in functions} | {"torch.neg": get("torch.neg")}
    report = opcheck.check(jobs=1, table=table)
    refused = dict(report.not_run)
    assert refused.keys() == {"torch.crashing", "torch.hanging", "torch.exiting"}
    assert refused["torch.crashing"].startswith("crashed with SIGSEGV in torch.crashing(")
    assert refused["torch.hanging"].startswith("hung in torch.hanging(")
    assert refused["torch.exiting"].startswith("ended the process with 3 in torch.exiting(")
    assert report.disagreements == () and report.agreeing == report.run == 2, "the others go on, `once` among them"
    assert [how for row, _, how in report.crashes if row == "torch.once"] == ["crashed with SIGSEGV"]


@torch_only
@needs_fork
def test_what_cannot_be_called_is_told_with_its_reason(opcheck: Any) -> None:
    table = {"torch.no_such_op": _plain("torch.no_such_op")}
    report = opcheck.check(jobs=1, table=table | {name: get(name) for name in ("torch.solve", "Tensor.xpu")})
    assert dict(report.not_run) == {
        "Tensor.xpu": "needs a device that this build or machine has not",
        "torch.no_such_op": "torch has no such name",
        "torch.solve": "removed from torch: it raises whatever it is given",
    }
    assert (report.rows, report.run, report.agreeing) == (3, 0, 0)


@torch_only
@needs_fork
def test_unknown_names_and_workers_that_end_are_errors(opcheck: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyError, match=r"no row 'torch\.no_such_op'"):
        opcheck.check(["torch.no_such_op"])
    children = importlib.import_module("flake8_tensorcopy.verify.opcheck.children")
    monkeypatch.setattr(children, "_work", lambda rows, seed, pipe: None)
    with pytest.raises(RuntimeError, match="2 rows have no answer"):
        opcheck.check(["torch.add", "torch.mul"], jobs=2)


# ----------------------------------------------------------------------------------------------------------- the report


def test_the_report_as_text_and_as_data() -> None:
    from flake8_tensorcopy.verify.opcheck import Disagreement, OpsReport

    report = OpsReport(
        torch="2.13.0",
        rows=1637,
        run=1602,
        calls=31204,
        agreeing=1601,
        disagreements=(Disagreement("torch.a", "no out", "it was written", "torch.a(float32[2])"),),
        not_run=(("torch.b", "removed"), ("torch.c", "no kernel"), ("torch.d", "removed")),
        unwitnessed=(("torch.e", "overlaps: never"),),
        crashes=(("torch.f", "torch.f(1)", "hung"),),
    )
    assert report.lines() == [
        "1,602 of 1,637 rows run (97.9 %) in 31,204 calls; 1,601 agree",
        "refuted: torch.a: no out: it was written: torch.a(float32[2])",
        "not run (2): removed: torch.b, torch.d",
        "not run (1): no kernel: torch.c",
        "not witnessed (1): overlaps: never: torch.e",
        "hung: torch.f(1)",
    ]
    data = report.as_json()
    assert list(data) == [
        *("torch", "rows", "run", "calls", "agreeing", "disagreements", "not_run", "unwitnessed", "crashes"),
    ]
    assert data["disagreements"] == [
        {"row": "torch.a", "claim": "no out", "observed": "it was written", "call": "torch.a(float32[2])"}
    ]
    assert data["not_run"][0] == {"row": "torch.b", "reason": "removed"}


@torch_only
@needs_fork
def test_the_same_seed_gives_the_same_report(opcheck: Any) -> None:
    names = ["torch.add", "Tensor.reshape", "torch.nn.Linear", "torch.solve", "torch.bernoulli", "Tensor.to"]
    assert opcheck.check(names, jobs=2, seed=3).as_json() == opcheck.check(reversed(names), jobs=1, seed=3).as_json()


# --------------------------------------------------------------------------------------------------- is the table whole

NO_OPS: dict[str, str] = {
    "reads or sets state of torch, takes and gives no tensor": """are_deterministic_algorithms_enabled
        autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache compiled_with_cxx11_abi
        get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype
        get_default_device get_default_dtype get_deterministic_debug_mode get_device_module get_file_path
        get_float32_matmul_precision get_num_interop_threads get_num_threads init_num_threads initial_seed
        is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled
        is_autocast_enabled is_autocast_ipu_enabled is_autocast_xla_enabled
        is_deterministic_algorithms_warn_only_enabled
        is_grad_enabled is_inference_mode_enabled is_vulkan_available is_warn_always_enabled manual_seed
        prepare_multiprocessing_environment profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 seed set_anomaly_enabled
        set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype
        set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled
        set_autocast_xla_dtype set_autocast_xla_enabled set_default_device set_default_dtype set_default_tensor_type
        set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_num_interop_threads
        set_num_threads set_printoptions set_warn_always thread_safe_generator use_deterministic_algorithms""",
    "takes a tensor into the state of torch, and gives none": "set_rng_state",
    "of shapes, dtypes, types and other values that are no tensors": """broadcast_shapes can_cast is_storage
        promote_types typename sym_constrain_range sym_constrain_range_for_size sym_fresh_size""",
    "files": "load save",
    "takes or gives a function or a task: what it does to tensors is what that does": """compile cond fork vmap wait
        while_loop""",
    "of TorchScript": """import_ir_module import_ir_module_from_buffer merge_type_from_type_comment parse_ir
        parse_schema parse_type_comment unify_type_list boolean_dispatch""",
    "gives a capsule, no tensor": "to_dlpack",
    "for those who write torch: helpers and tools of its own modules": """classproperty Optional assert_int_or_pair
        handle_torch_function has_torch_function has_torch_function_unary has_torch_function_variadic""",
    "a private overload packet that torch leaves in its namespace": "quantized_gru quantized_lstm",
}
NO_MODULES: dict[str, str] = {
    "holds or wraps modules or parameters, and is not called, or calls them": """Container DataParallel Module
        ModuleDict ModuleList ParameterDict ParameterList RNNBase RNNCellBase TransformerDecoder TransformerEncoder""",
    "takes what `modulerows` does not make: probabilities, lengths, indices, ratios, a source and a target": """
        BCELoss CTCLoss CosineEmbeddingLoss FractionalMaxPool2d FractionalMaxPool3d GaussianNLLLoss MaxUnpool1d
        MaxUnpool2d MaxUnpool3d MultiLabelMarginLoss Transformer Upsample UpsamplingBilinear2d UpsamplingNearest2d""",
}


@torch_only
def test_every_public_callable_has_a_row_or_a_reason() -> None:
    torch = pytest.importorskip("torch")
    same_version(torch)
    without = set()
    for owner in ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft"):
        for name, member in inspect.getmembers(importlib.import_module(owner), callable):
            if not name.startswith("_") and not inspect.isclass(member) and ops.function(f"{owner}.{name}") is None:
                without.add(name)
    assert sorted(without) == sorted(name for names in NO_OPS.values() for name in names.split())
    modules = {
        name
        for name, member in inspect.getmembers(torch.nn, inspect.isclass)
        if issubclass(member, torch.nn.Module) and ops.function(f"torch.nn.{name}") is None
    }
    assert sorted(modules) == sorted(name for names in NO_MODULES.values() for name in names.split())
    assert [n for n in dir(torch.Tensor) if not n.startswith("_") and ops.method(n) is None] == []


UNDECIDED: dict[str, str] = {
    "removed from torch: it raises whatever it is given": """Tensor.eig Tensor.lstsq Tensor.reinforce Tensor.solve
        Tensor.symeig torch.eig torch.lstsq torch.matrix_rank torch.solve torch.symeig""",
    "needs a device that is not of the CPU build": "Tensor.ipu Tensor.mtia Tensor.record_stream Tensor.xpu",
    "gives an object that is neither a tensor nor a plain value": """Tensor.register_hook
        Tensor.register_post_accumulate_grad_hook Tensor.storage Tensor.storage_type Tensor.untyped_storage""",
    "None for most tensors": "Tensor.grad Tensor.grad_fn Tensor.name",
    "the same memory from each call, which is no argument's": """Tensor.q_per_channel_scales
        Tensor.q_per_channel_zero_points torch.q_per_channel_scales torch.q_per_channel_zero_points""",
    "has the memory of several arguments, or now of one and then of another": """Tensor.module_load
        torch.sparse_bsc_tensor torch.sparse_bsr_tensor torch.sparse_compressed_tensor torch.sparse_coo_tensor
        torch.sparse_csc_tensor torch.sparse_csr_tensor""",
    "deprecated kernels for packed or quantized weights, or for lists of scales": """torch.fbgemm_linear_fp16_weight
        torch.fbgemm_linear_fp16_weight_fp32_activation torch.fbgemm_linear_int8_weight
        torch.fbgemm_linear_int8_weight_fp32_activation torch.nn.functional.scaled_grouped_mm torch.quantized_gru_cell
        torch.quantized_lstm_cell torch.quantized_rnn_relu_cell torch.quantized_rnn_tanh_cell""",
}


def test_what_is_undecided_is_so_for_a_reason() -> None:
    other = [name for name in ops.names() if get(name).result == "other"]
    assert other == sorted(name for names in UNDECIDED.values() for name in names.split())
