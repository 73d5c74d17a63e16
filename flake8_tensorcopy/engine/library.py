"""What the engine takes from names: NumPy's and einops' few entries, modules, containers, words that say training.

Operations of torch are not here: they are rows of the op table.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Only tensors have these: what they are called on is one.
TENSOR_ONLY = frozenset(
    "detach contiguous masked_fill requires_grad_ retain_grad index_select gather masked_select".split()
)

# What a tensor is like, whatever it holds.
METADATA = frozenset(
    "shape size dtype device ndim dim numel nbytes element_size itemsize requires_grad is_leaf layout".split()
)

# Methods that ask what they are given for nothing but its shape, dtype or device.
AS_ANOTHER = frozenset("expand_as reshape_as to type_as view_as".split())

MODULE_METHODS = frozenset(
    "state_dict load_state_dict parameters named_parameters buffers named_buffers zero_grad train eval "
    "register_buffer register_parameter add_module register_module".split()
)
MODULE_SELF = frozenset(
    "to cuda cpu float half double bfloat16 type train eval apply requires_grad_ zero_grad to_empty "
    "share_memory".split()
)
CONTAINER_METHODS = frozenset(
    "append appendleft extend insert items values keys copy get pop setdefault update clear popitem".split()
)
LOADER = "torch.utils.data.DataLoader"

# Methods without arguments of queues, events and threads, which no tensor has: a number or bool of Python's.
ASKS_HOST = frozenset("empty full qsize is_set is_alive".split())

# Classes of torch.nn whose objects have parameters of their own.
WITH_PARAMETERS = frozenset(
    f"{kind}{size}"
    for kind in ("BatchNorm", "Conv", "ConvTranspose", "LazyBatchNorm", "LazyConv", "LazyConvTranspose")
    for size in ("1d", "2d", "3d")
) | frozenset(
    "Bilinear Embedding EmbeddingBag GRU GRUCell GroupNorm LSTM LSTMCell LayerNorm LazyLinear Linear "
    "MultiheadAttention PReLU RMSNorm RNN RNNCell SyncBatchNorm Transformer TransformerDecoder "
    "TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer AdaptiveLogSoftmaxWithLoss".split()
)
# What the layers of torch.nn call their parameters.
OF_LAYERS = frozenset({"weight", "bias"})
# Those that have some only when told `affine=True`.
AFFINE_IF_ASKED = frozenset(f"{lazy}InstanceNorm{size}" for lazy in ("", "Lazy") for size in ("1d", "2d", "3d"))
# The arguments that a product of matrices still reads after it began to write `out`; None is all of them.
READ_WHILE_WRITTEN: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(("mm", "mv", "bmm", "matmul", "linalg.matmul"), (0, 1)),
    **dict.fromkeys(("addmm", "addmv", "addbmm", "baddbmm"), (1, 2)),
    **dict.fromkeys(("matrix_power", "linalg.matrix_power"), (0,)),
    **dict.fromkeys(("chain_matmul", "linalg.multi_dot"), None),
}
# Operations that work element by element, as methods with a `_` or with `out=`, and as operators.
ELEMENTWISE = frozenset(
    "add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow copy lerp addcmul addcdiv "
    "atan2 arctan2 hypot copysign maximum minimum fmax fmin logaddexp logaddexp2 logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor eq ne lt le gt ge xlogy nextafter heaviside gcd lcm "
    "+= -= *= /= //= %= **= &= |= ^=".split()
)

# Context managers that are there to watch what happens inside.
QUIET = ("raises", "suppress", "warns", "profile", "benchmark", "timer", "mode(", "counter", "trace", "record")
# Calls that read a clock: what stands around them is being timed.
CLOCKS = frozenset({"perf_counter", "process_time", "monotonic", "timeit", "perf_counter_ns", "elapsed_time"})
# Decorators that leave what a function does to its arguments as it is.
PLAIN_DECORATORS = frozenset(
    "staticmethod classmethod property abstractmethod override overload wraps no_grad inference_mode enable_grad "
    "compile script export ignore unused setter getter cached_property final".split()
)

NUMPY_SHARES = frozenset({"asarray", "asanyarray", "ascontiguousarray", "frombuffer"})
NUMPY_VIEWS = frozenset(
    "reshape ravel transpose squeeze swapaxes expand_dims broadcast_to atleast_1d atleast_2d view".split()
)
# What gives one number, and no array, where it is asked for no axis.
NUMPY_REDUCES = frozenset(
    "sum prod mean median std var min max amin amax ptp any all argmin argmax count_nonzero nansum nanmean nanmin "
    "nanmax nanstd average norm".split()
)
# NumPy's calls whose result is read-only: views that overlap, and files mapped for reading.
NUMPY_READ_ONLY = frozenset({"broadcast_to", "sliding_window_view"})
# Methods and functions that return `bytes`, as far as a call that wants a buffer is concerned.
GIVES_BYTES = frozenset(
    "bytes encode tobytes read read_bytes readline getvalue recv b64decode decompress dumps pack to_bytes".split()
)
NUMPY_FUNCTION_WRITES = frozenset({"shuffle", "copyto", "putmask", "place", "fill_diagonal"})
NUMPY_WRITES = frozenset({"fill", "sort", "put", "partition", "itemset", "resize"})
EINOPS = frozenset({"einops.rearrange", "einops.repeat", "einops.reduce"})

# Parts of a name that say: a model that is not trained along.
_FROZEN = frozenset(
    "target frozen best old teacher ref reference ema copy prev previous backup saved snapshot original orig initial "
    "lagged slow delayed averaged avg swa shadow anchor fixed before clone twin duplicate baseline checkpoint momentum "
    "static stale past former kept untrained history".split()
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# Of these, the ones that name a model which others are made from.
_FROZEN_SOURCE = frozenset("teacher frozen ref reference old anchor".split())
# And the ones that may also name the module that was given, beside what was put around it.
_FROZEN_OR_GIVEN = frozenset({"original", "orig"})

_TRAIN = re.compile(
    r"(^|_)(train|training|fit|finetune|learn|optimi[sz]e)(_|$)"
    r"|^update_(weights|param|model|policy|actor|critic|network)"
)
_NOT_TRAIN = re.compile(
    r"(set|is|get|make|build|create|load|save|log|test|eval)_|_(config|args|loader|data|set|mode|metrics?)"
)
_OPTIMIZER = re.compile(r"(^|[._])(opts?|optims?|optimi[sz]er|optimi[sz]ers)\d*($|[._\[])|_(opt|optim|optimizer)\d*$")
_BACKWARD_OWNER = re.compile(
    r"(^|[._])(self|accelerator|fabric|engine|trainer|strategy|booster|plugin|scaler|amp|model|optimizer|precision)$"
)
_LOADER = re.compile(r"(^|[._])(data_?)?loader($|[._\d])|Loader\(", re.IGNORECASE)
_MODULE = re.compile(
    r"(^|[._])(model|module|net|network|encoder|decoder|backbone|head|layer|block|policy|actor|critic|unet|vae|"
    r"transformer|generator|discriminator)s?\d*$",
    re.IGNORECASE,
)
_CONTAINER = re.compile(r"(^|[._])(data|batch|graph|sample|spec|state|td|tensordict|inputs|boxes|instances)e?s?\d*$")
_LOSS = re.compile(r"loss|objective|criterion|(^|_)(nll|elbo|cost|penalty)(_|\d|$)", re.IGNORECASE)
_COMPARES = re.compile(r"equal|close|diff|distance|delta|mse|l1|compare|error", re.IGNORECASE)
_LOGS = re.compile(r"(^|[._])(log|logger|logging|print|write|info|debug|warning|writer|tqdm|pbar|set_postfix|wandb)\b")


# Functions that give back the layer that they are given, some of whose parameters are others then.
REPARAMETRISING = frozenset(
    f"torch.nn.utils.{module}{name}_norm" for module in ("", "parametrizations.") for name in ("weight", "spectral")
)
_RECORDS = (".add_scalar", ".add_scalars", ".write", ".log_metric", ".log_metrics", ".log_dict")
# Functions that record what they are given.
RECORDERS = frozenset(
    {
        *(f"logging.{name}" for name in ("debug", "info", "warning", "error", "critical", "log")),
        *(f"{module}.{name}" for module in ("wandb", "mlflow") for name in ("log", "log_metric", "log_metrics")),
    }
)

# Layers of torch.nn with parameters of their own; the first ones keep their argument for the gradient of these.
KEEPING_LAYERS = (
    "Linear", "Conv", "LazyConv", "LazyLinear", "BatchNorm", "SyncBatchNorm", "LayerNorm", "GroupNorm", "RMSNorm"
)  # fmt: skip
_WEIGHTED = (
    *KEEPING_LAYERS, "Bilinear", "Embedding", "LSTM", "GRU", "RNN", "Multihead", "Transformer", "PReLU", "LazyBatch"
)  # fmt: skip
_MODULE_CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict", "Module", "DataParallel"})


def has_weights(name: str) -> bool | None:
    """Whether a module of torch.nn has parameters of its own, by its class; None for a container."""
    short = name.rsplit(".", 1)[-1]
    return None if short in _MODULE_CONTAINERS else short.startswith(_WEIGHTED)


# A file asks the same of the same few names again and again.
_remembered = lru_cache(maxsize=4096)


@_remembered
def says_training(name: str, more: frozenset[str]) -> bool:
    """Whether a call of that name trains what it is given: `train_epoch`, `fit`; `more` are the user's own names."""
    if name in more:
        return True
    return bool(_TRAIN.search(name)) and not _NOT_TRAIN.search(name) and name != "train"


@_remembered
def says_frozen(name: str, source: bool = False) -> bool:
    """Whether a name says that its model keeps its weights while another one is trained: `target_net`, `best_model`."""
    words = {word.lower().removesuffix("s") for word in _WORD.findall(name)}
    return not (_FROZEN_SOURCE if source else _FROZEN).isdisjoint(words)


@_remembered
def says_as_given(name: str) -> bool:
    """Whether such a name may also just say: the module as it was given, `original_model`."""
    words = {word.lower().removesuffix("s") for word in _WORD.findall(name)}
    return words & _FROZEN <= _FROZEN_OR_GIVEN


@_remembered
def says_optimizer(text: str) -> bool:
    """Whether an expression names an optimizer."""
    return bool(_OPTIMIZER.search(text))


@_remembered
def says_backward_owner(text: str) -> bool:
    """Whether `x.backward(loss)` is a call of a helper that backpropagates its argument."""
    return bool(_BACKWARD_OWNER.search(text))


@_remembered
def says_module(text: str) -> bool:
    """Whether an expression names a module: `model`, `self.net`."""
    return bool(_MODULE.search(text))


@_remembered
def says_container(text: str) -> bool:
    """Whether an expression names what may hold several tensors: `data`, `batch`, `self.graph`."""
    return bool(_CONTAINER.search(text))


@_remembered
def says_loader(text: str) -> bool:
    """Whether an expression names a DataLoader."""
    return bool(_LOADER.search(text))


@_remembered
def says_loss(name: str) -> bool:
    """Whether a name is one of a loss, or of what computes it."""
    return bool(_LOSS.search(name))


def gives_loss(name: str) -> bool:
    """Whether a function of that name returns what is backpropagated, or what a loss is made of."""
    return name in ("forward", "training_step") or says_loss(name)


@_remembered
def compares(name: str) -> bool:
    """Whether a function's name says that it compares its arguments: `assert_close`, `distance`."""
    return bool(_COMPARES.search(name))


@_remembered
def logs(text: str) -> bool:
    """Whether a dotted call prints or records text: `logger.info`, `writer.add_scalar`."""
    return bool(_LOGS.search(text)) or text.endswith(_RECORDS)


FACTORIES = frozenset(
    f"torch.{name}" for name in "zeros ones full eye arange empty linspace logspace rand randn randint randperm".split()
)

DEVICE = re.compile(r"(^|_)(device|devices|dev|gpu|cuda)(_?id|_?idx|\d*)?($|_)|^(local_)?rank$", re.IGNORECASE)

COPIES = re.compile(r"clone|cop(y|ies)|replic|duplic", re.IGNORECASE)

HOLDERS = frozenset({"ModuleList", "Sequential", "ModuleDict", "ParameterList", "ParameterDict"})

MAKERS = frozenset({"zeros", "ones", "empty", "rand", "randn", "full", "eye", "arange", "randint", "tensor"})

# Methods that an average is kept up to date with in place.
AVERAGES = frozenset({"add_", "sub_", "lerp_", "copy_"})
RESHAPES = frozenset({"view", "reshape", "expand", "broadcast_to", "flatten"})

REDUCTIONS = frozenset(
    "mean sum amax amin prod std var norm logsumexp argmax argmin any all nansum nanmean max min median".split()
)

# Results that have the strides of what they are computed from, one element for each element.
KEEPS_LAYOUT = frozenset(
    "clone to cpu cuda type float double half bfloat16 int long short bool byte relu relu6 exp log log2 log1p sqrt "
    "rsqrt sin cos tanh sigmoid gelu silu elu leaky_relu softplus abs neg negative square reciprocal sign floor ceil "
    "round clamp clip pow dropout deepcopy detach zeros_like ones_like empty_like rand_like randn_like full_like "
    "type_as erf eq ne lt le gt ge".split()
)
# Results in the order of their axes, whatever they are computed from.
LAYS_IN_ORDER = frozenset("softmax log_softmax layer_norm cumsum masked_fill".split())

STRIDED = {"as_strided": 1, "as_strided_": 1, "as_strided_copy": 1, "new_empty_strided": 1, "empty_strided": 1}

TAKES_ARRAYS = frozenset(
    f"torch.{name}" for name in "from_numpy as_tensor asarray tensor Tensor FloatTensor DoubleTensor".split()
)

# Operations of two tensors that are broadcast together.
BROADCASTING_FUNCTIONS = frozenset(
    "add sub subtract mul multiply div divide true_divide where maximum minimum pow lerp eq ne lt le gt ge "
    "logical_and logical_or logical_xor atan2 fmod remainder masked_fill addcmul addcdiv".split()
)
# Of these a tensor is the receiver, too.
BROADCASTING = BROADCASTING_FUNCTIONS | {"type_as"}
