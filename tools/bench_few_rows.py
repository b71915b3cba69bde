#!/usr/bin/env python3
"""Times products of few rows, with their depth cut into parts, against cuBLAS: CUDA graphs of launches over weights that
exceed the L2, bursts of both interleaved. Every program's output is checked against f64, and that it gives the same bits
each time.

Needs the folder made by `tools/package.sh --programs` and torch.
"""
import argparse
import json
import pathlib
import re
import statistics
import sys

import torch

import bench_gpu
from bench_blocks import graph_of
from bench_gpu import Timer, beat, normal

ROWS = 16
BANDWIDTH = 4.3e12  # bytes a second that a copy reaches


def run_shape(coda, dist, n, k, args):
    sets = [(normal(ROWS, k), normal(n, k, scale=k ** -0.5), torch.empty(ROWS, n, device=bench_gpu.DEVICE, dtype=torch.bfloat16))
            for _ in range(max(2, -(-200_000_000 // (2 * n * k))))]

    def timed(launch):
        def run():
            for x, w, y in sets:
                launch(x, w, y)
        return Timer([graph_of(run)])
    base = timed(lambda x, w, y: torch.matmul(x, w.t(), out=y))
    base.calibrate()
    roof = 2 * n * k / BANDWIDTH * 1e6
    results = []
    for path in sorted((dist / "programs").glob(f"few_rows.N{n}.K{k}.s*.coda.bin")):
        parts = int(re.search(r"\.s(\d+)\.", path.name)[1])
        beat(path.name)
        try:
            kernel = coda.load(path).prepare(0)
            for x, w, y in sets[:2]:
                first = None
                for _ in range(3):
                    y.fill_(float("nan"))
                    kernel(x=x, w=w, y=y)
                    torch.cuda.synchronize()
                    same = first is None or torch.equal(first.view(torch.int16), y.view(torch.int16))
                    first = y.clone()
                    if not same:
                        raise AssertionError("two runs differ")
                want = x.double() @ w.double().t()
                error = ((y.double() - want).norm() / want.norm()).item()
                if not error < 5e-3:
                    raise AssertionError(f"relative error {error:.2e}")
            ours = timed(lambda x, w, y: kernel(x=x, w=w, y=y))
            ours.calibrate()
            pairs = bench_gpu.pairs(Timer.burst, base, ours, args.rounds, path.name)
            us = [statistics.median(ms) * 1e3 / len(sets) for ms in pairs[:2]]
            results.append(dict(n=n, k=k, parts=parts, cublas_us=us[0], coda_us=us[1], ratio=statistics.median(pairs[2])))
            name = f"{parts} parts" if parts else "as chosen"
            print(f"{ROWS}x{n}x{k} {name:<10} cuBLAS {us[0]:6.1f} us  coda {us[1]:6.1f} us  ratio {results[-1]['ratio']:.3f}"
                  f"  of the bandwidth {roof / us[1]:.2f}  error {error:.1e}", flush=True)
        except Exception as problem:  # one program must not hide the others
            results.append(dict(n=n, k=k, parts=parts, failed=str(problem)))
            print(f"{ROWS}x{n}x{k} {parts} parts FAILED: {problem}", flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    bench_gpu.BURST_MS = 10.0  # at this size the power does not matter
    coda = bench_gpu.start(args.dist)
    results = []
    for n, k in ((6144, 4096), (4096, 14336)):
        results += run_shape(coda, args.dist, n, k, args)
        torch.cuda.empty_cache()
        if args.json:
            args.json.write_text(json.dumps(results, indent=1))
    failed = sum("failed" in r for r in results)
    print(f"few rows: {len(results)} programs, {failed} failed", flush=True)
    sys.exit(1 if failed or not results else 0)


if __name__ == "__main__":
    main()
