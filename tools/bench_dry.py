#!/usr/bin/env python3
"""Runs a benchmark script on a CPU, so that its own mistakes show without a GPU: bench_dry.py SCRIPT [ARGUMENTS].

Sizes shrink, CUDA's events and graphs become clocks and calls, and programs are for the host (build_programs.sh DIST
host). What it prints of times means nothing; the checks against f64 are as on a GPU.
"""
import contextlib
import os
import pathlib
import runpy
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bench_gpu  # noqa: E402  (after the path)


class Event:
    def __init__(self, enable_timing=False):
        self.at = 0.0

    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, end):
        return max(1e-3, (end.at - self.at) * 1e3)


class Graph:
    def replay(self):
        pass


class Stream:
    cuda_stream = 0

    def wait_stream(self, other):
        pass


def on_host(coda):
    prepare = coda.Image.prepare
    coda.Image.prepare = lambda self, device=None, **dims: prepare(self, coda.HOST, **dims)
    return coda


def main():
    start = bench_gpu.start
    small = lambda name, value: value if name in ("Hkv", "Dh") else max(1, min(value, 4 if name == "Hq" else 64))
    bench_gpu.sized = lambda d: {name: small(name, value) for name, value in d.items()}
    bench_gpu.start = lambda dist: on_host(start(dist))
    bench_gpu.DEVICE, bench_gpu.IDLE_S = "cpu", 0.0
    cuda = torch.cuda
    cuda.Event, cuda.CUDAGraph, cuda.Stream = Event, Graph, Stream
    cuda.synchronize = cuda.empty_cache = lambda *args: None
    cuda.get_device_name = lambda *args: "dry run on the CPU"
    cuda.current_stream = lambda *args: Stream()
    cuda.stream = cuda.graph = lambda *args: contextlib.nullcontext()
    product = torch.mm
    torch.mm = lambda a, b, out_dtype=None, **rest: product(a.float(), b.float()) if out_dtype else product(a, b, **rest)
    os.environ["TORCHDYNAMO_DISABLE"] = "1"  # torch.compile calls the formula as it is
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(pathlib.Path(sys.argv[0]).resolve().parent))
    sys.modules["__main__"].__file__ = sys.argv[0]
    if pathlib.Path(sys.argv[0]).name == "bench_gpu.py":
        return bench_gpu.main()  # what was changed above
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
