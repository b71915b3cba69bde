#!/usr/bin/env python3
"""Runs generated Hopper kernels without the project's runtime (gpu_launch.py), checks them against torch
(gpu_programs.py) and times them beside torch.matmul. FOLDER is what `test_codegen "[.dump]"` wrote (CODA_DUMP=folder).

usage: gpu_kernels.py FOLDER [check] [time] [small] [--only TEXT]
"""
import os
import random
import sys
import threading
import time

import torch

from gpu_launch import Kernel, sync, watchdog
from gpu_programs import LOOSE, PROGRAMS, TOLERANCE, dims_for, error, family

START = time.time()
# (M, N, K, operand offset in elements, outputs aligned)
SHAPES = [(1024, 1024, 512, 0, True), (1000, 1000, 200, 0, True), (511, 1025, 72, 0, False), (1, 1, 64, 0, False),
          (300, 520, 0, 0, True), (257, 333, 77, 0, False), (129, 264, 64, 1, True), (2049, 2300, 1032, 0, True),
          (4096, 4104, 136, 0, True)]


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
