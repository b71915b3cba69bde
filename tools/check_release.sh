#!/usr/bin/env bash
# Checks a dist/ folder: nothing newer than glibc 2.34 is needed, no LLVM library, all under 60 MiB.
set -euo pipefail
folder=${1:-dist}
newest=2.34
limit=$((60 * 1024 * 1024))
failed=0
complain() { printf 'check: %s\n' "$*" >&2; failed=1; }

binaries=()
while IFS= read -r file; do
  # ELF for x86-64; machine code of a GPU is ELF too.
  [ "$(od -An -tx1 -N4 "$file" | tr -d ' ')" = 7f454c46 ] && [ "$(od -An -tx1 -j18 -N1 "$file")" = " 3e" ] &&
    binaries+=("$file")
done < <(find "$folder" -type f)
[ ${#binaries[@]} -gt 0 ] || complain "no binaries in $folder"
total=0
for binary in "${binaries[@]}"; do
  total=$((total + $(stat -c %s "$binary")))
  needed=$(objdump -T "$binary" | grep -oE 'GLIBC_[0-9]+\.[0-9]+(\.[0-9]+)?' | sed 's/GLIBC_//' | sort -Vu | tail -n 1 || true)
  [ "$(printf '%s\n' "$needed" "$newest" | sort -V | tail -n 1)" = "$newest" ] ||
    complain "$binary needs glibc $needed: $(objdump -T "$binary" | grep "GLIBC_$needed" | awk '{print $NF}' | xargs)"
  foreign=$(objdump -p "$binary" | awk '/NEEDED/ {print $2}' |
    grep -vE '^(libcoda(_fake_cuda)?\.so|libc\.so\.6|libm\.so\.6|libgcc_s\.so\.1|ld-linux-x86-64\.so\.2|libdl\.so\.2|libpthread\.so\.0)$' || true)
  [ -z "$foreign" ] || complain "$binary needs $foreign"
done
[ "$total" -le "$limit" ] || complain "the binaries are $total bytes together; $limit is the limit"
[ $failed -eq 0 ] && echo "check: ${#binaries[@]} binaries, $((total / 1024 / 1024)) MiB, run on glibc $newest"
exit $failed
