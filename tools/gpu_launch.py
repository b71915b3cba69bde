"""Launches what `test_codegen "[.dump]"` wrote (CODA_DUMP=folder): cubins and descriptions of their launches, through the
driver alone, without the project's runtime. So a defect of the runtime can't hide one of the compiler, or the reverse."""
import ctypes as C
import json
import os
import time
from fractions import Fraction

import torch

cuda = C.CDLL("libcuda.so.1")
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "i64": torch.int64, "i32": torch.int32}
MAP_TYPES = {torch.bfloat16: 9, torch.float16: 6}
PROCESSORS = 132
beat = [time.time(), "start"]


def watchdog():
    while True:
        time.sleep(1)
        if time.time() - beat[0] > 40:
            print("HANG at", beat[1], flush=True)
            os._exit(9)


def check_cuda(code, what):
    if code:
        text = C.c_char_p()
        cuda.cuGetErrorString(code, C.byref(text))
        raise RuntimeError(f"{what}: {code} {text.value}")


def value(text, dims):
    """Value of a dimension's text under dims."""
    names = {k: Fraction(v) for k, v in dims.items()}
    v = eval(text, {"__builtins__": {}}, names)  # our own artefact's text: polynomials only
    v = Fraction(v)
    assert v.denominator == 1, text
    return int(v)


class Kernel:
    def __init__(self, folder, name):
        self.name = name
        self.image = json.load(open(f"{folder}/{name}.json"))
        code = open(f"{folder}/{name}.cubin", "rb").read() + b"\0"
        module = C.c_void_p()
        check_cuda(cuda.cuModuleLoadData(C.byref(module), code), "load " + name)
        self.function = C.c_void_p()
        check_cuda(cuda.cuModuleGetFunction(C.byref(self.function), module, self.image["entry"].encode()), name)
        check_cuda(cuda.cuFuncSetAttribute(self.function, 8, self.image["shared"]), "shared memory")
        self.workspaces = {}

    def encode(self, spec, tensor, dims):
        raw = C.create_string_buffer(192)
        address = (C.addressof(raw) + 63) & ~63
        extents = [value(a["extent"], dims) // a["divisor"] for a in spec["axes"]]
        size = tensor.element_size()
        base = tensor.data_ptr()
        if spec["offset_axis"] >= 0:
            base += value(spec["offset"], dims) * tensor.stride(spec["offset_axis"]) * size
        strides = [tensor.stride(a["axis"]) * a["multiplier"] * size for a in spec["axes"]]
        if strides[0] != size and extents[0] > 1:
            return raw, address, False
        if min(extents) < 1 or base % 16 or any(s % 16 for s in strides[1:]):
            return raw, address, False
        n = len(extents)
        code = cuda.cuTensorMapEncodeTiled(
            C.c_void_p(address), C.c_int(MAP_TYPES[tensor.dtype]), C.c_uint32(n), C.c_void_p(base),
            (C.c_uint64 * n)(*extents), (C.c_uint64 * max(1, n - 1))(*strides[1:]),
            (C.c_uint32 * n)(*[a["box"] for a in spec["axes"]]), (C.c_uint32 * n)(*[1] * n),
            C.c_int(0), C.c_int(3), C.c_int(3), C.c_int(0))
        return raw, address, code == 0

    def holds(self, condition, tensors, dims):
        t = tensors[condition["param"]]
        if t.data_ptr() % condition["alignment"]:
            return False
        for axis in range(t.dim()):
            if t.shape[axis] == 1:
                continue
            if axis == condition["unit_axis"]:
                if t.stride(axis) != 1:
                    return False
            elif t.stride(axis) * t.element_size() % condition["alignment"]:
                return False
        return all(value(e, dims) % condition["multiple"] == 0 for e in condition["extents"])

    def workspace(self, index, dims):
        w = self.image["workspaces"][index]
        size = value(w["bytes"], dims)
        if w["tile_bytes"]:
            size += (w["tile_bytes"] * -(-value(w["rows"], dims) // w["tile_rows"])
                     * -(-value(w["columns"], dims) // w["tile_columns"]))
        key = (index, size)
        if key not in self.workspaces:
            self.workspaces[key] = torch.zeros(max(16, size), dtype=torch.uint8, device="cuda")
        return self.workspaces[key]

    def prepare(self, arguments, dims):
        """arguments: name -> tensor or number. Returns a function that launches."""
        image = self.image
        values = [arguments[p["name"]] for p in image["params"]]
        for p, v in zip(image["params"], values):
            if p["role"] != "scalar":
                assert list(v.shape) == [value(e, dims) for e in p["extents"]], (p["name"], v.shape)
        maps = [self.encode(m, values[m["param"]], dims) for m in image["maps"]]
        words = []
        for w in image["words"]:
            kind, v = w["kind"], values[w["param"]] if w["param"] >= 0 and w["kind"] != "workspace" else None
            if kind == "pointer":
                words.append(v.data_ptr())
            elif kind == "stride":
                words.append(v.stride(w["axis"]))
            elif kind == "extent":
                words.append(value(w["dim"], dims))
            elif kind == "scalar":
                words.append(int.from_bytes(bytes(C.c_float(v)), "little") if isinstance(v, float) else int(v))
            elif kind == "workspace":
                words.append(self.workspace(w["param"], dims).data_ptr())
            elif kind == "conditions":
                words.append(sum(1 << i for i, c in enumerate(image["conditions"]) if self.holds(c, values, dims)))
            else:
                words.append(sum(1 << i for i, m in enumerate(maps) if m[2]))
        block = (C.c_uint64 * max(1, len(words)))(*[w & (2 ** 64 - 1) for w in words])
        pointers = [m[1] for m in maps] + [C.addressof(block)]
        args = (C.c_void_p * len(pointers))(*pointers)
        cluster = image["cluster"]
        columns = sum(-(-value(c, dims) // (image["tile_columns"] // s))
                      for c, s in zip(image["columns"], image["segments"]))
        tiles = -(-value(image["rows"], dims) // (image["tile_rows"] * cluster)) * columns
        grid = min(PROCESSORS // cluster, tiles) * cluster
        keep = [maps, block, pointers, values]

        def launch(keep=keep):
            beat[0] = time.time()
            stream = C.c_void_p(torch.cuda.current_stream().cuda_stream)
            check_cuda(cuda.cuLaunchKernel(self.function, grid, 1, 1, image["threads"], 1, 1, image["shared"], stream,
                                           args, None), "launch " + self.name)
        launch.tma = all(m[2] for m in maps)
        return launch


def sync(what):
    beat[:] = [time.time(), what]
    try:
        torch.cuda.synchronize()
    except Exception as error:
        print("LAUNCH FAILED", what, str(error)[:100], flush=True)
        os._exit(7)
