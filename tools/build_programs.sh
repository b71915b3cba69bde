#!/usr/bin/env bash
# Compiles every program of tools/gpu_cases.txt for sm_90a ahead of time: tools/build_programs.sh DIST. A machine with a
# GPU then needs neither a compiler nor an assembler. PART: cases (what gpu_check.sh quick, short and full use), gate or
# models (its modes of those names), or runtime; else all of them. A program that can't be built is said and left out.
set -uo pipefail
folder=${1:?usage: tools/build_programs.sh DIST [PART]}
part=${2:-all}  # cases, gate, models, runtime or all
tools=$(cd "$(dirname "$0")" && pwd)
. "$tools/cases.sh"
mkdir -p "$folder/programs"

build_one() {
  local name=$1 file=$2 kernel=$3 index=$4
  shift 4
  "$folder/bin/codac" build "$tools/../examples/$file" ${kernel:+"$kernel"} --arch sm_90a "$@" -o "$folder/programs/$name.$index.coda.bin" </dev/null ||
    echo "not built: $name.$index" >&2
}
wants() { [ "$part" = all ] || [ "$part" = "$1" ]; }
build_first() { [ "$4" != 0 ] || build_one "$@"; }

if wants gate; then
  (cases_file=$tools/gate_cases.txt each_case build_first)
  for sizes in "4096 14336" "4096 4096"; do  # gpu_check.sh tiles
    read -r n k <<<"$sizes"
    for program in residual:residual.coda:residual plain:gemm.coda:gemm; do
      IFS=: read -r name file kernel <<<"$program"
      for schedule in 128x256 pingpong-128x128 pingpong-64x256 pingpong-128x192; do
        build_one "$name@8192x${n}x$k" $file $kernel $schedule --schedule $schedule --dim M=8192 --dim N=$n --dim K=$k
      done
      for schedule in 128x256 128x256x1; do
        build_one "$name@8192x${n}x$k" $file $kernel $schedule-tail --schedule $schedule --schedule tail=1 --dim M=8192 \
          --dim N=$n --dim K=$k
      done
    done
  done
fi
if wants models; then  # tools/bench_models.py
  llama8="--dim D=4096 --dim A=4096 --dim F=14336 --dim Hq=32 --dim Hkv=8 --dim Dh=128"
  llama70="--dim D=8192 --dim A=8192 --dim F=28672 --dim Hq=64 --dim Hkv=8 --dim Dh=128"
  llama1="--dim D=2048 --dim A=2048 --dim F=8192 --dim Hq=32 --dim Hkv=8 --dim Dh=64"
  for tokens in 1 16 64 256 8192 16384; do
    build_one "llama8b.T$tokens" llama_block.coda llama 0 --dim T=$tokens $llama8
    for overlap in 1 2; do
      build_one "llama8b.T$tokens" llama_block.coda llama dep$overlap --dim T=$tokens $llama8 --schedule dependent=$overlap
    done
  done
  build_one llama70b.T4096 llama_block.coda llama 0 --dim T=4096 $llama70
  build_one llama1b.T16384 llama_block.coda llama 0 --dim T=16384 $llama1
  build_one llama1b.T16384 llama_block.coda llama dep2 --dim T=16384 $llama1 --schedule dependent=2
  for tokens in 8192 16384; do build_one "llama8b_grad.T$tokens" llama_block.coda llama_grad 0 --dim T=$tokens $llama8; done
  build_one llama8b_grad.T8192 llama_block.coda llama_grad dep2 --dim T=8192 $llama8 --schedule dependent=2
  build_one llama70b_grad.T4096 llama_block.coda llama_grad 0 --dim T=4096 $llama70
  build_one llama1b_grad.T16384 llama_block.coda llama_grad 0 --dim T=16384 $llama1
  build_one qwen3_grad.T8192 ../tools/bench_models.coda qwen3_grad 0 --dim T=8192 --dim D=4096 --dim A=4096 --dim F=12288 \
    --dim Hq=32 --dim Hkv=8 --dim Dh=128
  build_one gemma2_grad.T8192 ../tools/bench_models.coda gemma2_grad 0 --dim T=8192 --dim D=3584 --dim A=4096 --dim F=14336 \
    --dim N=8192
  build_one gpt2_grad.T8192 ../tools/bench_models.coda gpt2_grad 0 --dim T=8192 --dim D=1600 --dim A=1600 --dim F=6400 \
    --dim N=4800
  build_one loss_grad.T8192 ../tools/bench_models.coda loss_grad 0 --dim T=8192 --dim D=4096 --dim V=128256
fi
# Programs as PTX, with a cache that has their machine code: as if they had been run before. The machine with the GPU
# needs no assembler for that, but something that says what the assembler said here.
build_ptx() {
  local name=$1 file=$2 kernel=$3 index=$4
  shift 4
  [ "$index" = 0 ] || return 0
  case $name in plain | bias_gelu | gate_up | residual | qkv | linear_ce | mlp_block | llama_block) ;; *) return 0 ;; esac
  CODA_PTXAS=driver "$folder/bin/codac" build "$tools/../examples/$file" "$kernel" --arch sm_90a "$@" \
    -o "$folder/programs/$name.ptx.bin" </dev/null || echo "not built: $name as PTX" >&2
}
if wants runtime; then
  each_case build_ptx
  null=$(find "$tools/../build/release" -name libcoda_null_cuda.so | head -n 1)
  rm -rf "$folder/runtime_cache" && mkdir -p "$folder/runtime_cache"
  CODA_CUDA_DRIVER_PATH=$null CODA_CACHE=on CODA_CACHE_DIR=$(realpath "$folder")/runtime_cache/cache "$folder/bin/bench_runtime" \
    warm "$folder"/programs/*.ptx.bin >/dev/null
  case $? in 0 | 3) ;; *) echo "not all of runtime_cache was made" >&2 ;; esac  # 3: slow, which is no matter here
  printf '#!/bin/sh\n[ "$1" = --version ] || { echo "this code is not in the cache"; exit 1; }\ncat <<"END"\n%s\nEND\n' \
    "$("${CODA_PTXAS:-$(PATH=$PATH:/usr/local/cuda/bin command -v ptxas)}" --version 2>&1)" >"$folder/runtime_cache/ptxas"
  chmod +x "$folder/runtime_cache/ptxas"
fi
wants cases || exit 0
each_case build_one
for tokens in 8192 256 64 16; do  # tools/bench_blocks.py
  build_one llama_block llama_block.coda llama "T$tokens" --dim T=$tokens --dim D=4096 --dim A=4096 --dim F=14336 \
    --dim Hq=32 --dim Hkv=8 --dim Dh=128
done
build_one llama_grad llama_block.coda llama_grad T8192 --dim T=8192 --dim D=4096 --dim A=4096 --dim F=14336 --dim Hq=32 \
  --dim Hkv=8 --dim Dh=128  # tools/bench_backward.py
for schedule in 128x256 pingpong-128x128; do  # tools/bench_gpu.py --only fp8_fast:SCHEDULE
  build_one fp8_fast fp8_gemm.coda fp8_fast $schedule --schedule $schedule --dim M=8192 --dim N=14336 --dim K=4096
done
for sizes in "6144 4096" "4096 14336"; do  # tools/bench_few_rows.py
  read -r n k <<<"$sizes"
  for parts in 1 2 3 4 6; do
    build_one few_rows gemm.coda gemm "N$n.K$k.s$parts" --schedule 16x64 --schedule split=$parts --dim M=16 --dim N=$n --dim K=$k
  done
  build_one few_rows gemm.coda gemm "N$n.K$k.s0" --dim M=16 --dim N=$n --dim K=$k
done
for sizes in "4096 14336" "28672 4096"; do  # tools/bench_adamw.py
  read -r n k <<<"$sizes"
  for tokens in 8192 16384; do
    build_one adamw models/adamw.coda adamw "N$n.K$k.T$tokens" --dim T=$tokens --dim N=$n --dim K=$k
  done
done
each_example build_one
echo "$(ls "$folder/programs" | wc -l) programs, $(du -sh --apparent-size "$folder/programs" | cut -f1)"
