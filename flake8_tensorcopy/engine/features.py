"""What a function holds, as bits: triggers are made of them."""

from __future__ import annotations

WRITE = 1  # something that may change a tensor in place
SHARE = 2  # a binding that may share storage with another
EXPAND = 4
DROPPED = 8  # a call as a statement
STATE_DICT = 16
DATA_PTR = 32
GRAD = 64  # reads `.grad` or calls autograd.grad
LOOP_REBIND = 128  # a for loop and an assignment of one of its targets, or of an item picked by one, to a new value
HOST = 256  # `.cpu()`, `.to(..)`
CLONE = 512
DETACH = 1024
SWAP = 2048
ATTR_STORE = 4096
PARAMETERS = 8192
WEIGHTS = 1 << 17  # names a weight or bias, which a layer may hold
GIVEN_STATE = 1 << 18  # calls a function of the file that gives the state of a module
INPLACE_MODULE = 16384  # a module built to work in place
LOST = 32768  # a write to what an index or a call returned
REPLACED = 65536  # an attribute set to something computed
CALLS_WRITER = 1 << 20  # a call of a function of the file that may write
DEFAULT = 1 << 21  # a default that is made once: no number, no text
HANDS_OUT = 1 << 22  # returns what `self` holds, or a name for it
HOOK = 1 << 23  # registers a forward hook
KEPT_ITEMS = 1 << 24  # a name for a generator, for parameters, for a list of them
MODULE_ALIAS = 1 << 25  # a second name, move or shallow copy of what may be a module
INDEX_ADD = 1 << 26  # `x[idx] += v`
LOADS_STATE = 1 << 27  # `load_state_dict`
REPEAT = 1 << 28  # a list display times a number, a comprehension of a name it does not bind, `dict.fromkeys`
SELF_COPY = 1 << 29  # a write with an operand of the same name, or a product of matrices with `out=`
STORAGE = 1 << 30  # what keeps, moves or borrows a storage: `torch.save`, `share_memory_`, `frombuffer`
WRAP = 1 << 31  # a parameter built over a tensor
REQUIRES_GRAD = 1 << 32  # sets `requires_grad`, or reads it
TO_ARRAY = 1 << 33  # `.numpy()`, `np.array(..)`
OVERLAPS = 1 << 35  # expands, or calls a function of this file that does
INFERENCE = 1 << 34  # names inference_mode, or calls what is decorated with it
BACKWARD = 1 << 36  # calls `backward()`, itself or through a function of this file
KEPT = 1 << 37  # a forward method that sets an attribute; what returns a loss, and makes a tensor of others
REBUILT = 1 << 38  # a tensor made of others by a constructor, or made a leaf
RATIO = 1 << 39  # takes an exponential
UNWRAP = 1 << 40  # makes a Parameter that is not simply assigned to an attribute by `__init__`
LEAF = 1 << 41  # makes a leaf: `requires_grad=True`, `requires_grad_()`
OPTIMIZER = 1 << 42  # builds an optimizer of torch.optim
PLACED = 1 << 43  # puts a new object into an attribute or item of another one
TENSOR_OF = 1 << 44  # `torch.tensor(..)` of something that is no literal
CHAINED = 1 << 45  # copies and casts one after the other in one chain
REPEATED = 1 << 46
GROWN = 1 << 47  # `acc = torch.cat([acc, x])`
COSTS = TENSOR_OF | CHAINED | REPEATED | GROWN
DEEPCOPY = 1 << 56  # `copy.deepcopy`, here or in what is called
TURNED = 1 << 52  # exchanges axes, and calls `view`
UNPACKED = 1 << 53  # unpacks or indexes a shape, and calls `view` or `reshape`
STRIDES = 1 << 54  # strides as such: `.strides`, `[::-1]`, flips
COUNTED = 1 << 55  # counts bytes, or repeats
LAYOUT = EXPAND | TURNED | UNPACKED | STRIDES | COUNTED
ASYNC = 1 << 48  # `non_blocking=`, `pin_memory`
CUDA = 1 << 49  # names CUDA: `.cuda()`, "cuda:0"
LEGACY = 1 << 50  # a tensor type by its old name, `load`
STEPS = 1 << 51  # `backward` and `step`, or what waits for each element
KEEPS_PART = 1 << 57  # appends what may be a view of a part: `append(x[0])`
TO_HOST = 1 << 58  # names the host: `.cpu()`, "cpu"
CAST = 1 << 59  # a call that may change the dtype: `float()`, `to(torch.half)`
RENAMED = 1 << 62  # calls a function of torch by another name than its own
VIA_NUMPY = 1 << 60  # makes arrays of tensors
ANYTHING = (1 << 63) - 1
