#!/usr/bin/env bash
# Random programs and one of each form of rows, compared on a GPU. `test_codegen "[.write]"` writes them (see
# tests/codegen/gpu_programs_test.cpp) into a folder:
#   gpu_random.sh build FOLDER CODAC   compiles each for sm_90a, by the schedule that its list names if that fits
#   gpu_random.sh run FOLDER CODAC     runs each at its sizes against the reference, compiled now where it isn't yet;
#                                      prints what is off and a count
# JOBS says how many at once, LIMIT after how many seconds no more is begun. Exits with 1 if anything was off.
set -uo pipefail
case ${1:-}/$# in build/3 | run/3) ;; *) sed -n 2,8p "$0" >&2; exit 2 ;; esac
mode=$1 folder=$2 codac=$3
export folder codac

# one_build LINE: says nothing where it worked.
one_build() {
  local name bound schedule log word dims=()
  IFS='|' read -r name bound schedule _ <<<"$1"
  log=$folder/$name.log
  for word in $bound; do dims+=(--dim "$word"); done
  for word in "--schedule $schedule" ""; do
    # shellcheck disable=SC2086  # two words, or none
    "$codac" build "$folder/$name.coda" --arch sm_90a $word "${dims[@]}" -o "$folder/$name.bin" >"$log" 2>&1 </dev/null && rm -f "$log" && return
  done
  echo "refused: $name: $(grep -m 1 error "$log")"
}
# one_run LINE: a line for each of its sizes.
one_run() {
  local name bound schedule sizes inputs word words list output
  [ "$(date +%s)" -lt "$end" ] || return 0
  IFS='|' read -r name bound schedule sizes inputs <<<"$1"
  [ -e "$folder/$name.bin" ] || one_build "$1"
  [ -e "$folder/$name.bin" ] || return 0
  IFS=';' read -ra list <<<"$sizes"
  for sizes in "${list[@]}"; do
    words=()
    for word in $bound $sizes; do words+=(--dim "$word"); done
    for word in $inputs; do words+=(--in "$word"); done
    if output=$(timeout 60 "$codac" run "$folder/$name.coda" --image "$folder/$name.bin" "${words[@]}" --device cuda --verify --brief 2>&1 </dev/null); then
      echo "ok"
    else
      echo "off: $name ($schedule) $sizes: $(tail -n 3 <<<"$output" | tr '\n' ' ')"
    fi
  done
}
export -f one_build one_run

export end=$(($(date +%s) + ${LIMIT:-36000}))
tr '\n' '\0' <"$folder/programs.txt" |
  xargs -0 -n 1 -P "${JOBS:-$(nproc)}" bash -c "one_$mode \"\$1\"" _ >"$folder/$mode.out"
grep -v '^ok$' "$folder/$mode.out" | sort
if [ "$mode" = build ]; then
  echo "$(find "$folder" -name '*.bin' | wc -l) of $(wc -l <"$folder/programs.txt") programs compiled"
else
  echo "$(grep -c '^ok$' "$folder/run.out") runs of $(find "$folder" -name '*.bin' | wc -l) programs agree, $(grep -c '^off' "$folder/run.out") are off"
  ! grep -q '^off' "$folder/run.out"
fi
