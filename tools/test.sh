#!/usr/bin/env bash
# Installs what is needed, builds, and passes the tests: `tools/test.sh [preset]`, release by default.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
tools/setup.sh
tools/build.sh "$preset"
exec ctest --preset "$preset" -j "$(nproc)"
