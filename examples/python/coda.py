"""coda from Python: compile or load a kernel or a block, launch it on tensors of PyTorch, NumPy (on the host) or any
library with DLPack.

    import coda, torch
    kernel = coda.compile(open("gate_up.coda").read(), target="sm_90a").prepare(0)
    kernel(x=x, w=w, rstd=rstd, act=act)          # on PyTorch's current stream
    replay = kernel.record(x=x, w=w, rstd=rstd, act=act)    # the same launch as one CUDA graph
    replay()

One file over libcoda.so's C interface; found through CODA_LIBRARY, or beside this file, or by the system's loader.
"""
import ctypes as C
import json
import os

DTYPES = ["f32", "f16", "bf16", "e4m3", "e5m2", "e2m1", "ue8m0", "i64", "i32", "u8", "i8", "bool"]
TORCH_NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
               "float8_e8m0fnu": "ue8m0", "float4_e2m1fn_x2": "e2m1", "int64": "i64", "int32": "i32", "uint8": "u8",
               "int8": "i8", "bool": "bool"}
ROLES = ["in", "out", "inout", "scalar"]
HOST = -1
_TENSOR, _REAL, _INTEGER = 0, 1, 2
_ABI_VERSION = 1


class Error(RuntimeError):
    """What the library refused, in its own words; of a program, `messages` has them as data."""
    messages = ()


class _Binding(C.Structure):
    _fields_ = [("symbol", C.c_char_p), ("value", C.c_int64)]


class _Param(C.Structure):
    _fields_ = [("name", C.c_char_p), ("role", C.c_int32), ("dtype", C.c_int32), ("rank", C.c_int32),
                ("has_default", C.c_int32)]


class _Options(C.Structure):
    _fields_ = [("size", C.c_size_t), ("path", C.c_char_p), ("kernel", C.c_char_p), ("target", C.c_char_p),
                ("dims", C.POINTER(_Binding)), ("dim_count", C.c_size_t)]


class _Argument(C.Structure):
    _fields_ = [("name", C.c_char_p), ("kind", C.c_int32), ("dtype", C.c_int32), ("data", C.c_void_p),
                ("device", C.c_int32), ("rank", C.c_int32), ("shape", C.POINTER(C.c_int64)),
                ("strides", C.POINTER(C.c_int64)), ("real", C.c_double), ("integer", C.c_int64)]


def _load():
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libcoda.so")
    path = os.environ.get("CODA_LIBRARY") or (beside if os.path.exists(beside) else "libcoda.so")
    library = C.CDLL(path)
    library.coda_abi_version.restype = C.c_uint32
    if library.coda_abi_version() != _ABI_VERSION:
        raise Error(f"{path} has C interface {library.coda_abi_version()}, this file is for {_ABI_VERSION}")
    for name in ("coda_error", "coda_compile_messages", "coda_image_name", "coda_image_target", "coda_image_param_dim"):
        getattr(library, name).restype = C.c_char_p
    for name in ("coda_image_free", "coda_kernel_free", "coda_recording_free"):
        getattr(library, name).restype = None
        getattr(library, name).argtypes = [C.c_void_p]
    call = [C.c_void_p, C.POINTER(_Argument), C.c_size_t]
    library.coda_launch.argtypes = library.coda_fold.argtypes = call + [C.c_void_p]
    library.coda_record.argtypes = library.coda_workspace_bytes.argtypes = call + [C.c_void_p]
    library.coda_recording_launch.argtypes = [C.c_void_p, C.c_void_p]
    library.coda_weights_changed.argtypes = [C.c_void_p]
    return library


_library = None


def _lib():
    global _library
    _library = _library or _load()
    return _library


def _check(code):
    if code != 0:
        raise Error(_lib().coda_error().decode())


def _int64(what, value):
    """As ctypes would not: it keeps the low 64 bits of anything."""
    if not -2**63 <= value < 2**63:
        raise Error(f"{what} is {value}, which does not fit 64 bits")
    return value


def _bindings(dims):
    for name, value in dims.items():
        if not hasattr(type(value), "__index__") or value < 0:
            raise Error(f"dimension {name} is {value!r}, which is no extent")
        _int64(f"dimension {name}", value)
    return (_Binding * max(1, len(dims)))(*[_Binding(name.encode(), value) for name, value in dims.items()])


def _text(value):
    return None if value is None else value.encode()


class Image:
    """A compiled kernel or block, not yet on a device."""

    def __init__(self, handle):
        self._handle = handle

    def __del__(self):
        _lib().coda_image_free(self._handle)

    @property
    def name(self):
        return _lib().coda_image_name(self._handle).decode()

    @property
    def target(self):
        return _lib().coda_image_target(self._handle).decode()

    @property
    def params(self):
        """[(name, role, dtype, dimensions as text)], in order."""
        found = []
        for i in range(_lib().coda_image_param_count(self._handle)):
            param = _Param()
            _check(_lib().coda_image_param(self._handle, i, C.byref(param)))
            dims = [_lib().coda_image_param_dim(self._handle, i, a).decode() for a in range(param.rank)]
            found.append((param.name.decode(), ROLES[param.role], DTYPES[param.dtype], dims))
        return found

    def has_default(self, name):
        """Whether a call may leave out this scalar."""
        param = _Param()
        index = [p[0] for p in self.params].index(name)
        _check(_lib().coda_image_param(self._handle, index, C.byref(param)))
        return bool(param.has_default)

    def save(self, path):
        _check(_lib().coda_image_save(self._handle, str(path).encode()))

    def prepare(self, device=None, **dims):
        """A Kernel for a CUDA ordinal; for the host if that is the image's target."""
        if device is None:
            device = HOST if self.target == "host" else 0  # of "sm_90a, host" too
        handle = C.c_void_p()
        _check(_lib().coda_prepare(self._handle, C.c_int32(device), _bindings(dims), C.c_size_t(len(dims)),
                                   C.byref(handle)))
        return Kernel(handle, device)


class Kernel:
    """A kernel or a block on a device. Call it with tensors and scalars, by position or by name."""

    def __init__(self, handle, device):
        self._handle, self.device = handle, device

    def __del__(self):
        _lib().coda_kernel_free(self._handle)

    def __call__(self, *args, stream=None, **named):
        block, count = _block(args, named)
        _check(_lib().coda_launch(self._handle, block, count, _stream(self.device, stream)))

    def record(self, *args, **named):
        """A Recording of this call: one CUDA graph, whatever the number of kernels."""
        block, count = _block(args, named)
        handle = C.c_void_p()
        _check(_lib().coda_record(self._handle, block, count, C.byref(handle)))
        return Recording(handle, self, (args, named))

    def workspace_bytes(self, *args, **named):
        """What a call with these arguments keeps between its kernels."""
        block, count = _block(args, named)
        size = C.c_size_t()
        _check(_lib().coda_workspace_bytes(self._handle, block, count, C.byref(size)))
        return size.value

    def fold(self, *args, stream=None, **named):
        """Computes now what a block makes of `const` parameters alone; the first call with other weights does it too."""
        block, count = _block(args, named)
        _check(_lib().coda_fold(self._handle, block, count, _stream(self.device, stream)))

    def weights_changed(self):
        """Weights have new values where they are; no call may be in flight."""
        _check(_lib().coda_weights_changed(self._handle))


class Recording:
    """A call with its arguments, replayed by calling it. Replays must not overlap."""

    def __init__(self, handle, kernel, arguments):
        self._handle, self._kernel, self._arguments = handle, kernel, arguments  # both must live as long

    def __del__(self):
        _lib().coda_recording_free(self._handle)

    def __call__(self, stream=None):
        _check(_lib().coda_recording_launch(self._handle, _stream(self._kernel.device, stream)))


def _block(args, named):
    given = [(None, value) for value in args] + list(named.items())
    return (_Argument * max(1, len(given)))(*[_argument(name, value) for name, value in given]), len(given)


def _stream(device, stream):
    if stream is None and device != HOST:
        import torch
        stream = torch.cuda.current_stream(device).cuda_stream
    return stream


def _argument(name, value):
    name = _text(name)
    if isinstance(value, (bool, int)):
        return _Argument(name=name, kind=_INTEGER, integer=_int64("a scalar" if name is None else name.decode(), int(value)))
    if isinstance(value, float):
        return _Argument(name=name, kind=_REAL, real=value)
    if hasattr(value, "__dlpack__") and not hasattr(value, "data_ptr") and not hasattr(value, "ctypes"):
        return _by_dlpack(name, value)
    dtype = str(value.dtype).replace("torch.", "")
    if dtype not in TORCH_NAMES:
        raise Error(f"coda has no element type for {value.dtype}")
    if hasattr(value, "data_ptr"):  # PyTorch
        data, strides = value.data_ptr(), value.stride()
        device = value.device.index if value.device.type == "cuda" else HOST
    else:  # NumPy
        data, device = value.ctypes.data, HOST
        strides = [stride // value.itemsize for stride in value.strides]
    sizes = C.c_int64 * max(1, len(value.shape))
    return _Argument(name=name, kind=_TENSOR, dtype=DTYPES.index(TORCH_NAMES[dtype]), data=data or None, device=device,
                     rank=len(value.shape), shape=sizes(*value.shape), strides=sizes(*strides))


def _by_dlpack(name, value):
    """Of any library. Its memory is not waited for: work on another stream is the caller's to order."""
    on_cuda = value.__dlpack_device__()[0] != 1
    capsule = value.__dlpack__(stream=-1) if on_cuda else value.__dlpack__()
    get = C.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = C.c_void_p, [C.py_object, C.c_char_p]
    argument = _Argument(name=name)
    _check(_lib().coda_argument_from_dlpack(C.c_void_p(get(capsule, b"dltensor")), C.byref(argument)))
    sizes = C.c_int64 * max(1, argument.rank)  # the capsule's own go with it
    argument.shape = sizes(*argument.shape[:argument.rank])
    if argument.strides:
        argument.strides = sizes(*argument.strides[:argument.rank])
    return argument


def compile(text, kernel=None, target="host", path=None, **dims):
    """An Image from the text of a program; the message of an Error is the program's diagnostics. They are the attribute
    `messages` of both: dictionaries with id, severity, message, way_out, range and notes."""
    bindings = _bindings(dims)
    options = _Options(C.sizeof(_Options), _text(path), _text(kernel), _text(target), bindings, len(dims))
    handle = C.c_void_p()
    code = _lib().coda_compile(text.encode(), C.byref(options), C.byref(handle))
    messages = json.loads(_lib().coda_compile_messages())
    try:
        _check(code)
    except Error as error:
        error.messages = messages
        raise
    image = Image(handle)
    image.messages = messages
    return image


def load(path):
    """An Image from a file that Image.save() or `codac build` wrote."""
    handle = C.c_void_p()
    _check(_lib().coda_image_load(str(path).encode(), C.byref(handle)))
    return Image(handle)
