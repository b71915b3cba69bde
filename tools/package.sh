#!/usr/bin/env bash
# Makes dist/: libcoda.so, codac and the test programs, stripped, with the examples and the GPU scripts, for carrying to
# another machine. `--no-build` takes build/release as it is; `--programs` also compiles the GPU programs ahead.
set -euo pipefail
cd "$(dirname "$0")/.."
build=1 programs=0
for argument in "$@"; do
  case $argument in
    --no-build) build=0 ;;
    --programs) programs=1 ;;
    *) echo "usage: tools/package.sh [--no-build] [--programs]" >&2; exit 2 ;;
  esac
done
[ $build -eq 0 ] || tools/build.sh release
rm -rf dist/bin dist/lib dist/include dist/share dist/examples dist/programs
cmake --install build/release --strip --prefix dist >/dev/null
find dist/bin -name 'test_*' ! -name test_device -delete  # the others need no GPU
rm -f dist/lib/libcoda_*_cuda.so dist/lib/libcoda_fake_cuda.so
cp -r examples dist/examples
cp tools/gpu_check.sh tools/bench_gpu.py tools/bench_blocks.py tools/bench_few_rows.py tools/bench_backward.py tools/bench_adamw.py tools/bench_models.py tools/gate_cases.txt examples/python/*.py examples/python/llama_train.coda tools/gpu_cases.txt tools/cases.sh tests/codegen/examples.txt dist/
[ $programs -eq 0 ] || tools/build_programs.sh dist
du -sh --apparent-size dist
