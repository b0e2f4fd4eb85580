#!/bin/sh
# Checks the style of every language in the repository. A warning fails, too.
# A tool that is missing is skipped with the reason; with CI=true it is a failure.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit
failed=0

# check NAME TOOL COMMAND…: runs the command when the tool is there.
check() {
  name=$1 tool=$2
  shift 2
  if ! command -v "$tool" >/dev/null 2>&1; then
    printf 'skerry: %s: skipped, needs %s\n' "$name" "$tool"
    [ "${CI-}" != true ] || failed=1
    return
  fi
  printf 'skerry: %s\n' "$name"
  "$@" || failed=1
}

# Compiles nothing: the analyzer of GCC follows each function's paths.
analyze_c() {
  for file in $(git ls-files '*.c'); do
    gcc -std=gnu11 -O1 -Wall -Wextra -Werror -fanalyzer -c -o /dev/null "$file" || return
  done
}

check "TypeScript and JavaScript (biome)" node_modules/.bin/biome node_modules/.bin/biome check --error-on-warnings
check "dead exports, files and dependencies (knip)" node_modules/.bin/knip node_modules/.bin/knip --no-progress --treat-config-hints-as-errors
check "Python (ruff)" build/python-tools/bin/ruff build/python-tools/bin/ruff check --quiet
# shellcheck disable=SC2046
check "shell (shellcheck)" shellcheck shellcheck --severity=warning $(git ls-files '*.sh' '*.rc' skerry .ci/run)
check "C (gcc -fanalyzer)" gcc analyze_c
exit "$failed"
