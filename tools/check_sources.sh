#!/usr/bin/env bash
# Checks of the text of the sources: format, line budget, names, places of LLVM headers, references in the documents.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0
complain() { printf 'check: %s\n' "$*" >&2; failed=1; }

mapfile -t sources < <(git ls-files '*.cpp' '*.h')
mapfile -t texts < <(git ls-files '*.cpp' '*.h' '*.sh' '*.py' '*.cmake' '*.coda' '*.md' '*.txt')

formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$formatter" ]; then
  complain "clang-format is missing: run tools/setup.sh"
elif [ ${#sources[@]} -gt 0 ]; then
  printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 16 "$formatter" --dry-run -Werror --style=file ||
    complain "not formatted: run clang-format -i on the files above"
fi

for file in "${sources[@]}"; do
  lines=$(wc -l <"$file")
  [ "$lines" -le 500 ] || complain "$file has $lines lines; 500 is the budget"
  case $(basename "$file") in
    utils.* | helpers.* | common.* | misc.*) complain "$file: name it after the idea it owns" ;;
  esac
done

while read -r file; do
  case $file in
    compiler/codegen/*) ;;
    *) complain "$file includes LLVM; only compiler/codegen may" ;;
  esac
done < <(grep -lE '#include [<"]llvm' "${sources[@]}" || true)
if grep -nE '#include [<"](cuda|nvrtc|cublas)' "${sources[@]}"; then
  [ -z "$(grep -LE 'driver_table' $(grep -lE '#include [<"](cuda|nvrtc|cublas)' "${sources[@]}") || true)" ] ||
    complain "CUDA toolkit headers are not to be needed"
fi
if grep -nE '[[:space:]]+$' "${texts[@]}" /dev/null | grep -v -e '^LICENSE' -e '/golden/' | head -n 5 | grep .; then
  complain "white space at line ends"
fi

# Paths named in the documents exist.
while IFS=: read -r document path; do
  [ -e "$path" ] || [ -e "$(dirname "$document")/$path" ] || complain "$document names $path, which does not exist"
done < <(for document in README.md CONTRIBUTING.md docs/*.md; do
  [ -f "$document" ] || continue
  grep -oE '\]\([a-zA-Z0-9_./-]+\)' "$document" | sed -E "s|\]\((.*)\)|$document:\1|"
  grep -oE '`(runtime|compiler|dsl|tools|docs|examples|tests|grammar)/[a-zA-Z0-9_./-]*`' "$document" | tr -d '`' |
    sed "s|^|$document:|"
done)
[ $failed -eq 0 ] && echo "check: ${#sources[@]} sources are fine"
exit $failed
