#!/usr/bin/env python3
"""Times a weight gradient with AdamW in its epilogue (examples/models/adamw.coda: f32 weights and moments updated in place,
the bf16 copy for the next step) against cuBLAS's product with an f32 output, torch's fused AdamW and the copy, in pairs of
bursts as bench_gpu.py does. Before that, both steps are compared with AdamW in f64. Needs the folder made by
`tools/package.sh --programs` and torch.
"""
import argparse
import json
import pathlib
import sys

import torch

import bench_gpu
from bench_blocks import peer_row, time_peers
from bench_gpu import beat, normal

CASES = [dict(T=8192, N=4096, K=14336), dict(T=16384, N=4096, K=14336), dict(T=8192, N=28672, K=4096),
         dict(T=16384, N=28672, K=4096)]
RATE, B1, B2, EPS, DECAY, STEP, CLIP = 1e-3, 0.9, 0.95, 1e-8, 0.1, 10, 1.0


def make(d):
    n, k, f32 = d["N"], d["K"], torch.float32
    return dict(x=normal(d["T"], k), dz=normal(d["T"], n), p=normal(n, k, scale=k ** -0.5, dtype=f32),
                m=normal(n, k, scale=10.0, dtype=f32), v=(torch.rand(n, k, device=bench_gpu.DEVICE) + 0.5) * 900,
                w=torch.empty(n, k, dtype=torch.bfloat16, device=bench_gpu.DEVICE))


def scalars():
    return dict(lr=RATE, b1=B1, b2=B2, eps=EPS, decay=DECAY, c1=1 - B1 ** STEP, c2=1 - B2 ** STEP, clip=CLIP)


def torch_step(s):
    """torch's, as its optimizer calls it: the step count lives on the device."""
    step = torch.full((), float(STEP), device=bench_gpu.DEVICE)

    def run():
        gradient = torch.mm(s["dz"].t(), s["x"], out_dtype=torch.float32)
        torch._fused_adamw_([s["p"]], [gradient], [s["m"]], [s["v"]], [], [step], lr=RATE, beta1=B1, beta2=B2,
                            weight_decay=DECAY, eps=EPS, amsgrad=False, maximize=False)
        s["w"].copy_(s["p"])
    return run


def check(s, ours, theirs):
    """Relative errors of a sample of rows against f64, of both steps from the same state; ours may be twice theirs."""
    rows = torch.randint(0, s["p"].shape[0], (32,), device=bench_gpu.DEVICE)
    p, m, v = (s[k][rows].double() for k in "pmv")
    g = s["dz"].double()[:, rows].t() @ s["x"].double()
    m, v = B1 * m + (1 - B1) * g, B2 * v + (1 - B2) * g * g
    p = p * (1 - RATE * DECAY) - RATE * (m / (1 - B1 ** STEP)) / ((v / (1 - B2 ** STEP)).sqrt() + EPS)
    before = {k: s[k].clone() for k in "pmv"}

    def errors(step):
        for k, value in before.items():
            s[k].copy_(value)
        step()
        torch.cuda.synchronize()
        return {k: ((s[k][rows].double() - want).norm() / want.norm()).item()
                for k, want in (("p", p), ("m", m), ("v", v), ("w", p))}
    torchs, codas = errors(theirs), errors(ours)
    if not all(codas[k] < 2 * torchs[k] + 1e-7 for k in codas):
        raise AssertionError(f"{codas}, torch's {torchs}")
    return codas, torchs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    coda = bench_gpu.start(args.dist)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; ratio = time of cuBLAS + fused AdamW / coda's", flush=True)
    results, failed = [], 0
    for case in CASES:
        name, d = "N{N}.K{K}.T{T}".format(**case), bench_gpu.sized(case)
        beat(name)
        try:
            kernel = coda.load(args.dist / "programs" / f"adamw.{name}.coda.bin").prepare(0)
            sets = [make(d) for _ in range(2)]
            ours = [lambda s=s: kernel(**s, **scalars()) for s in sets]
            theirs = [torch_step(s) for s in sets]
            errors, torchs = check(sets[0], ours[0], theirs[0])
            timed = time_peers(ours, {"separate": theirs}, args.rounds,
                               2.0 * d["T"] * d["N"] * d["K"], name)
            results.append(dict(dims=d, errors=errors, **timed))
            print(f"{name:<24} {peer_row('separate', timed['separate'])}  errors "
                  + " ".join(f"{k} {errors[k]:.1e}/{torchs[k]:.1e}" for k in errors), flush=True)
        except Exception as error:  # one case must not hide the others
            failed += 1
            print(f"{name:<24} FAILED: {str(error)[:300]}", flush=True)
        torch.cuda.empty_cache()
        if args.json:
            args.json.write_text(json.dumps(results, indent=1))
    print(f"adamw: {len(results)} cases, {failed} failed", flush=True)
    sys.exit(1 if failed or not results else 0)


if __name__ == "__main__":
    main()
