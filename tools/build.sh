#!/usr/bin/env bash
# Configures and builds a preset: `tools/build.sh [preset] [targets...]`, release by default;
# CODA_BUILD_OPTIONS are further options of CMake's.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
log=build/$preset.configure.log
mkdir -p build
# shellcheck disable=SC2086  # several options
cmake --preset "$preset" ${CODA_BUILD_OPTIONS:-} >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
cmake --build --preset "$preset" -j "$(nproc)" ${1:+--target "$@"}
