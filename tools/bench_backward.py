#!/usr/bin/env python3
"""Times forward and backward of a Llama-3 layer without its attention (llama_grad of examples/llama_block.coda) as coda
derives and plans it, in one CUDA graph, against

  bare     its twelve GEMMs alone in cuBLAS (torch.matmul), in one CUDA graph, outputs in bf16 as PyTorch stores them
  compile  torch.compile of the same formula and its autograd, each in CUDA graphs where PyTorch makes them

in pairs of bursts as bench_gpu.py does, and with --kernels each kernel of the plan beside its product in cuBLAS. Before that, every output and gradient is compared whole with f64, and so are
PyTorch's own in bf16: coda's error must not exceed twice theirs. Needs the folder made by
`tools/package.sh --programs` and torch.
"""
import argparse
import json
import pathlib
import statistics

import torch

import bench_blocks
import bench_gpu
from bench_blocks import formula, graph_of, peer_row, time_peers
from bench_gpu import beat, normal

# Which of products() each kernel of the plan holds.
PRODUCT_OF = (0, 1, 2, 3, None, 7, 6, 5, 4, 8, 9, 10, 11)
WRT = ("x", "attn", "wo", "g1", "w_gate_up", "w_down", "g2", "wqkv")


def make(d):
    """The tensors of one set, by parameter name: the layer's inputs, gradients of its outputs, what is written."""
    inputs, outputs = bench_blocks.make(d)
    given = {"d_" + name: normal(*tensor.shape) for name, tensor in outputs.items()}
    return inputs, given, dict(outputs, **{"d_" + name: torch.empty_like(inputs[name]) for name in WRT})


def autograd(block, inputs, given):
    """{name: tensor} of outputs and gradients."""
    leaves = {k: (v.detach().requires_grad_() if k in WRT else v) for k, v in inputs.items()}
    outputs = block(**leaves)
    gradients = torch.autograd.grad([outputs[k[2:]] for k in given], [leaves[k] for k in WRT], list(given.values()))
    return dict({k: v.detach() for k, v in outputs.items()}, **{"d_" + k: g for k, g in zip(WRT, gradients)})


def check(block, inputs, given, written, replay):
    """{tensor: (coda's error, PyTorch's error)}, relative to f64."""
    for tensor in written.values():
        tensor.fill_(float("nan"))
    replay()
    torch.cuda.synchronize()
    theirs = autograd(block, inputs, given)
    wide = autograd(block, {k: v.double() for k, v in inputs.items()}, {k: v.double() for k, v in given.items()})
    errors = {}
    for name, want in wide.items():
        error = lambda got: ((got.double() - want).norm() / want.norm()).item()
        errors[name] = (error(written[name]), error(theirs[name]))
    bad = [f"{name}: {a:.2e}, PyTorch's {b:.2e}" for name, (a, b) in errors.items() if not a <= 2 * b]
    if bad:
        raise AssertionError("; ".join(bad))
    return errors


def products(d):
    """(M, N, K, how operands lie) of the layer's twelve: forward a @ w.T, gradients of inputs dz @ w, of weights dz.T @ a."""
    layer = ((d["D"], d["A"]), (2 * d["F"], d["D"]), (d["D"], d["F"]), ((d["Hq"] + 2 * d["Hkv"]) * d["Dh"], d["D"]))
    return [(kind, n, k) for kind in ("y", "da", "dw") for n, k in layer]


def bare(d):
    T, work = d["T"], []
    for kind, n, k in products(d):
        a, w, z = normal(T, k), normal(n, k, scale=k ** -0.5), normal(T, n)
        left, right = {"y": (a, w.t()), "da": (z, w), "dw": (z.t(), a)}[kind]
        work.append((left, right, torch.empty(left.shape[0], right.shape[1], dtype=a.dtype, device=a.device)))

    def run():
        for left, right, out in work:
            torch.matmul(left, right, out=out)
    return graph_of(run)


def device_times(run):
    """[(name, microseconds, microseconds since the end of the one before)] of what `run` has the device do, in its order."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        run()
        torch.cuda.synchronize()
    events = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    events.sort(key=lambda e: e.time_range.start)
    ends = [events[0].time_range.start] + [e.time_range.end for e in events[:-1]]
    return [(e.name, e.time_range.elapsed_us(), e.time_range.start - end) for e, end in zip(events, ends)]


def each_kernel(ours, base, d, rounds):
    """Rows of (kernel, its product, coda's microseconds, cuBLAS's): medians of graphs replayed one after the other."""
    times = {"ours": [], "base": []}
    for i in range(rounds + 4):
        beat(f"kernels round {i}")
        for name, functions in (("base", base), ("ours", ours)):
            found = device_times(lambda: [f() for f in functions])
            assert len(found) % len(functions) == 0, [f[0] for f in found]
            if i >= 4:  # at steady power
                count = len(found) // len(functions)
                times[name] += [found[j:j + count] for j in range(0, len(found), count)]
    median = lambda runs, which=1: [statistics.median(us) for us in zip(*[[kernel[which] for kernel in run] for run in runs])]
    coda, cublas, shapes = median(times["ours"]), median(times["base"]), products(d)
    rows = []
    for i, us in enumerate(coda):
        at = PRODUCT_OF[i] if len(coda) == len(PRODUCT_OF) else None
        rows.append((times["ours"][0][i][0], None if at is None else shapes[at], us, 0 if at is None else cublas[at]))
    print(f"  sums of kernels: coda {sum(coda):.0f} us, cuBLAS {sum(cublas):.0f}; between them: coda "
          f"{sum(median(times['ours'], 2)[1:]):.0f} us, cuBLAS {sum(median(times['base'], 2)[1:]):.0f}")
    for name, shape, us, base_us in rows:
        product = f"{shape[0]:<2} {shape[1]:>5}x{shape[2]:<5}" if shape else "no product"
        print(f"  {name:<16} {product} coda {us:6.0f} us" + (f" cuBLAS {base_us:6.0f} ratio {base_us / us:.3f}" if base_us else ""))
    return rows


def run_case(kernel, d, args):
    beat("set-up")
    block = formula(d)
    sets = [make(d) for _ in range(2)]
    ours = [kernel.record(**inputs, **given, **written) for inputs, given, written in sets]
    flop = 3 * sum(2.0 * d["T"] * n * k for kind, n, k in products(d) if kind == "y")
    result = dict(dims=d, workspace=kernel.workspace_bytes(**sets[0][0], **sets[0][1], **sets[0][2]))
    beat("f64")
    result["errors"] = check(block, *sets[0], ours[0])
    torch.cuda.empty_cache()
    peers = {"bare": [bare(d) for _ in range(2)]}
    if args.compile:
        beat("torch.compile")
        bench_gpu.heartbeat[0] += 200  # compiling takes its time
        compiled = torch.compile(block, mode=args.compile, dynamic=False)
        peers["compile"] = [graph_of(lambda inputs=inputs, given=given: autograd(compiled, inputs, given))
                            for inputs, given, _ in sets]
    if args.kernels:
        result["kernels"] = each_kernel(ours, peers["bare"], d, args.kernels)
    timed = time_peers(ours, peers, args.rounds, flop, "forward and backward")
    for name, summary in timed.items():
        print("  " + peer_row(name, summary), flush=True)
    return dict(result, **timed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--compile", default="", help="mode of torch.compile, e.g. default; without: not timed")
    parser.add_argument("--kernels", type=int, default=0, help="rounds in which each kernel is timed alone")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    coda = bench_gpu.start(args.dist)
    d = dict(T=8192, D=4096, A=4096, F=14336, Hq=32, Hkv=8, Dh=128)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; forward and backward, T=8192; errors coda/PyTorch; "
          "ratio = peer's time / coda's", flush=True)
    kernel = coda.load(args.dist / "programs" / "llama_grad.T8192.coda.bin").prepare(0)
    result = run_case(kernel, d, args)
    print("  errors " + " ".join(f"{k} {a:.1e}/{b:.1e}" for k, (a, b) in result["errors"].items()))
    print(f"  workspace {result['workspace'] / 1e9:.2f} GB", flush=True)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
