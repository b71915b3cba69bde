#!/usr/bin/env bash
# From a bare Debian 12 to a result: installs what is needed, builds, compiles an example and runs it, on the GPU if
# there is one and on the CPU otherwise, and compares the result with the reference.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh
tools/build.sh release codac
codac=build/release/codac
echo
"$codac" doctor
echo
if "$codac" doctor --quiet --need cuda; then
  size=(--dim M=8192 --dim K=4096 --dim F=14336)
else
  size=(--dim M=256 --dim K=512 --dim F=768)
fi
set -x
"$codac" run examples/gate_up.coda "${size[@]}" --device auto --verify --bench
