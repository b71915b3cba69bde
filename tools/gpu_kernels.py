#!/usr/bin/env python3
"""Runs generated Hopper kernels without the project's runtime: loads the cubins and launch descriptions that
`test_codegen "[.dump]"` wrote (CODA_DUMP=folder), checks them against torch and times them beside torch.matmul.

usage: gpu_kernels.py FOLDER [check] [time] [small] [--only TEXT]
"""
import ctypes as C
import json
import math
import os
import random
import sys
import threading
import time
from fractions import Fraction

import torch

START = time.time()
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


GUARD = 64
POISON = -123.0


class Output:
    """A poisoned tensor inside a poisoned buffer. Rows of matrices keep their alignment if asked."""

    def __init__(self, shape, dtype, aligned=True):
        if len(shape) == 2:
            pitch = shape[1] + 2 * GUARD
            pitch = -(-pitch // 64) * 64 if aligned else pitch | 1
            self.buffer = torch.full((shape[0] + 4, pitch), POISON, dtype=dtype, device="cuda")
            self.inside = (slice(2, 2 + shape[0]), slice(GUARD, GUARD + shape[1]))
            self.view = self.buffer[self.inside]
        else:
            count = math.prod(shape)
            self.buffer = torch.full((count + 2 * GUARD,), POISON, dtype=dtype, device="cuda")
            self.inside = slice(GUARD, GUARD + count)
            self.view = self.buffer[self.inside].view(shape)
        self.start = None  # what an inout begins with

    def reset(self):
        self.buffer.fill_(POISON)
        if self.start is not None:
            self.view.copy_(self.start)

    def intact(self):
        copy = self.buffer.clone()
        copy[self.inside] = POISON
        return bool((copy == POISON).all())


def error(got, want):
    if want.numel() == 0:
        return 0.0
    norm = want.double().norm().item()
    return (got.double() - want.double()).norm().item() / (norm if norm else 1.0)


def operand(rows, depth, depth_major, dtype, offset=0, scale=1.0):
    """Logical [rows, depth], stored as asked, possibly at an odd address."""
    shape = (rows, depth) if depth_major else (depth, rows)
    flat = torch.empty(rows * depth + offset, dtype=dtype, device="cuda")
    t = flat[offset:].view(shape)
    t.copy_(torch.randn(shape, device="cuda") * scale)
    return t


def logical(t, depth_major):
    return t if depth_major else t.t()


def layouts(name):
    return (name[5] == "k", name[6] == "k") if name[5:7] in ("kk", "kn", "mk", "mn") else (True, True)


def weights(n, k, offset=0, depth_major=True, dtype=torch.bfloat16):
    return operand(n, k, depth_major, dtype, offset, max(k, 1) ** -0.5)


def product(a, b):
    return a.float() @ b.float().t()


# Programs: name prefix -> dims of (m, n, k), and a function of (name, dims, operand offset, aligned outputs) that gives
# inputs, outputs and what is wanted.
def gemm(name, d, offset, aligned):
    a_major, b_major = layouts(name)
    dtype, out = (torch.float16, torch.float32) if "f16" in name else (torch.bfloat16, torch.bfloat16)
    a = operand(d["M"], d["K"], a_major, dtype, offset)
    b = weights(d["N"], d["K"], offset, b_major, dtype)
    want = product(logical(a, a_major), logical(b, b_major))
    return {"a": a, "b": b}, {"d": Output((d["M"], d["N"]), out, aligned)}, {"d": want}


def gate_up(name, d, offset, aligned):
    x, w = operand(d["M"], d["K"], True, torch.bfloat16, offset), weights(2 * d["F"], d["K"], offset)
    rstd = torch.rand(d["M"], device="cuda") + 0.5
    z = product(x, w) * rstd[:, None]
    want = torch.nn.functional.silu(z[:, :d["F"]]) * z[:, d["F"]:]
    return {"x": x, "w": w, "rstd": rstd}, {"act": Output((d["M"], d["F"]), torch.bfloat16, aligned)}, {"act": want}


def pairs(name, d, offset, aligned):
    a, b = operand(d["M"], d["K"], True, torch.bfloat16, offset), weights(2 * d["F"], d["K"], offset)
    z = product(a, b)
    want = torch.nn.functional.silu(z[:, 0::2]) * z[:, 1::2]
    return {"a": a, "b": b}, {"act": Output((d["M"], d["F"]), torch.bfloat16, aligned)}, {"act": want}


def bias_gelu(name, d, offset, aligned):
    x, w = operand(d["M"], d["K"], True, torch.bfloat16, offset), weights(d["N"], d["K"], offset)
    bias = operand(1, d["N"], True, torch.bfloat16, offset)[0]
    want = torch.nn.functional.gelu(product(x, w) + bias.float(), approximate="tanh")
    return {"x": x, "w": w, "bias": bias}, {"y": Output((d["M"], d["N"]), torch.bfloat16, aligned)}, {"y": want}


def residual(name, d, offset, aligned):
    m, n = d["M"], d["N"]
    x, w = operand(m, d["K"], True, torch.bfloat16, offset), weights(n, d["K"], offset)
    r, gain = operand(m, n, True, torch.bfloat16, offset), operand(1, n, True, torch.bfloat16, offset)[0]
    h = (product(x, w) + r.float()).bfloat16().float()
    outputs = {"h": Output((m, n), torch.bfloat16, aligned), "scaled": Output((m, n), torch.bfloat16, aligned),
               "squares": Output((m,), torch.float32)}
    return {"x": x, "w": w, "r": r, "gain": gain}, outputs, {"h": h, "scaled": h * gain.float(),
                                                             "squares": (h * h).sum(1)}


def qkv_rope(name, d, offset, aligned):
    m, k, hq, hkv, dh = d["M"], d["D"], 32, 8, 128
    h, w = operand(m, k, True, torch.bfloat16, offset), weights((hq + 2 * hkv) * dh, k, offset)
    rstd = torch.rand(m, device="cuda") + 0.5
    angle = torch.rand(m, dh // 2, device="cuda") * 6
    cos, sin = angle.cos(), angle.sin()
    z = (product(h, w) * rstd[:, None]).view(m, hq + 2 * hkv, dh)
    a, b = z[..., :dh // 2], z[..., dh // 2:]
    c, s = cos[:, None], sin[:, None]
    turned = torch.cat([a * c - b * s, b * c + a * s], -1)
    want = {"q": turned[:, :hq], "k": turned[:, hq:hq + hkv], "v": z[:, hq + hkv:]}
    outputs = {o: Output(tuple(t.shape), torch.bfloat16) for o, t in want.items()}
    return {"h": h, "w": w, "rstd": rstd, "cos": cos, "sin": sin}, outputs, want


def linear_ce(name, d, offset, aligned):
    m, v = d["M"], d["V"]
    x, w = operand(m, d["D"], True, torch.bfloat16, offset), weights(v, d["D"], offset)
    t = torch.randint(0, v, (m,), device="cuda")
    t[::5] = -100
    z = product(x, w)
    lse = z.logsumexp(1)
    loss = torch.where(t == -100, 0.0, lse - z.gather(1, t.clamp(min=0)[:, None])[:, 0])
    return ({"x": x, "w": w, "t": t}, {"loss": Output((m,), torch.float32), "lse": Output((m,), torch.float32)},
            {"loss": loss, "lse": lse})


def head_norm(name, d, offset, aligned):
    m, heads, dh = d["M"], d["H"], 64
    a, b = operand(m, d["K"], True, torch.bfloat16, offset), weights(heads * dh, d["K"], offset)
    g = torch.randn(dh, device="cuda")
    z = product(a, b).view(m, heads, dh)
    want = z * torch.rsqrt((z * z).mean(-1, keepdim=True) + 1e-6) * g
    return {"a": a, "b": b, "g": g}, {"q": Output((m, heads, dh), torch.bfloat16)}, {"q": want}


def columns(name, d, offset, aligned):
    m, n = d["M"], d["N"]
    a, b = operand(m, d["K"], True, torch.bfloat16, offset), weights(n, d["K"], offset)
    z = product(a, b)
    outputs = {"d": Output((m, n), torch.float32, aligned), "s": Output((n,), torch.float32),
               "m": Output((n,), torch.float32)}
    return {"a": a, "b": b}, outputs, {"d": z, "s": z.sum(0), "m": z.abs().amax(0)}


def adamw(name, d, offset, aligned):
    t, n, k = d["T"], d["N"], d["K"]
    x, dz = operand(k, t, False, torch.bfloat16, offset), operand(n, t, False, torch.bfloat16, offset, max(t, 1) ** -0.5)
    g = dz.float().t() @ x.float()
    p, m = Output((n, k), torch.float32, aligned), Output((n, k), torch.float32, aligned)
    p.start, m.start = torch.randn(n, k, device="cuda"), torch.randn(n, k, device="cuda")
    lr, b1 = 0.125, 0.75
    new_m = b1 * m.start + (1 - b1) * g
    new_p = p.start - lr * new_m
    outputs = {"p": p, "m": m, "w": Output((n, k), torch.bfloat16, aligned)}
    return {"x": x, "dz": dz, "lr": lr, "b1": b1}, outputs, {"p": new_p, "m": new_m, "w": new_p}


PROGRAMS = {
    "gemm": (gemm, lambda m, n, k: {"M": m, "N": n, "K": k}),
    "gate_up": (gate_up, lambda m, n, k: {"M": m, "F": n, "K": k}),
    "pairs": (pairs, lambda m, n, k: {"M": m, "F": n, "K": k}),
    "bias_gelu": (bias_gelu, lambda m, n, k: {"M": m, "N": n, "K": k}),
    "residual": (residual, lambda m, n, k: {"M": m, "N": n, "K": k}),
    "qkv_rope": (qkv_rope, lambda m, n, k: {"M": m, "D": k, "Hq": 32, "Hkv": 8, "Dh": 128}),
    "linear_ce": (linear_ce, lambda m, n, k: {"M": m, "V": n, "D": k}),
    "head_norm": (head_norm, lambda m, n, k: {"M": m, "H": max(1, n // 64), "K": k, "Dh": 64}),
    "columns": (columns, lambda m, n, k: {"M": m, "N": n, "K": k}),
    "adamw": (adamw, lambda m, n, k: {"N": m, "K": n, "T": k}),
}
TOLERANCE = {torch.bfloat16: 4e-3, torch.float16: 1e-3, torch.float32: 5e-5}
# Sums over rounded values, and differences: less exact than their type.
LOOSE = {"squares": 1e-3, "s": 2e-4}


def family(name):
    return max((p for p in PROGRAMS if name.startswith(p)), key=len)


# (M, N, K, operand offset in elements, outputs aligned)
SHAPES = [(1024, 1024, 512, 0, True), (1000, 1000, 200, 0, True), (511, 1025, 72, 0, False), (1, 1, 64, 0, False),
          (300, 520, 0, 0, True), (257, 333, 77, 0, False), (129, 264, 64, 1, True), (2049, 2300, 1032, 0, True),
          (4096, 4104, 136, 0, True)]


def dims_for(name, m, n, k):
    return PROGRAMS[family(name)][1](m, n, k)


def check(kernels):
    bad = 0
    for name, kernel in kernels.items():
        worst, lines = 0.0, []
        for m, n, k, offset, aligned in SHAPES:
            dims = dims_for(name, m, n, k)
            torch.manual_seed(m * 7 + n * 3 + k)
            inputs, outputs, want = PROGRAMS[family(name)][0](name, dims, offset, aligned)
            launch = kernel.prepare({**inputs, **{o: t.view for o, t in outputs.items()}}, dims)
            first = {}
            for run in range(2):
                for t in outputs.values():
                    t.reset()
                sync("poison")
                launch()
                sync((name, m, n, k))
                for o, t in outputs.items():
                    e = error(t.view, want[o])
                    worst = max(worst, e if o not in LOOSE else 0)
                    limit = LOOSE.get(o, TOLERANCE[t.view.dtype])
                    ok = e <= limit and t.intact()
                    if run == 0:
                        first[o] = t.view.clone()
                    elif not torch.equal(first[o], t.view):
                        ok = False
                        lines.append(f"   {m}x{n}x{k} {o}: two runs differ")
                    if not ok:
                        bad += 1
                        lines.append(f"   {m}x{n}x{k}+{offset} {o}: error {e:.2e} (limit {limit:.0e}), "
                                     f"guard {t.intact()}, maps {launch.tma}, run {run}")
            torch.cuda.empty_cache()
        print(f"{'BAD ' if lines else 'ok  '} {name}: worst error {worst:.2e} [{time.time() - START:.0f}s]", flush=True)
        for line in lines[:8]:
            print(line, flush=True)
    print("CHECK", "FAILED" if bad else "PASSED", bad, flush=True)


# Program -> (M, N, K) of the GEMM at which it is timed.
TIMED = {
    "gemm": [(8192, 8192, 8192), (8192, 14336, 4096), (8192, 4096, 14336), (8192, 6144, 4096), (4096, 4096, 4096)],
    "bias_gelu": [(8192, 14336, 4096)], "gate_up": [(8192, 28672, 4096)], "pairs": [(8192, 28672, 4096)],
    "residual": [(8192, 4096, 14336), (8192, 4096, 4096)], "qkv_rope": [(8192, 6144, 4096)],
    "head_norm": [(8192, 6144, 4096)], "linear_ce": [(8192, 32064, 4096)],
}


def median(x):
    x = sorted(x)
    return (x[len(x) // 2] + x[(len(x) - 1) // 2]) / 2


def burst(f, count, what):
    f()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    events[0].record()
    for i in range(count):
        f()
        events[i + 1].record()
    sync(what)
    return median([events[i].elapsed_time(events[i + 1]) for i in range(count)])


def cool(f, what):
    time.sleep(0.012)
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    f()
    a.record()
    f()
    b.record()
    sync(what)
    return a.elapsed_time(b)


def timing(kernels, shapes, rounds=4):
    if not kernels:
        return
    for m, n, k in shapes:
        a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16) * k ** -0.5
        c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        flops = 2.0 * m * n * k
        functions = {"cublas": lambda: torch.matmul(a, b.t(), out=c)}
        keep = []
        for name, kernel in kernels.items():
            halved = family(name) in ("gate_up", "pairs")
            dims = dims_for(name, m, n // 2 if halved else n, k)
            inputs, outputs, _ = PROGRAMS[family(name)][0](name, dims, 0, True)
            functions[name] = kernel.prepare({**inputs, **{o: t.view for o, t in outputs.items()}}, dims)
            keep.append((inputs, outputs))
        count = max(3, min(200, int(0.03 / (flops / 7e14))))
        ratio = {x: [] for x in functions}
        chill = {x: [] for x in functions}
        for f in functions.values():
            f()
        sync("warm")
        for r in range(rounds):
            for x in random.sample(list(functions), len(functions)):
                pair = [("cublas", functions["cublas"]), (x, functions[x])]
                if r % 2:
                    pair.reverse()
                t = {}
                for y, f in pair:
                    t[y] = burst(f, count, (x, m, n, k))
                ratio[x].append(t["cublas"] / t[x])
        for _ in range(8):
            for x in random.sample(list(functions), len(functions)):
                chill[x].append(cool(functions[x], x))
        base = median(chill["cublas"])
        print(f"{m}x{n}x{k} cublas {flops / base / 1e9:.0f} TF cool; ratio cool / hot: [{time.time() - START:.0f}s]")
        for x in sorted(set(functions) - {"cublas"}, key=lambda x: -median(ratio[x])):
            print(f"   {x:<24} {base / median(chill[x]):.3f} / {median(ratio[x]):.3f}", flush=True)
        del functions, keep, a, b, c
        torch.cuda.empty_cache()


SMALL = [(m, n, k) for n, k in ((6144, 4096), (28672, 4096), (4096, 14336), (4096, 4096)) for m in (1, 16, 64, 128, 256)]


def graph(functions):
    """Captures the functions one after the other; returns a launch of them all."""
    stream = torch.cuda.Stream()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        for f in functions:
            f()
        stream.synchronize()
        with torch.cuda.graph(captured, stream=stream):
            for f in functions:
                f()
    return captured.replay


def small(kernels, shapes, rounds=6):
    """Few rows: graphs of launches over copies of the weights that together exceed the L2, interleaved with cuBLAS."""
    for m, n, k in shapes:
        copies = max(2, min(16, -(-200 * 2 ** 20 // (2 * n * k))))
        x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        ws = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) * k ** -0.5 for _ in range(copies)]
        y = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        passes = max(1, 16 // copies)
        launches = {"cublas": [lambda w=w: torch.matmul(x, w.t(), out=y) for w in ws] * passes}
        for name, kernel in kernels.items():
            dims = dims_for(name, m, n, k)
            launches[name] = [kernel.prepare({"a": x, "b": w, "d": y}, dims) for w in ws] * passes
        graphs = {name: graph(fs) for name, fs in launches.items()}
        times = {name: [] for name in graphs}
        for _ in range(rounds):
            for name in random.sample(list(graphs), len(graphs)):
                times[name].append(burst(graphs[name], 5, (name, m, n, k)) / len(launches[name]))
        base = median(times["cublas"])
        floor = 2.0 * (n * k + m * k + m * n) / 4.3e9
        order = sorted(set(times) - {"cublas"}, key=lambda name: median(times[name]))
        print(f"{m}x{n}x{k} cublas {base * 1e3:.1f} us ({floor / base:.2f} of copy bandwidth): " + ", ".join(
            f"{name[8:]} {base / median(times[name]):.3f}" for name in order) + f" [{time.time() - START:.0f}s]", flush=True)


def main():
    folder = sys.argv[1]
    only = sys.argv[sys.argv.index("--only") + 1].split(",") if "--only" in sys.argv else None
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.zeros(1, device="cuda")
    threading.Thread(target=watchdog, daemon=True).start()
    names = sorted(f[:-6] for f in os.listdir(folder) if f.endswith(".cubin"))
    if only:
        names = [n for n in names if any(o in n for o in only)]
    kernels = {n: Kernel(folder, n) for n in names}
    print(f"{len(kernels)} kernels on {torch.cuda.get_device_name()} [{time.time() - START:.0f}s]", flush=True)
    if "check" in sys.argv:
        check(kernels)
    if "small" in sys.argv:
        small({n: k for n, k in kernels.items() if n.startswith("gemm_kk")}, SMALL)
    if "time" in sys.argv:
        for program, shapes in TIMED.items():
            timing({n: k for n, k in kernels.items() if family(n) == program}, shapes)


main()
