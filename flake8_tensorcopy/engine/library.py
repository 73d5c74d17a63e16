"""What the engine takes from names: NumPy's and einops' few entries, modules, containers, words that say training.

Operations of torch are not here: they are rows of the op table.
"""

from __future__ import annotations

import re

# Only tensors have these: what they are called on is one.
TENSOR_ONLY = frozenset(
    "detach contiguous masked_fill requires_grad_ retain_grad index_select gather masked_select".split()
)

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
NUMPY_FUNCTION_WRITES = frozenset({"shuffle", "copyto", "putmask", "place", "fill_diagonal"})
NUMPY_WRITES = frozenset({"fill", "sort", "put", "partition", "itemset", "resize"})
EINOPS = frozenset({"einops.rearrange", "einops.repeat", "einops.reduce"})

_TRAIN = re.compile(
    r"(^|_)(train|training|fit|finetune|learn|optimi[sz]e)(_|$)"
    r"|^update_(weights|param|model|policy|actor|critic|network)"
)
_NOT_TRAIN = re.compile(
    r"(set|is|get|make|build|create|load|save|log|test|eval)_|_(config|args|loader|data|set|mode|metrics?)"
)
_OPTIMIZER = re.compile(r"(^|[._])(opt|optim|optimi[sz]er|optimi[sz]ers)\d*($|[._\[])|_(opt|optim|optimizer)\d*$")
_LOADER = re.compile(r"(^|[._])(data_?)?loader($|[._\d])|Loader\(", re.IGNORECASE)
_MODULE = re.compile(
    r"(^|[._])(model|module|net|network|encoder|decoder|backbone|head|layer|block|policy|actor|critic|unet|vae|"
    r"transformer|generator|discriminator)s?\d*$",
    re.IGNORECASE,
)
_CONTAINER = re.compile(r"(^|[._])(data|batch|graph|sample|spec|state|td|tensordict|inputs|boxes|instances)e?s?\d*$")
_COMPARES = re.compile(r"equal|close|diff|distance|delta|mse|l1|compare|error", re.IGNORECASE)
_LOGS = re.compile(r"(^|[._])(log|logger|logging|print|write|info|debug|warning|writer|tqdm|pbar|set_postfix|wandb)\b")


def says_training(name: str, more: frozenset[str]) -> bool:
    """Whether a call of that name trains what it is given: `train_epoch`, `fit`; `more` are the user's own names."""
    if name in more:
        return True
    return bool(_TRAIN.search(name)) and not _NOT_TRAIN.search(name) and name != "train"


def says_optimizer(text: str) -> bool:
    """Whether an expression names an optimizer."""
    return bool(_OPTIMIZER.search(text))


def says_module(text: str) -> bool:
    """Whether an expression names a module: `model`, `self.net`."""
    return bool(_MODULE.search(text))


def says_container(text: str) -> bool:
    """Whether an expression names what may hold several tensors: `data`, `batch`, `self.graph`."""
    return bool(_CONTAINER.search(text))


def says_loader(text: str) -> bool:
    """Whether an expression names a DataLoader."""
    return bool(_LOADER.search(text))


def compares(name: str) -> bool:
    """Whether a function's name says that it compares its arguments: `assert_close`, `distance`."""
    return bool(_COMPARES.search(name))


def logs(text: str) -> bool:
    """Whether a dotted call prints or records text: `logger.info`, `writer.add_scalar`."""
    return bool(_LOGS.search(text)) or text.endswith((".add_scalar", ".write"))
