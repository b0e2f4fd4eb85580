#!/bin/sh
# The test command: sets up, then checks style and types and runs a suite of test/setup/suites.ts.
#   scripts/test.sh [--suite test|unit|soak] [arguments of vitest]
# With arguments it runs those test files only, of whatever suite. The last line says "N passed, N failed", with
# ", N skipped" if there were any.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit
suite="test"
if [ "${1-}" = --suite ]; then
  suite=${2:?--suite needs a name}
  shift 2
fi
vitest_suite=$suite
[ $# -eq 0 ] || vitest_suite=all
passed=0
failed=0
skipped=0

close() {
  line="$passed passed, $failed failed"
  [ "$skipped" -eq 0 ] || line="$line, $skipped skipped"
  # .ci/run adds up what its commands counted.
  [ -z "${SKERRY_TEST_TALLY-}" ] || printf '%s\n' "$passed $failed $skipped" >>"$SKERRY_TEST_TALLY"
  printf '%s\n' "$line"
  [ "$failed" -eq 0 ] || exit 1
  exit 0
}

# What unit tests need is there for everybody.
case $suite in
  unit) setup="scripts/setup.sh" ;;
  soak) setup="scripts/setup.sh --soak" ;;
  *) setup="scripts/setup.sh --test" ;;
esac
# A file of the soak may be named.
[ $# -eq 0 ] || setup="scripts/setup.sh --soak"
if ! $setup; then
  failed=1
  close
fi

# The style and the types are checked meanwhile: the first tests mostly wait.
lint=build/test-lint.$$
types=build/test-types.$$
counts=build/test-counts.$$
trap 'rm -f "$counts" "$types" "$lint"' EXIT
if [ "$suite" = test ]; then
  scripts/lint.sh >"$lint" 2>&1 &
  linting=$!
  node_modules/.bin/tsc --noEmit >"$types" 2>&1 &
  checking=$!
fi

printf '%s\n' "skerry: tests (vitest, suite $vitest_suite)"
SKERRY_TEST_SUITE=$vitest_suite SKERRY_TEST_COUNTS=$counts node_modules/.bin/vitest run "$@"
status=$?
if [ -f "$counts" ]; then read -r passed failed skipped <"$counts"; fi
# A crash, an unhandled error or a leak fails the run without failing a test.
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
if [ "$suite" = test ]; then
  wait "$linting" || failed=$((failed + 1))
  cat "$lint"
  printf '%s\n' "skerry: types (tsc)"
  wait "$checking" || failed=$((failed + 1))
  cat "$types"
fi
close
