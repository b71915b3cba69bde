#!/usr/bin/env bash
# Compiles every program of tools/gpu_cases.txt for sm_90a ahead of time: tools/build_programs.sh DIST. A machine with a
# GPU then needs neither a compiler nor an assembler.
set -euo pipefail
folder=${1:?usage: tools/build_programs.sh DIST}
tools=$(cd "$(dirname "$0")" && pwd)
. "$tools/cases.sh"
mkdir -p "$folder/programs"

build_one() {
  local name=$1 file=$2 kernel=$3 index=$4
  shift 4
  "$folder/bin/codac" build "$folder/examples/$file" ${kernel:+"$kernel"} --arch sm_90a "$@" -o "$folder/programs/$name.$index.coda.bin" </dev/null
}
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
