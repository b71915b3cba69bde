#!/usr/bin/env python3
"""Times coda's kernels against cuBLAS (torch.matmul; torch._scaled_mm for 8-bit operands) doing the GEMM alone, in one
process on one GPU; kernels without a GEMM against torch's copy of as many bytes as they read and write.

A pair of bursts is one of cuBLAS and one of coda, in the order cuBLAS, coda, coda, cuBLAS, so that a drift of clock or
temperature cancels; the ratio of a pair is cuBLAS's time over coda's. "Hot" are bursts of at least 45 ms back to back,
at steady power; "cool" is a launch after an idle gap of 12 ms and one launch to warm up. Inputs rotate among several
sets. Every kernel's output is checked against torch in f64 on sampled rows before it is timed.

Needs the folder made by `tools/package.sh --programs` (libcoda.so and compiled programs) and torch; no compiler.
"""
import argparse
import json
import math
import os
import pathlib
import random
import statistics
import sys
import threading
import time

import torch

BURST_MS = 45.0
IDLE_S = 0.012
ROWS = 64  # checked against f64
DEVICE = "cuda"
heartbeat = [time.time(), "start"]


def watchdog():
    """A hung kernel ends the process instead of the whole time that is left."""
    while True:
        time.sleep(1)
        if time.time() - heartbeat[0] > 60:
            print("hang at", heartbeat[1], flush=True)
            os._exit(9)


def beat(what):
    heartbeat[:] = [time.time(), what]


def sized(dims):
    """The dimensions of a case; smaller ones in a dry run (bench_dry.py)."""
    return dims


def normal(*shape, scale=1.0, dtype=torch.bfloat16):
    return torch.randn(*shape, device=DEVICE, dtype=torch.float32 if shape[0] < 1 << 16 else dtype).mul_(scale).to(dtype)


def gemm64(x, w, rows):
    """x[rows] @ w.T in f64, by slices of w to bound the memory."""
    a = x[rows].double()
    return torch.cat([a @ part.double().t() for part in w.split(16384)], 1)


def rope(z, cos, sin):
    half = z.shape[-1] // 2
    a, b, c, s = z[..., :half], z[..., half:], cos[:, None], sin[:, None]
    return torch.cat([a * c - b * s, b * c + a * s], -1)


# Each case: the tensors of one set, by parameter name, and the f64 values of the outputs at some rows. The GEMM's
# operands are the first two inputs.
def plain(d):
    x, w = normal(d["M"], d["K"]), normal(d["N"], d["K"], scale=d["K"] ** -0.5)
    return dict(x=x, w=w), dict(y=x.new_empty(d["M"], d["N"])), lambda r: dict(y=gemm64(x, w, r))


def bias_gelu(d):
    inputs, outputs, _ = plain(d)
    x, w, bias = inputs["x"], inputs["w"], normal(d["N"])
    return dict(inputs, bias=bias), outputs, lambda r: dict(
        y=torch.nn.functional.gelu(gemm64(x, w, r) + bias.double(), approximate="tanh"))


def gate_up(d):
    x, w = normal(d["M"], d["K"]), normal(2 * d["F"], d["K"], scale=d["K"] ** -0.5)
    rstd = torch.rand(d["M"], device=DEVICE) + 0.5

    def expected(r):
        gate, up = (gemm64(x, w, r) * rstd[r].double()[:, None]).chunk(2, 1)
        return dict(act=torch.nn.functional.silu(gate) * up)
    return dict(x=x, w=w, rstd=rstd), dict(act=x.new_empty(d["M"], d["F"])), expected


def residual(d):
    x, w = normal(d["M"], d["K"]), normal(d["N"], d["K"], scale=d["K"] ** -0.5)
    r, gain = normal(d["M"], d["N"]), normal(d["N"])

    def expected(rows):
        h = gemm64(x, w, rows) + r[rows].double()
        stored = h.bfloat16().double()
        return dict(h=h, scaled=stored * gain.double(), squares=(stored * stored).sum(1))
    outputs = dict(h=torch.empty_like(r), scaled=torch.empty_like(r), squares=torch.empty(d["M"], device=DEVICE))
    return dict(x=x, w=w, r=r, gain=gain), outputs, expected


def qkv(d):
    M, D, Hq, Hkv, Dh = (d[k] for k in ("M", "D", "Hq", "Hkv", "Dh"))
    h, w = normal(M, D), normal((Hq + 2 * Hkv) * Dh, D, scale=D ** -0.5)
    rstd = torch.rand(M, device=DEVICE) + 0.5
    angle = torch.rand(M, Dh // 2, device=DEVICE) * 2 * math.pi
    cos, sin = angle.cos(), angle.sin()

    def expected(r):
        z = (gemm64(h, w, r) * rstd[r].double()[:, None]).view(len(r), -1, Dh)
        c, s = cos[r].double(), sin[r].double()
        return dict(q=rope(z[:, :Hq], c, s), k=rope(z[:, Hq:Hq + Hkv], c, s), v=z[:, Hq + Hkv:])
    outputs = {name: h.new_empty(M, heads, Dh) for name, heads in (("q", Hq), ("k", Hkv), ("v", Hkv))}
    return dict(h=h, w=w, rstd=rstd, cos=cos, sin=sin), outputs, expected


def narrow(*shape, scale=1.0):
    return normal(*shape, scale=scale, dtype=torch.float32).to(torch.float8_e4m3fn)


def fp8_gemm(d):
    x, w = narrow(d["M"], d["K"]), narrow(d["N"], d["K"])
    sx, sw = torch.rand(d["M"], device=DEVICE) + 0.5, (torch.rand(d["N"], device=DEVICE) + 0.5) * d["K"] ** -0.5
    outputs = dict(y=torch.empty(d["M"], d["N"], device=DEVICE, dtype=torch.bfloat16))

    def expected(r):
        picked = x.view(torch.uint8)[r].view(torch.float8_e4m3fn).float()
        wide = torch.cat([picked.double() @ part.float().double().t() for part in w.split(16384)], 1)
        return dict(y=wide * sx[r].double()[:, None] * sw.double())
    return dict(x=x, w=w, sx=sx, sw=sw), outputs, expected


def scaled_mm(fast):
    """torch's product of 8-bit operands with a scale for each row of both."""
    def base(inputs, out):
        return lambda: torch._scaled_mm(inputs["x"], inputs["w"].t(), scale_a=inputs["sx"][:, None],
                                        scale_b=inputs["sw"][None, :], out_dtype=torch.bfloat16, use_fast_accum=fast)
    return base


def matmul(inputs, out):
    a, b = list(inputs.values())[:2]
    return lambda: torch.matmul(a, b.t(), out=out)


def batched(d):
    x, w = normal(d["B"], d["M"], d["K"]), normal(d["B"], d["N"], d["K"], scale=d["K"] ** -0.5)
    expected = lambda r: dict(y=x[r].double() @ w[r].double().transpose(1, 2))
    return dict(x=x, w=w), dict(y=x.new_empty(d["B"], d["M"], d["N"])), expected


def batched_matmul(inputs, out):
    x, w = inputs["x"], inputs["w"]
    return lambda: torch.bmm(x, w.transpose(1, 2), out=out)


def linear_ce(d):
    x, w = normal(d["M"], d["D"]), normal(d["V"], d["D"], scale=d["D"] ** -0.5)
    t = torch.randint(0, d["V"], (d["M"],), device=DEVICE)
    t[::16] = -100

    def expected(r):
        z = gemm64(x, w, r)
        lse, target = z.logsumexp(1), t[r]
        picked = z.gather(1, target.clamp(min=0)[:, None])[:, 0]
        return dict(lse=lse, loss=torch.where(target == -100, torch.zeros_like(lse), lse - picked))
    outputs = {name: torch.empty(d["M"], device=DEVICE) for name in ("loss", "lse")}
    return dict(x=x, w=w, t=t), outputs, expected


# Kernels without a GEMM.
def rmsnorm(d):
    x, residual, gain = normal(d["M"], d["D"]), normal(d["M"], d["D"]), normal(d["D"])

    def expected(r):
        h = x[r].double() + residual[r].double()
        return dict(h=h, y=h * (h * h).mean(1, keepdim=True).add(1e-5).rsqrt() * gain.double())
    return dict(x=x, residual=residual, gain=gain), dict(h=torch.empty_like(x), y=torch.empty_like(x)), expected


def layernorm(d):
    x, gain, bias = normal(d["M"], d["D"]), torch.rand(d["D"], device=DEVICE), torch.rand(d["D"], device=DEVICE)

    def expected(r):
        z = x[r].double()
        mu, rstd = z.mean(1), z.var(1, unbiased=False).add(1e-5).rsqrt()
        return dict(mu=mu, rstd=rstd, y=(z - mu[:, None]) * rstd[:, None] * gain.double() + bias.double())
    rows = lambda: torch.empty(d["M"], device=DEVICE)
    return dict(x=x, gain=gain, bias=bias), dict(y=torch.empty_like(x), mu=rows(), rstd=rows()), expected


def softmax(d):
    x = normal(d["M"], d["N"])
    outputs = dict(y=torch.empty_like(x), lse=torch.empty(d["M"], device=DEVICE))
    return dict(x=x), outputs, lambda r: dict(y=x[r].double().softmax(1), lse=x[r].double().logsumexp(1))


def rotate(d):
    q, angle = normal(d["T"], d["H"], d["Dh"]), torch.rand(d["T"], d["Dh"] // 2, device=DEVICE) * 2 * math.pi
    cos, sin = angle.cos(), angle.sin()
    return dict(q=q, cos=cos, sin=sin), dict(y=torch.empty_like(q)), lambda r: dict(
        y=rope(q[r].double(), cos[r].double(), sin[r].double()))


def rmsnorm_bwd(d):
    x, gain, dy = normal(d["M"], d["D"]), normal(d["D"]), normal(d["M"], d["D"])

    def expected(r):
        z, g = x[r].double(), dy[r].double() * gain.double()
        rstd = (z * z).mean(1, keepdim=True).add(1e-5).rsqrt()
        return dict(dx=rstd * (g - z * rstd * (g * z * rstd).mean(1, keepdim=True)))
    return dict(x=x, gain=gain, dy=dy), dict(dx=torch.empty_like(x), dgain=torch.empty(d["D"], device=DEVICE)), expected


COPIES = dict(rmsnorm=rmsnorm, layernorm=layernorm, softmax=softmax, rope=rotate, rmsnorm_bwd=rmsnorm_bwd)
CASES = dict(plain=plain, bias_gelu=bias_gelu, gate_up=gate_up, residual=residual, qkv=qkv, linear_ce=linear_ce,
             fp8_gemm=fp8_gemm, fp8_fast=fp8_gemm, batched=batched)
BASES = dict(fp8_gemm=scaled_mm(False), fp8_fast=scaled_mm(True), batched=batched_matmul)  # what does the GEMM alone, if not matmul


def read_cases(path):
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, kernel, dims, _ = (part.strip() for part in line.split("|"))
            yield name, kernel, {k: int(v) for k, v in (word.split("=") for word in dims.split())}


def check(name, launch, outputs, expected, m):
    """Poisons, launches, and compares sampled rows; returns the largest relative error, or raises."""
    rows = torch.randint(0, m, (ROWS,), device=DEVICE)
    for tensor in outputs.values():
        tensor.fill_(float("nan"))
    launch()
    torch.cuda.synchronize()
    worst = 0.0
    for output, want in expected(rows).items():
        got = outputs[output]
        error = ((got[rows].double() - want).norm() / want.norm()).item()
        if not error < 5e-3 or not bool(torch.isfinite(got).all()):
            raise AssertionError(f"{name}: output {output} is wrong: relative error {error:.2e}")
        worst = max(worst, error)
    return worst


class Timer:
    """Launches one of several functions in turn, as many times as fill a burst."""

    def __init__(self, functions):
        self.functions, self.next, self.count = functions, 0, 0

    def launch(self):
        self.functions[self.next % len(self.functions)]()
        self.next += 1

    def calibrate(self):
        for _ in range(3):
            self.launch()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(5):
            self.launch()
        end.record()
        torch.cuda.synchronize()
        self.count = max(3, math.ceil(BURST_MS / (begin.elapsed_time(end) / 5)))

    def burst(self):
        """Milliseconds a launch, the median of the burst."""
        events = [torch.cuda.Event(enable_timing=True) for _ in range(self.count + 1)]
        self.launch()
        events[0].record()
        for event in events[1:]:
            self.launch()
            event.record()
        torch.cuda.synchronize()
        return statistics.median(a.elapsed_time(b) for a, b in zip(events, events[1:]))

    def cool(self):
        time.sleep(IDLE_S)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.launch()
        begin.record()
        self.launch()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end)


def pairs(measure, base, ours, rounds, what):
    """(times of base, times of ours, ratios): each round is base, ours, ours, base."""
    base_ms, ours_ms, ratios = [], [], []
    for i in range(rounds):
        beat(f"{what} round {i}")
        a0, b0, b1, a1 = measure(base), measure(ours), measure(ours), measure(base)
        base_ms += [a0, a1]
        ours_ms += [b0, b1]
        ratios.append((a0 + a1) / (b0 + b1))
    return base_ms, ours_ms, ratios


def mean_interval(ratios):
    """Geometric mean, and the ends of its 95 % interval."""
    logs = [math.log(r) for r in ratios]
    mean = sum(logs) / len(logs)
    half = 1.96 * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0
    return [math.exp(mean + side * half) for side in (0, -1, 1)]


def summary(base_ms, ours_ms, ratios, flop):
    rate = lambda ms: flop / statistics.median(ms) / 1e9  # TFLOP/s
    return dict(cublas_tflops=rate(base_ms), coda_tflops=rate(ours_ms), coda_ms=statistics.median(ours_ms),
                ratio=statistics.median(ratios), ratio_low=min(ratios), ratio_high=max(ratios), rounds=len(ratios),
                mean=mean_interval(ratios))


# Other peers of a case: what PyTorch gets of it from cuBLASLt's epilogues, and the formula for torch.compile.
def lt_gelu(t, out):
    return lambda: torch._addmm_activation(t["bias"], t["x"], t["w"].t(), use_gelu=True)


def swiglu_formula(x, w, rstd):
    gate, up = ((x @ w.t()).float() * rstd[:, None]).chunk(2, 1)
    return (torch.nn.functional.silu(gate) * up).bfloat16()


def residual_formula(x, w, r, gain):
    h = x @ w.t() + r
    wide = h.float()
    return h, h * gain, (wide * wide).sum(1)


def loss_formula(x, w, t):
    z = (x @ w.t()).float()
    return torch.nn.functional.cross_entropy(z, t, ignore_index=-100, reduction="none"), z.logsumexp(1)


FORMULAS = dict(bias_gelu=lambda x, w, bias: torch.nn.functional.gelu(x @ w.t() + bias, approximate="tanh"),
                gate_up=swiglu_formula, residual=residual_formula, linear_ce=loss_formula)
LT = dict(bias_gelu=lt_gelu)


def other_peers(name, sets):
    """{peer: functions}; those that PyTorch can't do are said."""
    peers = {}
    if name in FORMULAS:
        beat(f"{name} torch.compile")
        heartbeat[0] += 120
        compiled = torch.compile(FORMULAS[name], dynamic=False)
        peers["compile"] = [lambda t=inputs: compiled(**t) for inputs, _, _ in sets]
    if name in LT:
        peers["cublaslt"] = [LT[name](inputs, None) for inputs, _, _ in sets]
    for peer in list(peers):
        try:
            for function in peers[peer]:
                function()
        except Exception as error:
            print(f"{name}: no {peer}: {str(error)[:100]}", flush=True)
            del peers[peer]
    return peers


def run_case(coda, dist, label, dims, args, build="0"):
    """`label`: a case's name, or NAME@SIZES for a program of its own."""
    name, dims = label.partition("@")[0], sized(dims)
    beat(f"{label} set-up")
    kernel = coda.load(dist / "programs" / f"{label}.{build}.coda.bin").prepare(0, **dims)
    sets, bytes_each = [], 0
    make = CASES.get(name) or COPIES[name]
    while len(sets) < 3 and (not sets or (len(sets) + 1) * bytes_each < args.memory << 30):
        sets.append(make(dims))
        bytes_each = sum(t.numel() * t.element_size() for part in sets[0][:2] for t in part.values())
    x = list(sets[0][0].values())[0]
    ours, base = [], []
    for inputs, outputs, expected in sets:
        ours.append(lambda tensors={**inputs, **outputs}: kernel(**tensors))
    if name in CASES:
        w = list(sets[0][0].values())[1]
        gemm_out = torch.empty(*x.shape[:-1], w.shape[-2], device=DEVICE, dtype=torch.bfloat16)
        shape = [x[..., 0].numel(), w.shape[-2], x.shape[-1]]
        flop = 2.0 * math.prod(shape)
        for inputs, outputs, expected in sets:
            base.append(BASES.get(name, matmul)(inputs, gemm_out))
    else:  # "TFLOP/s" are then GB/s
        flop, shape = 1e3 * bytes_each, list(x.shape)
        for _ in sets:
            a, b = (torch.empty(bytes_each // 8, device=DEVICE) for _ in range(2))
            base.append(lambda a=a, b=b: b.copy_(a))
    result = dict(name=label if build == "0" else f"{label}:{build}", dims=dims, sets=len(sets), gemm=shape)
    result["error"] = max(check(name, ours[i], sets[i][1], sets[i][2], x.shape[0]) for i in range(len(sets)))
    base, ours = Timer(base), Timer(ours)
    base.calibrate()
    ours.calibrate()
    if args.hot:
        for _ in range(4):  # to steady power
            beat(f"{name} warm-up")
            base.burst()
        runs = [summary(*pairs(Timer.burst, base, ours, args.hot, f"{label} hot"), flop) for _ in range(args.runs)]
        result["hot"] = sorted(runs, key=lambda run: run["mean"][0])[len(runs) // 2]
        result["runs"] = [run["mean"] for run in runs]
    if args.cool:
        result["cool"] = summary(*pairs(Timer.cool, base, ours, args.cool, f"{label} cool"), flop)
    if args.peers:
        for peer, functions in other_peers(name, sets).items():
            timer = Timer(functions)
            timer.calibrate()
            result[peer] = summary(*pairs(Timer.burst, timer, ours, args.peers, f"{label} {peer}"), flop)
    return result


def row(result):
    text = f"{result['name']:<{10 if '@' not in result['name'] else 30}} {'x'.join(map(str, result['gemm'])):<18} {result['error']:.1e}"
    for mode in ("hot", "cool"):
        if mode in result:
            r = result[mode]
            text += (f"   {r['cublas_tflops']:6.0f} {r['coda_tflops']:6.0f}  {r['ratio']:.3f}"
                     f" [{r['ratio_low']:.3f} {r['ratio_high']:.3f}]")
    if len(result.get("runs", ())) > 1:
        text += "   means " + " ".join(f"{m:.3f} [{low:.3f} {high:.3f}]" for m, low, high in result["runs"])
    for peer in ("cublaslt", "compile"):
        if peer in result:
            text += f"   {peer} {result[peer]['ratio']:.3f}"
    return text


def start(dist):
    """The module coda (examples/python/coda.py, which packaging puts beside this file), ready for a benchmark."""
    threading.Thread(target=watchdog, daemon=True).start()
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.manual_seed(1)
    random.seed(1)
    os.environ["CODA_LIBRARY"] = str(dist / "lib" / "libcoda.so")
    sys.path.insert(0, str(dist))
    import coda
    return coda


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--hot", type=int, default=6, help="rounds of hot bursts; 0: none")
    parser.add_argument("--cool", type=int, default=8, help="rounds of cool launches; 0: none")
    parser.add_argument("--runs", type=int, default=1, help="how often the hot rounds are made; each has its mean")
    parser.add_argument("--peers", type=int, default=0, help="rounds of hot bursts against other peers, where there are some")
    parser.add_argument("--cases", default="gpu_cases.txt", help="the file of cases")
    parser.add_argument("--only", default="", help="names of cases, with commas; NAME:BUILD for another program of it")
    parser.add_argument("--memory", type=int, default=24, help="GiB of device memory for sets of inputs")
    parser.add_argument("--json", type=pathlib.Path, help="where to write all figures")
    args = parser.parse_args()
    coda = start(args.dist)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; TFLOP/s of the GEMM (GB/s without one); "
          "ratio = time of cuBLAS (a copy) / coda's")
    heads = "".join(f"   {mode + ': cuBLAS':>13} coda  ratio [low high]" for mode in ("hot", "cool") if getattr(args, mode))
    print(f"{'case':<10} {'M x N x K':<18} {'error':<7}{heads}", flush=True)
    results, failed = [], 0
    for name, _, dims in read_cases(args.dist / args.cases):
        if name.partition("@")[0] not in {**CASES, **COPIES}:
            continue
        builds = [part.partition(":")[2] or "0" for part in args.only.split(",")
                  if part.partition(":")[0] in (name, name.partition("@")[0])]
        for build in builds if args.only else ["0"]:
            try:
                results.append(run_case(coda, args.dist, name, dims, args, build))
                print(row(results[-1]), flush=True)
                if args.json:
                    args.json.write_text(json.dumps(results, indent=1))
            except Exception as error:  # one case must not hide the others
                failed += 1
                print(f"{name:<10} FAILED: {error}", flush=True)
            torch.cuda.empty_cache()
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    line = f"benchmark: {len(results)} cases, {failed} failed"
    for mode in ("hot", "cool"):
        for kind, names in (("", CASES), (" of copies", COPIES)):
            ratios = [r[mode]["mean"][0] for r in results
                      if mode in r and r["name"].partition(":")[0].partition("@")[0] in names]
            if ratios:
                line += f"; {mode} geometric mean{kind} {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}"
    print(line, flush=True)
    sys.exit(1 if failed or not results else 0)


if __name__ == "__main__":
    main()
