"""The Python binding on the host, with memory of ctypes in the place of PyTorch's: binding_test.py LIBCODA EXAMPLES."""
import ctypes
import math
import os
import sys
import tempfile
import types

os.environ["CODA_LIBRARY"] = sys.argv[1]
sys.path.insert(0, os.path.join(sys.argv[2], "python"))
import coda  # noqa: E402


class Tensor:
    """What the binding asks of a torch.Tensor, in bf16 (bits) or f32."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, "torch." + dtype
        count = math.prod(shape)
        self.memory = ((ctypes.c_uint16 if dtype == "bfloat16" else ctypes.c_float) * max(count, 1))()
        self.device = types.SimpleNamespace(type="cpu", index=None)

    def data_ptr(self):
        return ctypes.addressof(self.memory)

    def stride(self):
        return [math.prod(self.shape[axis + 1:]) for axis in range(len(self.shape))]

    def __getitem__(self, i):
        if self.dtype != "torch.bfloat16":
            return self.memory[i]
        return ctypes.c_float.from_buffer(ctypes.c_uint32(self.memory[i] << 16)).value

    def __setitem__(self, i, value):
        if self.dtype == "torch.bfloat16":  # only values that bf16 holds exactly are stored here
            value = ctypes.c_uint32.from_buffer(ctypes.c_float(value)).value >> 16
        self.memory[i] = value


def raises(call, text):
    try:
        call()
    except coda.Error as error:
        assert text in str(error), error
        return
    raise AssertionError("no error: " + text)


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class ByDlpack:
    """A tensor of a library that speaks DLPack alone."""

    def __init__(self, tensor, device_type=1):
        self.tensor, self.device_type = tensor, device_type

    def __dlpack_device__(self):
        return self.device_type, 0

    def __dlpack__(self, stream=None):
        assert stream == (None if self.device_type == 1 else -1)
        rank = len(self.tensor.shape)
        self.shape = (ctypes.c_int64 * max(rank, 1))(*self.tensor.shape)
        code, bits = (4, 16) if self.tensor.dtype == "torch.bfloat16" else (2, 32)
        self.managed = DLTensor(self.tensor.data_ptr() - 16, self.device_type, 0, rank, code, bits, 1, self.shape, None, 16)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


def main():
    path = os.path.join(sys.argv[2], "gate_up.coda")
    source = open(path).read()
    image = coda.compile(source, path=path)
    assert image.target == "host"
    assert image.params[1] == ("w", "in", "bf16", ["2*F", "K"]), image.params
    m, f, k = 5, 12, 16
    x, w = Tensor((m, k), "bfloat16"), Tensor((2 * f, k), "bfloat16")
    rstd, act = Tensor((m,), "float32"), Tensor((m, f), "bfloat16")
    for i in range(m * k):
        x[i] = (i * 7 % 9 - 4) / 4
    for i in range(2 * f * k):
        w[i] = (i * 5 % 11 - 5) / 8
    for i in range(m):
        rstd[i] = 0.5 + i / 4

    with tempfile.TemporaryDirectory() as folder:
        image.save(os.path.join(folder, "gate_up.kernel"))
        kernel = coda.load(os.path.join(folder, "gate_up.kernel")).prepare()
    kernel(x, w, rstd, act=act)
    for row in range(m):
        for column in range(f):
            dot = [sum(x[row * k + i] * w[(column + part * f) * k + i] for i in range(k)) for part in (0, 1)]
            gate, up = (value * rstd[row] for value in dot)
            want = gate / (1 + math.exp(-gate)) * up
            got = act[row * f + column]
            assert abs(got - want) <= 2 ** -8 * abs(want) + 1e-6, (row, column, got, want)

    first = bytes(act.memory)
    for i in range(m * f):
        act[i] = 0
    kernel(ByDlpack(x), ByDlpack(w), ByDlpack(rstd), act=ByDlpack(act))
    assert bytes(act.memory) == first
    raises(lambda: kernel(ByDlpack(x, device_type=10), w, rstd, act=act), "its device type is 10")
    raises(lambda: kernel(ByDlpack(x, device_type=2), w, rstd, act=act), "argument 'x'")
    raises(lambda: kernel(x, w, ByDlpack(Tensor((1,) * 9, "float32")), act=act), "it has 9 axes")
    raises(lambda: kernel(x, w, ByDlpack(Tensor((), "float32")), act=act), "argument 'rstd'")

    raises(lambda: image.prepare(Q=3), "no dimension 'Q'")
    raises(lambda: image.prepare(M=-3), "no extent")
    raises(lambda: image.prepare(M=2**64 + 3), "does not fit 64 bits")
    raises(lambda: kernel(x, w, rstd, act=2**64 + 5), "act is 18446744073709551621, which does not fit 64 bits")

    # A block of three kernels is used as a kernel is.
    block = coda.compile(open(os.path.join(sys.argv[2], "mlp_block.coda")).read()).prepare()
    t, d, a, f = 3, 8, 4, 5
    shapes = dict(x=(t, d), attn=(t, a), wo=(d, a), gain=(d,), w_gate_up=(2 * f, d), w_down=(d, f), y=(t, d))
    tensors = {name: Tensor(shape, "bfloat16") for name, shape in shapes.items()}
    for tensor in tensors.values():
        for i in range(math.prod(tensor.shape)):
            tensor[i] = (i * 7 % 9 - 4) / 8
    block(**tensors)
    first = [tensors["y"][i] for i in range(t * d)]
    h = [[tensors["x"][r * d + c] + sum(tensors["attn"][r * a + i] * tensors["wo"][c * a + i] for i in range(a))
          for c in range(d)] for r in range(t)]
    for r in range(t):
        scale = (sum(v * v for v in h[r]) / d + 1e-5) ** -0.5
        n = [h[r][c] * scale * tensors["gain"][c] for c in range(d)]
        z = [sum(n[c] * tensors["w_gate_up"][j * d + c] for c in range(d)) for j in range(2 * f)]
        act2 = [z[j] / (1 + math.exp(-z[j])) * z[f + j] for j in range(f)]
        for c in range(d):
            want = h[r][c] + sum(act2[j] * tensors["w_down"][c * f + j] for j in range(f))
            assert abs(first[r * d + c] - want) <= 0.03 * abs(want) + 0.02, (r, c, first[r * d + c], want)
    assert block.workspace_bytes(**tensors) > 0
    for i in range(t * d):
        tensors["y"][i] = 0
    block.fold(**tensors)
    block.weights_changed()
    replay = block.record(**tensors)
    replay()
    assert [tensors["y"][i] for i in range(t * d)] == first

    raises(lambda: kernel(x, w, rstd), "argument 'act': a tensor is expected")
    raises(lambda: kernel(x, w, rstd, out=act), "no parameter 'out'")
    raises(lambda: kernel(w, w, rstd, act=act), "argument")
    raises(lambda: coda.compile("kernel broken("), "error[")
    try:
        coda.compile("kernel broken(")
    except coda.Error as error:
        assert error.messages[-1]["severity"] == "error" and error.messages[-1]["range"]["begin"]["line"] == 1, error.messages
    unused = coda.compile("kernel f(x: f32[M, K], w: f32[N, K], b: f32[N]) -> (y: f32[M, N]) { y = x @ w.T }")
    assert [message["id"] for message in unused.messages] == ["E0280"], unused.messages
    raises(lambda: coda.compile(source, target="sm_1"), "sm_1")
    raises(lambda: coda.load("/nonexistent"), "/nonexistent")
    print("python binding: fine")


main()
