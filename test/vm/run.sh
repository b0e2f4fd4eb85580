#!/bin/sh
# The matrix of virtual machines; README.md beside it has the options.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
"$root/scripts/setup.sh" --vm
mkdir -p "$root/build/vm"
# One's own, since several may run at once; main.ts removes it.
program=$root/build/vm/main.$$.mjs
"$root/node_modules/.bin/esbuild" "$root/test/vm/main.ts" --bundle --platform=node --format=esm --packages=external \
  --log-level=warning --outfile="$program"
exec node "$program" "$@"
