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

# The same for each kernel of examples.txt (tests/codegen/examples.txt): index 0 has the sizes there, index 1 eight times
# those, whose rows are aligned.
examples_file=${examples_file:-$(dirname "${BASH_SOURCE[0]}")/../tests/codegen/examples.txt}

each_example() {
  local file fixed sizes name index dims word
  while IFS='|' read -r file fixed sizes; do
    case $file in '#'* | '') continue ;; esac
    case " $fixed " in *' block '* | *' host '*) continue ;; esac
    file=${file%% *} name=${file%%.coda*} name=${name//\//_}
    for index in 0 1; do
      dims=()
      for word in $fixed; do
        case $word in *=*) dims+=(--dim "$word") ;; esac
      done
      for word in $sizes; do dims+=(--dim "${word%=*}=$((${word#*=} * (index ? 8 : 1)))"); done
      "$1" "$name" "$file" "" "$index" "${dims[@]}"
    done
  done <"$examples_file"
}
