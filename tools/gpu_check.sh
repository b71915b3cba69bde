#!/usr/bin/env bash
# Checks and times coda on a machine with a Hopper GPU, from a dist/ folder made by `tools/package.sh --programs`:
#   gpu_check.sh quick        every GPU test, every program against the reference, a short benchmark; under 5 minutes
#   gpu_check.sh examples     every kernel of examples/ against the reference
#   gpu_check.sh full [PART]  part 1: tests and programs, twice; part 2: benchmark hot; part 3: benchmark cool; each part
#                             under 9 minutes; without PART all of them
# The last lines are a table of what passed. Exits with 1 if anything failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$here/bin" ] || here=$here/../dist
cd "$here" || exit 2
mode=${1:-quick} part=${2:-all}
case $mode/$part in quick/all | examples/all | full/all | full/[123]) ;; *) sed -n 2,8p "$0" >&2; exit 2 ;; esac
export cases_file=$here/gpu_cases.txt examples_file=$here/examples.txt
. "$here/cases.sh"
log=${OUT:-$here}/gpu_check.log
: >"$log"
rows=() failed=0 started=$SECONDS

# row NAME STATUS TEXT
row() {
  rows+=("$(printf '%-44s %-5s %s' "$1" "$2" "$3")")
  [ "$2" = ok ] || failed=$((failed + 1))
  printf '%s\n' "${rows[-1]}"
}
# step NAME COMMAND...: its last line of output is the text of the row.
step() {
  local name=$1 begin=$SECONDS output code
  shift
  output=$(timeout 300 "$@" 2>&1 </dev/null)
  code=$?
  printf '==== %s: %s\n%s\n' "$name" "$*" "$output" >>"$log"
  [ $code -eq 0 ] || printf '%s\n' "$output" | head -n -1 | tail -n 15
  row "$name" "$([ $code -eq 0 ] && echo ok || echo "FAIL")" "$(printf '%s' "$output" | tail -n 1) [$((SECONDS - begin)) s]"
}

# The tests of tests/device need a GPU and nothing else.
tests() { step "test_device" bin/test_device; }
verify_one() {
  local name=$1 file=$2 kernel=$3 index=$4
  shift 4
  local sizes="$*"
  step "$name ${sizes//--dim /}" bin/codac run "examples/$file" ${kernel:+"$kernel"} --image "programs/$name.$index.coda.bin" "$@" \
    --device cuda --verify --brief --seed "${seed:-1}"
}
benchmark() { step "benchmark $*" python3 bench_gpu.py --dist "$here" "$@"; sed -n '/^==== benchmark/,$p' "$log" | tail -n 40; }

bin/codac doctor --need cuda || { echo "no usable GPU here" >&2; exit 1; }
if [ "$mode" = quick ]; then
  tests
  each_case verify_one
  benchmark --hot 2 --cool 3 --json "${OUT:-$here}/bench.json"
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
