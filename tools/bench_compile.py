#!/usr/bin/env python3
"""How long compiling for sm_90a takes, from source to PTX and to a cubin, without any cache. Needs no GPU.

    tools/bench_compile.py --codac build/release/codac --examples          every program of examples/: percentiles and the slowest
    tools/bench_compile.py --codac build/release/codac [--cutlass FOLDER]  beside Triton and nvcc with CUTLASS

The second is of one fused kernel, a linear layer with bias and tanh-GELU in bf16. Triton is timed if it can be imported;
CUTLASS if --cutlass names its folder (the one that has include/cutlass) and nvcc is found. Each is started anew, so what a
process sets up on first use is in the time; `inside` is the time without it. Where a machine is shared, the processor's time
says more than the clock's. The aims are those for a machine of two processors (--cores 2).
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

AIMS = {"PTX": 150, "cubin": 700}  # milliseconds, for the 90th percentile of the kernels
ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "examples" / "bias_gelu.coda"

TRITON = '''
import time, triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def bias_gelu(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, sx, sw, sy,
              BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        a = tl.load(x_ptr + row[:, None] * sx + (start + k)[None, :],
                    mask=(row[:, None] < M) & ((start + k)[None, :] < K), other=0.0)
        b = tl.load(w_ptr + col[None, :] * sw + (start + k)[:, None],
                    mask=(col[None, :] < N) & ((start + k)[:, None] < K), other=0.0)
        acc = tl.dot(a, b, acc)
    z = acc + tl.load(b_ptr + col, mask=col < N, other=0.0).to(tl.float32)[None, :]
    inner = 0.7978845608028654 * (z + 0.044715 * z * z * z)
    z = 0.5 * z * (2.0 - 2.0 / (tl.exp(2 * inner) + 1))
    tl.store(y_ptr + row[:, None] * sy + col[None, :], z.to(tl.bfloat16), mask=(row[:, None] < M) & (col[None, :] < N))

sizes = {"BM": 128, "BN": 128, "BK": 64}
types = {n: "*bf16" for n in ("x_ptr", "w_ptr", "b_ptr", "y_ptr")} | {n: "i32" for n in ("M", "N", "K", "sx", "sw", "sy")}
source = ASTSource(fn=bias_gelu, signature=types | {n: "constexpr" for n in sizes}, constexprs=sizes,
                   attrs={(i,): [["tt.divisibility", 16]] for i in range(10)})
start = time.perf_counter()
done = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8, "num_stages": 3})
assert done.asm["cubin"]
print(1000 * (time.perf_counter() - start))
'''

CUTLASS = '''
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/epilogue/fusion/operations.hpp"
#include "cutlass/epilogue/thread/activation.h"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
using namespace cute;
using Bf16 = cutlass::bfloat16_t;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using TileShape = Shape<_128, _128, _64>;
using ClusterShape = Shape<_2, _1, _1>;
using Fusion = cutlass::epilogue::fusion::LinCombPerColBiasEltAct<cutlass::epilogue::thread::GELU_taylor, Bf16, float, Bf16>;
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, TileShape, ClusterShape, cutlass::epilogue::collective::EpilogueTileAuto,
    float, float, Bf16, Row, 8, Bf16, Row, 8, cutlass::epilogue::TmaWarpSpecializedCooperative, Fusion>::CollectiveOp;
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Bf16, Row, 8, Bf16, Column, 8, float, TileShape, ClusterShape,
    cutlass::gemm::collective::StageCountAutoCarveout<sizeof(typename Epilogue::SharedStorage)>,
    cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue>;
template __global__ void cutlass::device_kernel<Kernel>(const __grid_constant__ typename Kernel::Params);
'''


def processor_time():
    """Of the processes that have ended: says more than the clock where a machine is shared."""
    times = os.times()
    return 1000 * (times.children_user + times.children_system)


def timed(command, **options):
    start, busy = time.perf_counter(), processor_time()
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{(result.stdout + result.stderr)[-1500:]}")
    return 1000 * (time.perf_counter() - start), result.stdout, processor_time() - busy


def report(name, runs):
    whole = statistics.median(run[0] for run in runs)
    inside = [float(run[1].split()[-1]) for run in runs if run[1].strip()]
    extra = f", {statistics.median(inside):8.0f} ms inside" if inside else ""
    busy = statistics.median(run[2] for run in runs)
    print(f"{name:24} {whole:8.0f} ms, {busy:8.0f} ms of the processor{extra}", flush=True)


def compile_time(codac, arguments, output):
    """Milliseconds in all, as codac says, of the whole process, and of the processor, which says more where a machine is shared."""
    command = [codac, "build", *arguments, "--arch", "sm_90a", "--time-passes", "-o", str(output)]
    start, busy = time.perf_counter(), processor_time()
    result = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"CODA_CACHE": "off"})
    whole, busy = 1000 * (time.perf_counter() - start), processor_time() - busy
    inside = [line.split()[0] for line in (result.stdout + result.stderr).splitlines() if line.endswith("in all")]
    if result.returncode != 0 or not inside:
        raise RuntimeError(result.stderr[-1500:])
    return float(inside[0]), whole, busy


def examples(codac, out, ptx_only):
    """The programs of the tests' list, each with what its structure fixes."""
    outputs = {"PTX": ["--emit", "ptx"]} if ptx_only else {"PTX": ["--emit", "ptx"], "cubin": []}
    times = []  # (name, is a block, by output: (milliseconds, milliseconds of the processor))
    for line in (ROOT / "tests" / "codegen" / "examples.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, fixed, _ = [part.strip() for part in line.split("|")]
        dims = [word for part in fixed.split() if "=" in part for word in ("--dim", part)]
        program = [str(ROOT / "examples" / name), *dims]
        try:
            took = {what: compile_time(codac, [*program, *how], out / "x.out") for what, how in outputs.items()}
        except RuntimeError as error:
            print(f"{name}: {str(error).splitlines()[0]}")
            continue
        times.append((name, "block" in fixed, {what: (t[0], t[2]) for what, t in took.items()}))
    last = list(outputs)[-1]
    for name, block, took in sorted(times, key=lambda entry: -entry[2][last][1])[:12]:
        print("".join(f"{t[0]:8.0f} ms ({t[1]:6.0f} of the processor) to {what} " for what, t in took.items()), name, "(a block)" if block else "")
    for group, chosen in (("kernels", [t for t in times if not t[1]]), ("blocks", [t for t in times if t[1]])):
        for part in (0.5, 0.9) if len(chosen) > 1 else ():
            at = int(part * len(chosen))
            for what in outputs:
                wall, busy = (sorted(t[2][what][i] for t in chosen)[at] for i in (0, 1))
                within = sum(t[2][what][0] <= AIMS[what] for t in chosen)
                print(f"{len(chosen)} {group}, {100 * part:.0f}th percentile to {what}: {wall:.0f} ms, {busy:.0f} ms of the processor; "
                      f"{within} within {AIMS[what]} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codac", required=True)
    parser.add_argument("--examples", action="store_true", help="every program of examples/, no peers")
    parser.add_argument("--ptx-only", action="store_true", help="with --examples: without the assembler")
    parser.add_argument("--cutlass", help="folder of CUTLASS")
    parser.add_argument("--nvcc", default="/usr/local/cuda/bin/nvcc")
    parser.add_argument("--only", default="coda,triton,cutlass", help="which are compared")
    parser.add_argument("--cores", type=int, help="use only so many processors, as on a small machine")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.cores])
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)

        if options.examples:
            return examples(options.codac, out, options.ptx_only)

        def coda(_):
            inside, whole, busy = compile_time(options.codac, [str(PROGRAM)], out / "coda.bin")
            return whole, str(inside), busy

        def triton(i):
            script = out / "peer.py"
            script.write_text(TRITON)
            return timed([sys.executable, str(script)], env=os.environ | {"TRITON_CACHE_DIR": str(out / f"cache{i}")})

        def cutlass(_):
            source = out / "peer.cu"
            source.write_text(CUTLASS)
            include = pathlib.Path(options.cutlass) / "include"
            return timed([options.nvcc, "-std=c++17", "-arch=sm_90a", "-cubin", "--expt-relaxed-constexpr",
                          f"-I{include}", f"-I{include.parent / 'tools' / 'util' / 'include'}", str(source), "-o", str(out / "peer.cubin")])

        chosen = options.only.split(",")
        if "coda" in chosen:
            report("coda", [coda(i) for i in range(options.runs)])
        try:
            if "triton" in chosen:
                import triton as module
                report(f"Triton {module.__version__}", [triton(i) for i in range(options.runs)])
        except ImportError:
            print("Triton: not installed")
        if options.cutlass and "cutlass" in chosen:
            report("nvcc with CUTLASS", [cutlass(i) for i in range(options.runs)])


if __name__ == "__main__":
    main()
