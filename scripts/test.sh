#!/bin/sh
# The one test command: sets up, then checks the style, the types and every test. Arguments go to vitest.
# The last line says "N passed, N failed", with ", N skipped" if there were any.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit
passed=0
failed=0
skipped=0

close() {
  line="$passed passed, $failed failed"
  [ "$skipped" -eq 0 ] || line="$line, $skipped skipped"
  printf '%s\n' "$line"
  [ "$failed" -eq 0 ] || exit 1
  exit 0
}

if ! scripts/setup.sh --test; then
  failed=1
  close
fi

check() {
  printf '%s\n' "skerry: $1"
  shift
  "$@" || failed=$((failed + 1))
}
check "style (biome)" node_modules/.bin/biome check

# The types are checked meanwhile: that takes one core for a while, and the first tests mostly wait.
types=build/test-types.$$
node_modules/.bin/tsc --noEmit >"$types" 2>&1 &
checking=$!

printf '%s\n' "skerry: tests (vitest)"
counts=build/test-counts.$$
trap 'kill "$checking" 2>/dev/null; rm -f "$counts" "$types"' EXIT
SKERRY_TEST_COUNTS=$counts node_modules/.bin/vitest run "$@"
status=$?
check "types (tsc)" wait "$checking"
cat "$types"
tests_failed=0
if [ -f "$counts" ]; then read -r passed tests_failed skipped <"$counts"; fi
# A crash, an unhandled error or a leak fails the run without failing a test.
if [ "$status" -ne 0 ] && [ "$tests_failed" -eq 0 ]; then tests_failed=1; fi
failed=$((failed + tests_failed))
close
