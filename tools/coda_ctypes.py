"""coda's C interface (runtime/include/coda/coda_c.h) for torch tensors, through ctypes.

    coda = Coda("dist/lib/libcoda.so")
    kernel = coda.load("programs/gate_up.0.coda.bin", device=0, dims={})
    launch = kernel.bind(dict(x=x, w=w, rstd=rstd, act=act))   # reads pointers, shapes and strides once
    launch()                                                    # on torch's current stream
"""
import ctypes as c

import torch

ABI_VERSION = 1
# The order of enum coda_dtype.
DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2, torch.float8_e4m3fn: 3, torch.float8_e5m2: 4,
          torch.int64: 7, torch.int32: 8, torch.uint8: 9, torch.int8: 10, torch.bool: 11}
TENSOR, REAL, INTEGER = 0, 1, 2
HOST = -1


class Binding(c.Structure):
    _fields_ = [("symbol", c.c_char_p), ("value", c.c_int64)]


class CompileOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("path", c.c_char_p), ("kernel", c.c_char_p), ("target", c.c_char_p),
                ("dims", c.POINTER(Binding)), ("dim_count", c.c_size_t)]


class Argument(c.Structure):
    _fields_ = [("name", c.c_char_p), ("kind", c.c_int32), ("dtype", c.c_int32), ("data", c.c_void_p),
                ("device", c.c_int32), ("rank", c.c_int32), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("real", c.c_double), ("integer", c.c_int64)]


class CodaError(RuntimeError):
    pass


def bindings(dims):
    return (Binding * len(dims))(*[Binding(name.encode(), value) for name, value in dims.items()])


class Coda:
    def __init__(self, path):
        self.lib = c.CDLL(str(path))
        self.lib.coda_error.restype = c.c_char_p
        for free in ("coda_image_free", "coda_kernel_free"):
            getattr(self.lib, free).argtypes = [c.c_void_p]
            getattr(self.lib, free).restype = None
        self.lib.coda_abi_version.restype = c.c_uint32
        if self.lib.coda_abi_version() != ABI_VERSION:
            raise CodaError(f"{path} speaks version {self.lib.coda_abi_version()} of the interface, not {ABI_VERSION}")

    def check(self, code):
        if code != 0:
            raise CodaError(self.lib.coda_error().decode())

    def load(self, path, device, dims=None):
        """A kernel from a file that `codac build` wrote."""
        image = c.c_void_p()
        self.check(self.lib.coda_image_load(str(path).encode(), c.byref(image)))
        return self._prepare(image, device, dims or {})

    def compile(self, text, device, kernel=None, target="sm_90a", dims=None):
        """A kernel from the text of a program."""
        given = bindings(dims or {})
        options = CompileOptions(c.sizeof(CompileOptions), None, kernel.encode() if kernel else None, target.encode(),
                                 given, len(given))
        image = c.c_void_p()
        self.check(self.lib.coda_compile(text.encode(), c.byref(options), c.byref(image)))
        return self._prepare(image, device, dims or {})

    def _prepare(self, image, device, dims):
        given, kernel = bindings(dims), c.c_void_p()
        try:
            self.check(self.lib.coda_prepare(image, c.c_int32(device), given, c.c_size_t(len(given)), c.byref(kernel)))
        finally:
            self.lib.coda_image_free(image)
        return Kernel(self, kernel)


class Kernel:
    def __init__(self, coda, handle):
        self.coda, self.handle = coda, handle

    def __del__(self):
        self.coda.lib.coda_kernel_free(self.handle)

    def bind(self, arguments):
        """A function that launches with these tensors and numbers, by parameter name."""
        array, keep = (Argument * len(arguments))(), []
        for entry, (name, value) in zip(array, arguments.items()):
            entry.name = name.encode()
            if isinstance(value, torch.Tensor):
                shape = (c.c_int64 * value.dim())(*value.shape)
                strides = (c.c_int64 * value.dim())(*value.stride())
                keep += [value, shape, strides]
                entry.kind, entry.dtype, entry.data = TENSOR, DTYPES[value.dtype], value.data_ptr()
                entry.device = value.device.index if value.is_cuda else HOST
                entry.rank, entry.shape, entry.strides = value.dim(), shape, strides
            elif isinstance(value, int):
                entry.kind, entry.integer = INTEGER, value
            else:
                entry.kind, entry.real = REAL, value
        function, count = self.coda.lib.coda_launch, c.c_size_t(len(arguments))
        on_gpu = any(isinstance(v, torch.Tensor) and v.is_cuda for v in arguments.values())

        def launch():
            stream = c.c_void_p(torch.cuda.current_stream().cuda_stream) if on_gpu else None
            self.coda.check(function(self.handle, array, count, stream))
        launch.keep = keep
        return launch
