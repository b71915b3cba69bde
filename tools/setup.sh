#!/usr/bin/env bash
# Installs what building and testing coda needs. For Debian 12; as root, or as a user who may use sudo. Running it again
# is harmless. Elsewhere it says what to install by hand.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache git                   # build
  llvm-22 llvm-22-dev lld-22                         # LLVM 22; its archives need the next two
  zlib1g-dev libzstd-dev
  catch2 libcli11-dev nlohmann-json3-dev             # tests, command line, JSON
  clang-format python3                               # checks
)

say() { printf 'setup: %s\n' "$*"; }
elsewhere() {
  cat >&2 <<'TEXT'
setup: this is not a Debian 12 with apt. Please install by hand:
  a C++20 compiler (g++ 12 or clang 14 and newer), cmake 3.25, ninja, zlib, zstd, Catch2 (version 2), CLI11, nlohmann-json;
  LLVM 22: from https://apt.llvm.org (llvm-22-dev lld-22), from the distribution, or built from source.
  If LLVM 22 is not in /usr/lib/llvm-22, configure with -DCODA_LLVM_DIR=<its prefix>.
TEXT
  exit 1
}

[ -r /etc/os-release ] || elsewhere
. /etc/os-release
[ "${ID:-}" = debian ] && [ "${VERSION_ID:-}" = 12 ] && command -v apt-get >/dev/null || elsewhere

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
missing=()
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
if [ ${#missing[@]} -eq 0 ]; then
  say "everything is installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { say "run this as root, or install sudo" >&2; exit 1; }
  as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@"; }
has_candidate() { [[ $(apt-cache policy "$1" 2>/dev/null) =~ Candidate:\ [0-9] ]]; }

say "missing: ${missing[*]}"
apt update
if ! has_candidate llvm-22-dev; then
  # Debian 12 carries LLVM 22 in its security suite only. Prefer the mirror that apt uses already.
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    grep -v '^ *#' | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' ' || true)
  list=/etc/apt/sources.list.d/coda-bookworm-security.list
  for uri in http://security.debian.org/debian-security ${mirror:+"${mirror%/}-security"}; do
    say "adding Debian's security suite from $uri"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri bookworm-security main" |
      "${as_root[@]}" tee "$list" >/dev/null
    if apt update -o APT::Update::Error-Mode=any && has_candidate llvm-22-dev; then break; fi
    "${as_root[@]}" rm -f "$list"
  done
  has_candidate llvm-22-dev || { say "no apt source here offers llvm-22-dev" >&2; elsewhere; }
fi
apt install -y --no-install-recommends "${missing[@]}"
say "done"
