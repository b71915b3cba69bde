#!/usr/bin/env bash
# Checks and times coda on a machine with a Hopper GPU, from a dist/ folder made by `tools/package.sh --programs`:
#   gpu_check.sh quick        every GPU test, every program against the reference, a short benchmark; under 4 minutes
#   gpu_check.sh short        what is new (8-bit operands, split depths, statistics of nothing), checked and timed, the six
#                             kernels timed, the examples at small sizes; each part with a limit of its own; 2 minutes
#   gpu_check.sh examples     every kernel of examples/ against the reference
#   gpu_check.sh gate [CASES] plain and fused kernels shape by shape by the issues' method: 30 hot pairs, three times, and
#                             against other peers; CASES: those of gate_cases.txt, with commas. About 16 s a run's shape
#                             of 3 runs: 8 minutes for all
#   gpu_check.sh tiles        products of 4096 columns, alone and with residual and row sums, in several tiles, and with the
#                             last round shared; 3 minutes
#   gpu_check.sh overlap      forward of the Llama block at 1 to 8192 rows with and without dependent launches; 3 minutes
#   gpu_check.sh backward     each kernel of llama_grad, backward of the loss, AdamW in the weight gradient; 4 minutes
#   gpu_check.sh runtime      loading what the cache has, and launches over bare ones, against what they may take; a minute
#   gpu_check.sh models       blocks of other sizes, forward and backward, and other models' backward; 8 minutes
#   gpu_check.sh full [PART]  part 1: tests and programs, twice; part 2: benchmark hot; part 3: benchmark cool; each part
#                             under 9 minutes; without PART all of them
# The last lines are a table of what passed. Exits with 1 if anything failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$here/bin" ] || here=$here/../dist
cd "$here" || exit 2
mode=${1:-quick} part=${2:-all}
case $mode/$part in gate/* | tiles/all | overlap/all | backward/all | models/all | runtime/all | quick/all | short/all | examples/all | full/all | full/[123]) ;; *) sed -n 2,20p "$0" >&2; exit 2 ;; esac
export cases_file=$here/gpu_cases.txt examples_file=$here/examples.txt
. "$here/cases.sh"
log=${OUT:-$here}/gpu_check.$mode.log
: >"$log"
rows=() failed=0 skipped=0 started=$SECONDS

# row NAME STATUS TEXT
row() {
  rows+=("$(printf '%-44s %-5s %s' "$1" "$2" "$3")")
  [ "$2" = ok ] || failed=$((failed + 1))
  printf '%s\n' "${rows[-1]}"
}
# step NAME COMMAND...: its last line of output is the text of the row. At most $limit seconds, and none after $deadline.
limit=300 deadline=
step() {
  local name=$1 begin=$SECONDS output code allowed=$limit
  shift
  if [ -n "$deadline" ]; then
    [ "$SECONDS" -lt "$deadline" ] || { skipped=$((skipped + 1)); return 0; }
    [ $((deadline - SECONDS)) -ge "$allowed" ] || allowed=$((deadline - SECONDS))
  fi
  output=$(timeout -k 2 "$allowed" "$@" 2>&1 </dev/null)
  code=$?
  printf '==== %s: %s\n%s\n' "$name" "$*" "$output" >>"$log"
  [ $code -eq 0 ] || printf '%s\n' "$output" | head -n -1 | tail -n 15
  [ $code -lt 124 ] || output+=$'\n'"no end after $allowed s"
  row "$name" "$([ $code -eq 0 ] && echo ok || echo "FAIL")" "$(printf '%s' "$output" | tail -n 1) [$((SECONDS - begin)) s]"
}
# part NAME SECONDS COMMAND...: steps until the time is up; what is left out is no failure, but said.
part() {
  local name=$1 begin=$SECONDS
  deadline=$((SECONDS + $2)) skipped=0
  shift 2
  "$@"
  deadline=
  printf -- '-- %s: %d s, %d left out\n' "$name" $((SECONDS - begin)) "$skipped" | tee -a "$log"
}

# The tests of tests/device need a GPU and nothing else; those of graphs compile programs, which takes half a minute.
tests() { step "test_device" bin/test_device "$@"; }
verify_one() {
  local name=$1 file=$2 kernel=$3 index=$4
  shift 4
  # A pass over 16384 rows takes the reference half a minute; the benchmark checks rows of it.
  set -- "${@//=16384/=1000}"
  local sizes="$*"
  step "$name ${sizes//--dim /}" bin/codac run "examples/$file" ${kernel:+"$kernel"} --image "programs/$name.$index.coda.bin" "$@" \
    --device cuda --verify --brief --seed "${seed:-1}"
}
benchmark() { step "benchmark $*" python3 -u bench_gpu.py --dist "$here" "$@"; sed -n '/^==== benchmark/,$p' "$log" | tail -n 40; }

# verify_new NAME FILE KERNEL INDEX DIMS...: small cases of the newer forms.
verify_new() {
  case $1/$4 in
    fp8_*/[1-9] | few_*/* | deep/[1-9] | statistics/[2-9]) verify_one "$@" ;;
  esac
}
verify_small() { [ "$4" != 0 ] || verify_one "$@"; }
# timed NAME SECONDS SCRIPT...: a benchmark in Python. shown NAME SECONDS COMMAND...: one whose lines are printed and kept
# as they come.
timed() { shown "$1" "$2" python3 -u "${@:3}" --dist "$here" --json "${OUT:-$here}/$1.json"; }
shown() {
  local name=$1 allowed=$2 begin=$SECONDS code
  shift 2
  printf '==== %s: %s\n' "$name" "$*" >>"$log"
  timeout -k 2 "$allowed" "$@" 2>&1 </dev/null | tee -a "$log"
  code=${PIPESTATUS[0]}
  row "$name" "$([ "$code" -eq 0 ] && echo ok || echo "FAIL")" "$(tail -n 1 "$log") [$((SECONDS - begin)) s]"
}

bin/codac doctor --need cuda || { echo "no usable GPU here" >&2; exit 1; }
if [ "$mode" = quick ]; then
  tests
  each_case verify_one
  benchmark --hot 2 --cool 3 --json "${OUT:-$here}/bench.json"
elif [ "$mode" = short ]; then
  limit=8
  part "new forms" 40 each_case verify_new
  timed bench_few_rows 28 bench_few_rows.py --rounds 3
  timed bench_fp8 30 bench_gpu.py --only fp8_gemm,fp8_fast,fp8_fast:128x256 --hot 3 --cool 3 --memory 4
  timed bench_six 34 bench_gpu.py --only plain,bias_gelu,gate_up,residual,qkv,linear_ce --hot 3 --cool 0 --memory 8
  part "device tests" 10 tests "~[graph]"
  part "examples" 15 each_example verify_small
elif [ "$mode" = gate ]; then
  only=$part
  [ "$part" != all ] || only=plain,batched,bias_gelu,gate_up,residual,qkv,linear_ce
  timed gate 570 bench_gpu.py --cases gate_cases.txt --only "$only" --hot 30 --runs 3 --cool 0 --peers 4 --memory 16
elif [ "$mode" = tiles ]; then
  only=
  for name in residual@8192x4096x14336 plain@8192x4096x14336 residual@8192x4096x4096 plain@8192x4096x4096; do
    for build in 128x256 128x256-tail 128x256x1-tail pingpong-128x128 pingpong-64x256 pingpong-128x192; do only+=$name:$build,; done
  done
  timed tiles 240 bench_gpu.py --cases gate_cases.txt --only "${only%,}" --hot 8 --cool 6 --memory 8
elif [ "$mode" = overlap ]; then
  for tokens in 16 64 256 1; do
    timed "overlap_T$tokens" 50 bench_models.py --rounds 8 --burst 10 --compile "$([ $tokens = 1 ] || echo default)" \
      --only "llama8b.T$tokens,llama8b.T$tokens:dep1,llama8b.T$tokens:dep2"
  done
  timed overlap_T8192 60 bench_models.py --rounds 6 --only llama8b.T8192,llama8b.T8192:dep1,llama8b.T8192:dep2
elif [ "$mode" = backward ]; then
  timed backward 90 bench_backward.py --rounds 4 --kernels 6
  timed overlap_grad 40 bench_models.py --rounds 4 --only llama8b_grad.T8192:dep2
  timed loss_grad 60 bench_models.py --rounds 4 --only loss_grad.T8192 --compile default
  timed adamw 90 bench_adamw.py --rounds 4
elif [ "$mode" = models ]; then
  timed qwen3 100 bench_models.py --rounds 4 --compile default --only qwen3_grad.T8192
  timed gemma2 100 bench_models.py --rounds 4 --compile default --only gemma2_grad.T8192
  timed gpt2 60 bench_models.py --rounds 4 --compile default --only gpt2_grad.T8192
  timed forward 120 bench_models.py --rounds 4 --compile default --only llama70b.T4096,llama1b.T16384,llama1b.T16384:dep2,llama8b.T16384
  timed grad 190 bench_models.py --rounds 4 --only llama1b_grad.T16384,llama70b_grad.T4096,llama8b_grad.T16384
elif [ "$mode" = runtime ]; then
  # The cache belongs to whoever runs this. Its assembler is what it was made by, and only says so.
  cache=$(mktemp -d) && cp -r runtime_cache/* "$cache"
  shown load 60 env CODA_CACHE=on "CODA_CACHE_DIR=$cache/cache" "CODA_PTXAS=$cache/ptxas" bin/bench_runtime warm programs/*.ptx.bin
  shown launch 60 bin/bench_runtime launch programs/*.ptx.bin
  rm -rf "$cache"
elif [ "$mode" = examples ]; then
  each_example verify_one
else
  if [ "$part" = all ] || [ "$part" = 1 ]; then
    tests
    for seed in 1 2; do each_case verify_one; done
  fi
  if [ "$part" = all ] || [ "$part" = 2 ]; then benchmark --hot 12 --cool 0 --json "${OUT:-$here}/bench_hot.json"; fi
  if [ "$part" = all ] || [ "$part" = 3 ]; then benchmark --hot 0 --cool 24 --json "${OUT:-$here}/bench_cool.json"; fi
fi
printf '\n%s\n' "---- gpu_check $mode $part, $((SECONDS - started)) s"
printf '%s\n' "${rows[@]}"
printf '%d passed, %d failed\n' $((${#rows[@]} - failed)) "$failed"
[ "$failed" -eq 0 ]
