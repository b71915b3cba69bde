# Reads tools/gpu_cases.txt; to be sourced. `each_case FUNCTION` calls it as FUNCTION NAME FILE KERNEL INDEX DIMS..., index
# 0 being the benchmark's dimensions.
cases_file=${cases_file:-$(dirname "${BASH_SOURCE[0]}")/gpu_cases.txt}

each_case() {
  local name file kernel main others dims index
  while IFS='|' read -r name file kernel main others; do
    case $name in '#'* | '') continue ;; esac
    index=0
    while IFS= read -r dims; do
      # shellcheck disable=SC2086  # the words are separate arguments
      "$1" ${name} ${file} ${kernel} "$index" $(printf -- '--dim %s ' $dims)
      index=$((index + 1))
    done < <(printf '%s;%s\n' "$main" "$others" | tr ';' '\n')
  done <"$cases_file"
}
