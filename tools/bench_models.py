#!/usr/bin/env python3
"""Times layers without their attention, and the last projection's loss, forward alone or with their derived backward, as
coda plans them, in one CUDA graph, against

  bare     their GEMMs alone in cuBLAS (torch.matmul), in one CUDA graph, outputs as PyTorch stores them
  compile  torch.compile of the same formula (and its autograd), in one CUDA graph

in pairs of bursts as bench_gpu.py does. Before that, every output and gradient is compared whole with f64, and so are
PyTorch's own: coda's error must not exceed twice theirs. A case that fails is said and left out. Needs the folder made
by `tools/package.sh --programs` and torch.

A case is MODEL[.VARIANT]; VARIANT is another program of it (dep1: kernels that overlap from their starts, dep2: at their
ends). Ratios are the peer's time over coda's.
"""
import argparse
import json
import math
import pathlib
import sys
from dataclasses import dataclass

import torch
import torch.nn.functional as F

import bench_gpu
from bench_blocks import graph_of, peer_row, time_peers
from bench_gpu import beat, normal, rope

LLAMA_WEIGHTS = ("wo", "w_gate_up", "w_down", "wqkv")


def rms(x, gain, eps=1e-6, shift=0.0):
    wide = x if x.dtype == torch.float64 else x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * (gain + shift)


def layer_norm(x, gain, bias):
    return F.layer_norm(x, x.shape[-1:], gain, bias, 1e-5)


def heads(z, t, d):
    z = z.view(z.shape[0], -1, d["Dh"])
    q, k, v = z.split([d["Hq"], d["Hkv"], d["Hkv"]], 1)
    turn = lambda part: rope(part, t["cos"], t["sin"]).to(part.dtype)
    if "gq" in t:
        q, k = rms(q, t["gq"]), rms(k, t["gk"])
    return dict(q=turn(q), k=turn(k), v=v)


def llama(t, d):
    h = t["x"] + t["attn"] @ t["wo"].t()
    gate, up = (rms(h, t["g1"], 1e-5) @ t["w_gate_up"].t()).chunk(2, -1)
    y = h + (F.silu(gate) * up) @ t["w_down"].t()
    return dict(y=y, **heads(rms(y, t["g2"], 1e-5) @ t["wqkv"].t(), t, d))


def qwen3(t, d):
    h = t["x"] + t["attn"] @ t["wo"].t()
    gate, up = (rms(h, t["g1"]) @ t["wgu"].t()).chunk(2, -1)
    y = h + (F.silu(gate) * up) @ t["wd"].t()
    return dict(y=y, **heads(rms(y, t["g2"]) @ t["wqkv"].t(), t, d))


def gemma2(t, d):
    h = t["x"] + rms(t["attn"] @ t["wo"].t(), t["g0"], shift=1)
    gate, up = (rms(h, t["g1"], shift=1) @ t["wgu"].t()).chunk(2, -1)
    y = h + rms((F.gelu(gate, approximate="tanh") * up) @ t["wd"].t(), t["g2"], shift=1)
    return dict(y=y, z=50 * torch.tanh(rms(y, t["g3"], shift=1) @ t["wq"].t() / 50))


def gpt2(t, d):
    h = t["x"] + t["attn"] @ t["wo"].t() + t["bo"]
    inner = F.gelu(layer_norm(h, t["g1"], t["b1"]) @ t["wfc"].t() + t["bfc"], approximate="tanh")
    y = h + inner @ t["wp"].t() + t["bp"]
    return dict(y=y, z=layer_norm(y, t["g2"], t["b2"]) @ t["wq"].t() + t["bq"])


def loss(t, d):
    z = t["x"] @ t["w"].t()
    wide = z if z.dtype == torch.float64 else z.float()
    return dict(loss=F.cross_entropy(wide, t["t"], ignore_index=-100, reduction="none"))


@dataclass
class Model:
    formula: object
    weights: tuple  # in the order of the forward's products
    dims: dict
    backward: bool = False
    mark: str = ""  # of the program's file, if not the model's own


L8 = dict(D=4096, A=4096, F=14336, Hq=32, Hkv=8, Dh=128)
L70 = dict(D=8192, A=8192, F=28672, Hq=64, Hkv=8, Dh=128)
L1 = dict(D=2048, A=2048, F=8192, Hq=32, Hkv=8, Dh=64)
QWEN = ("wo", "wgu", "wd", "wqkv")
GEMMA = ("wo", "wgu", "wd", "wq")
GPT2 = ("wo", "wfc", "wp", "wq")
MODELS = {f"llama8b.T{T}": Model(llama, LLAMA_WEIGHTS, dict(L8, T=T)) for T in (1, 16, 64, 256, 8192, 16384)}
MODELS |= {
    "llama70b.T4096": Model(llama, LLAMA_WEIGHTS, dict(L70, T=4096)),
    "llama1b.T16384": Model(llama, LLAMA_WEIGHTS, dict(L1, T=16384)),
    "llama8b_grad.T8192": Model(llama, LLAMA_WEIGHTS, dict(L8, T=8192), True),
    "llama8b_grad.T16384": Model(llama, LLAMA_WEIGHTS, dict(L8, T=16384), True),
    "llama70b_grad.T4096": Model(llama, LLAMA_WEIGHTS, dict(L70, T=4096), True),
    "llama1b_grad.T16384": Model(llama, LLAMA_WEIGHTS, dict(L1, T=16384), True),
    "qwen3_grad.T8192": Model(qwen3, QWEN, dict(L8, F=12288, T=8192), True),
    "gemma2_grad.T8192": Model(gemma2, GEMMA, dict(D=3584, A=4096, F=14336, N=8192, T=8192), True),
    "gpt2_grad.T8192": Model(gpt2, GPT2, dict(D=1600, A=1600, F=6400, N=4800, T=8192), True),
    "loss_grad.T8192": Model(loss, ("w",), dict(D=4096, V=128256, T=8192), True),
}


def extent(text, d):
    return int(eval(text, {"__builtins__": {}}, d))  # a dimension of our own program's


def make(params, d):
    """({name: input}, {name: what is written}), as the program's parameters say; gradients that come in are inputs."""
    given, written = {}, {}
    for name, role, dtype, dims in params:
        shape = [extent(text.replace("/", "//"), d) for text in dims]
        kind = dict(bf16=torch.bfloat16, f32=torch.float32, i64=torch.int64)[dtype]
        if role != "in":
            written[name] = torch.zeros(shape, dtype=kind, device=bench_gpu.DEVICE)
        elif name == "t":
            given[name] = torch.randint(0, d["V"], shape, device=bench_gpu.DEVICE)
            given[name][::16] = -100
        elif name in ("cos", "sin"):
            angle = torch.arange(math.prod(shape), device=bench_gpu.DEVICE).view(shape) * 0.37
            given[name] = getattr(angle, name)()
        elif name.startswith("w"):
            given[name] = normal(*shape, scale=shape[-1] ** -0.5)
        elif name[0] in "gb" and len(shape) == 1:
            given[name] = normal(*shape, scale=0.2) + (name[0] == "g" and "g0" not in [p[0] for p in params])
        else:
            given[name] = normal(*shape, dtype=kind)
    return given, written


def peer(model, given, wide=False, formula=None):
    """{name: tensor} of the outputs and, of a backward, the gradients."""
    d = model.dims
    t = {k: (v.double() if wide and v.is_floating_point() else v) for k, v in given.items()}
    coming = {k[2:]: v for k, v in t.items() if k.startswith("d_")}
    inputs = {k: v for k, v in t.items() if not k.startswith("d_")}
    formula = formula or (lambda leaves: model.formula(leaves, d))
    if not model.backward:
        return formula(inputs)
    fixed = ("cos", "sin", "t")
    leaves = {k: (v if k in fixed else v.detach().requires_grad_()) for k, v in inputs.items()}
    outputs = formula(leaves)
    wrt = [k for k in leaves if k not in fixed]
    gradients = torch.autograd.grad([outputs[k] for k in coming], [leaves[k] for k in wrt], list(coming.values()))
    return {**{k: v.detach() for k, v in outputs.items()}, **{"d_" + k: g for k, g in zip(wrt, gradients)}}


def check(model, given, written, launch):
    for tensor in written.values():
        tensor.zero_()  # what accumulates begins at zero
    launch()
    torch.cuda.synchronize()
    theirs, want = peer(model, given), peer(model, given, wide=True)
    errors, bad = {}, []
    for name, got in written.items():
        if name not in want:
            continue
        error = lambda tensor: ((tensor.double() - want[name]).norm() / want[name].norm()).item()
        errors[name] = (error(got), error(theirs[name]))
        if not errors[name][0] <= 2 * errors[name][1] + 1e-6:
            bad.append(f"{name}: {errors[name][0]:.2e}, PyTorch's {errors[name][1]:.2e}")
    if bad:
        raise AssertionError("; ".join(bad))
    return errors


def products(model, given):
    """(left, right, type of the result) of each GEMM."""
    T, work = model.dims["T"], []
    for kind in ("y", "da", "dw") if model.backward else ("y",):
        for name in model.weights:
            w = given[name]
            a, z = normal(T, w.shape[1]), normal(T, w.shape[0])
            dtype = torch.float32 if model.formula is loss and kind == "dw" else torch.bfloat16
            work.append((*{"y": (a, w.t()), "da": (z, w), "dw": (z.t(), a)}[kind], dtype))
    return work


def bare(model, given):
    work = [(a, b, torch.empty(a.shape[0], b.shape[1], dtype=dtype, device=a.device)) for a, b, dtype in products(model, given)]

    def run():
        for a, b, out in work:
            if out.dtype == a.dtype:
                torch.matmul(a, b, out=out)
            else:
                torch.mm(a, b, out_dtype=out.dtype)
    return graph_of(run)


def run_case(coda, name, args):
    model_name, _, variant = name.partition(":")
    model = MODELS[model_name]
    d = model.dims = bench_gpu.sized(model.dims)
    image = coda.load(args.dist / "programs" / f"{model_name}.{variant or '0'}.coda.bin")
    kernel = image.prepare(0, **{k: v for k, v in d.items() if k in image_symbols(image)})
    sets = [make(image.params, d) for _ in range(2)]
    ours = [kernel.record(**given, **written) for given, written in sets]
    result = dict(name=name, dims=d, workspace=kernel.workspace_bytes(**sets[0][0], **sets[0][1]))
    beat(f"{name} f64")
    bench_gpu.heartbeat[0] += 60
    result["errors"] = check(model, *sets[0], ours[0])
    torch.cuda.empty_cache()
    flop = sum(2.0 * a.shape[0] * a.shape[1] * b.shape[1] for a, b, _ in products(model, sets[0][0]))
    peers = {"bare": [bare(model, given) for given, _ in sets]}
    if args.compile and not variant:
        beat(f"{name} torch.compile")
        bench_gpu.heartbeat[0] += 200  # compiling takes its time
        compiled = torch.compile(lambda leaves: model.formula(leaves, d), mode=args.compile, dynamic=False)
        peers["compile"] = [graph_of(lambda given=given: peer(model, given, formula=compiled)) for given, _ in sets]
    return dict(result, **time_peers(ours, peers, args.rounds, flop, name))


def image_symbols(image):
    return {word for _, _, _, dims in image.params for text in dims for word in text.replace("*", " ").replace("/", " ")
            .replace("+", " ").replace("(", " ").replace(")", " ").split() if word.isidentifier()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only", required=True, help="cases, with commas: MODEL or MODEL:VARIANT")
    parser.add_argument("--burst", type=float, default=45.0, help="milliseconds")
    parser.add_argument("--compile", default="", help="mode of torch.compile, e.g. default; without: not timed")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    bench_gpu.BURST_MS = args.burst
    coda = bench_gpu.start(args.dist)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; errors coda/PyTorch, the worst; ratio = peer's time / coda's",
          flush=True)
    results, failed = [], 0
    for name in args.only.split(","):
        beat(f"{name} set-up")
        try:
            results.append(run_case(coda, name, args))
            worst = max(results[-1]["errors"].items(), key=lambda item: item[1][0] / max(item[1][1], 1e-9))
            print(f"{name:<24} {worst[0]} {worst[1][0]:.1e}/{worst[1][1]:.1e}, workspace {results[-1]['workspace'] / 1e9:.2f} GB")
            for other in ("bare", "compile"):
                if other in results[-1]:
                    print("  " + peer_row(other, results[-1][other]), flush=True)
        except Exception as error:  # one case must not hide the others
            failed += 1
            print(f"{name:<24} FAILED: {str(error)[:300]}", flush=True)
        torch.cuda.empty_cache()
        if args.json:
            args.json.write_text(json.dumps(results, indent=1))
    print(f"models: {len(results)} cases, {failed} failed", flush=True)
    sys.exit(1 if failed or not results else 0)


if __name__ == "__main__":
    main()
