#!/usr/bin/env python3
"""Times a Llama-3 layer without its attention (examples/llama_block.coda) as coda plans it, in one CUDA graph, against

  bare     its four GEMMs alone in cuBLAS (torch.matmul), in one CUDA graph, outputs stored as PyTorch stores them
  compile  torch.compile of the same formula, in one CUDA graph

in pairs of bursts as bench_gpu.py does. Before that, sampled rows of every output are compared with f64, and so are
PyTorch's own in bf16: coda's error must not exceed twice theirs. Needs the folder made by
`tools/package.sh --programs` and torch.
"""
import argparse
import json
import pathlib
import sys

import torch

import bench_gpu
from bench_gpu import Timer, beat, normal, pairs, rope, summary

EPS = 1e-5


def make(d):
    """The tensors of one set, by parameter name: inputs, outputs."""
    T, D, A, F, Hq, Hkv, Dh = (d[k] for k in ("T", "D", "A", "F", "Hq", "Hkv", "Dh"))
    angle = torch.rand(T, Dh // 2, device=bench_gpu.DEVICE) * 6.28
    inputs = dict(x=normal(T, D), attn=normal(T, A), wo=normal(D, A, scale=A ** -0.5),
                  g1=(torch.rand(D, device=bench_gpu.DEVICE) + 0.5).bfloat16(), w_gate_up=normal(2 * F, D, scale=D ** -0.5),
                  w_down=normal(D, F, scale=F ** -0.5), g2=(torch.rand(D, device=bench_gpu.DEVICE) + 0.5).bfloat16(),
                  wqkv=normal((Hq + 2 * Hkv) * Dh, D, scale=D ** -0.5), cos=angle.cos(), sin=angle.sin())
    new = inputs["x"].new_empty
    outputs = dict(y=new(T, D), q=new(T, Hq, Dh), k=new(T, Hkv, Dh), v=new(T, Hkv, Dh))
    return inputs, outputs


def formula(d, product=lambda a, w: a @ w.t()):
    """The block as a PyTorch user writes it: norms in f32, rounded to the type of the activations."""
    Hq, Hkv, Dh = d["Hq"], d["Hkv"], d["Dh"]

    def norm(x, gain):
        wide = x if x.dtype == torch.float64 else x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS)).to(x.dtype) * gain

    def block(x, attn, wo, g1, w_gate_up, w_down, g2, wqkv, cos, sin):
        h = x + product(attn, wo)
        gate, up = product(norm(h, g1), w_gate_up).chunk(2, -1)
        y = h + product(torch.nn.functional.silu(gate) * up, w_down)
        z = product(norm(y, g2), wqkv).view(x.shape[0], -1, Dh)
        turn = lambda part: rope(part, cos, sin).to(x.dtype)
        return dict(y=y, q=turn(z[:, :Hq]), k=turn(z[:, Hq:Hq + Hkv]), v=z[:, Hq + Hkv:])
    return block


def check(d, inputs, outputs, replay, block):
    """{output: (coda's error, PyTorch's error)} at sampled rows, relative to f64."""
    rows = torch.randint(0, d["T"], (min(32, d["T"]),), device=bench_gpu.DEVICE)
    picked = {k: (v[rows] if k in ("x", "attn", "cos", "sin") else v) for k, v in inputs.items()}
    wide_product = lambda a, w: torch.cat([a @ part.double().t() for part in w.split(8192)], -1)
    wide = {k: (v.double() if k not in ("wo", "w_gate_up", "w_down", "wqkv") else v) for k, v in picked.items()}
    want = formula(d, wide_product)(**wide)
    theirs = block(**inputs)
    for tensor in outputs.values():
        tensor.fill_(float("nan"))
    replay()
    torch.cuda.synchronize()
    errors = {}
    for name, expected in want.items():
        error = lambda got: ((got[rows].double() - expected).norm() / expected.norm()).item()
        errors[name] = (error(outputs[name]), error(theirs[name]))
        if not errors[name][0] <= 2 * errors[name][1] or not bool(torch.isfinite(outputs[name]).all()):
            raise AssertionError(f"output {name} is wrong: error {errors[name][0]:.2e}, PyTorch's {errors[name][1]:.2e}")
    return errors


def graph_of(run):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return lambda keep=run: graph.replay()  # the graph owns none of the memory that `run` holds


def bare(d, inputs):
    T = d["T"]
    new = inputs["x"].new_empty
    act = normal(T, d["F"])
    work = [(inputs["attn"], inputs["wo"]), (inputs["x"], inputs["w_gate_up"]), (act, inputs["w_down"]),
            (inputs["x"], inputs["wqkv"])]
    outs = [new(T, w.shape[0]) for _, w in work]

    def run():
        for (a, w), out in zip(work, outs):
            torch.matmul(a, w.t(), out=out)
    return graph_of(run)


def time_peers(ours, peers, rounds, flop, label):
    """{peer: summary}; `ours` and each peer are functions for one set of inputs each."""
    ours, result = Timer(ours), {}
    ours.calibrate()
    for name, functions in peers.items():
        base = Timer(functions)
        base.calibrate()
        for _ in range(3):
            beat(f"{label} warm-up")
            base.burst()
        result[name] = summary(*pairs(Timer.burst, base, ours, rounds, f"{label} {name}"), flop)
    return result


def peer_row(name, p):
    return (f"{name:<8} {p['cublas_tflops']:6.0f} coda {p['coda_tflops']:6.0f} TFLOP/s ({p['coda_ms']:.4f} ms)"
            f"  ratio {p['ratio']:.3f} [{p['ratio_low']:.3f} {p['ratio_high']:.3f}]")


def run_case(coda, kernel, d, args):
    beat(f"T={d['T']} set-up")
    block = formula(d)
    sets = [make(d) for _ in range(2)]
    ours = [kernel.record(**inputs, **outputs) for inputs, outputs in sets]
    flop = 2.0 * d["T"] * (d["D"] * d["A"] + 3 * d["D"] * d["F"] + (d["Hq"] + 2 * d["Hkv"]) * d["Dh"] * d["D"])
    result = dict(dims=d, workspace=kernel.workspace_bytes(**sets[0][0], **sets[0][1]))
    result["errors"] = check(d, *sets[0], ours[0], block)
    peers = {"bare": [bare(d, inputs) for inputs, _ in sets]}
    if args.compile:
        beat(f"T={d['T']} torch.compile")
        bench_gpu.heartbeat[0] += 200  # compiling takes its time
        compiled = torch.compile(block, mode=args.compile, dynamic=False)
        peers["compile"] = [graph_of(lambda inputs=inputs: compiled(**inputs)) for inputs, _ in sets]
    return dict(result, **time_peers(ours, peers, args.rounds, flop, f"T={d['T']}"))


def row(r):
    text = f"T={r['dims']['T']:<6} " + " ".join(f"{k} {a:.1e}/{b:.1e}" for k, (a, b) in r["errors"].items())
    for name in ("bare", "compile"):
        if name in r:
            text += "\n         " + peer_row(name, r[name])
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--tokens", default="8192", help="values of T, with commas")
    parser.add_argument("--compile", default="", help="mode of torch.compile, e.g. default; without: not timed")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    coda = bench_gpu.start(args.dist)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; errors coda/PyTorch; ratio = peer's time / coda's")
    results, failed = [], 0
    for tokens in args.tokens.split(","):
        kernel = coda.load(args.dist / "programs" / f"llama_block.T{tokens}.coda.bin").prepare(0)  # planned for T
        d = dict(T=int(tokens), D=4096, A=4096, F=14336, Hq=32, Hkv=8, Dh=128)
        try:
            results.append(run_case(coda, kernel, d, args))
            print(row(results[-1]), flush=True)
        except Exception as error:
            failed += 1
            print(f"T={tokens} FAILED: {error}", flush=True)
        torch.cuda.empty_cache()
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    print(f"blocks: {len(results)} cases, {failed} failed", flush=True)
    sys.exit(1 if failed or not results else 0)


if __name__ == "__main__":
    main()
