#!/bin/sh
# Makes the disk with what is tested: a checkout as it stands, built, and the agent.
#   make-work.sh CHECKOUT IMAGE
set -eu
here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$1" && pwd)
image=$2
if [ "${3-}" != inside ]; then
  exec setpriv --pdeathsig KILL unshare --mount --propagation private sh "$here/make-work.sh" "$checkout" "$image" inside
fi
# Nothing is copied: the disk is written from mounts.
stage=$image.d
mkdir "$stage"
mount -t tmpfs -o mode=755 skerry-work "$stage"
mkdir "$stage/vm" "$stage/checkout" "$stage/test"
cp "$here/agent.mjs" "$stage/vm/"
cp -R "$here/suites" "$stage/"
mount --bind "$checkout" "$stage/checkout"
# Caches and images of the host's, but for what says that the checkout is built.
if [ -d "$checkout/build" ]; then
  mount -t tmpfs -o mode=755 skerry-build "$stage/checkout/build"
  for name in ready built; do [ ! -e "$checkout/build/$name" ] || cp -p "$checkout/build/$name" "$stage/checkout/build/"; done
fi
# The attacks and the search for leaks, as JavaScript above the built package: nothing has to be compiled in the machine.
"$here/../../node_modules/.bin/esbuild" "$checkout"/test/attacks/*.ts "$checkout/test/setup/leaks.ts" --log-level=warning \
  --format=esm --outbase="$checkout/test" --outdir="$stage/test"
cp "$checkout"/test/attacks/*.py "$stage/test/attacks/"
ln -s checkout/dist "$stage/src"
ln -s checkout/node_modules "$stage/node_modules"
echo '{ "type": "module" }' >"$stage/package.json"
megabytes=$(du -sm --apparent-size "$stage" | cut -f 1)
status=0
mke2fs -q -t ext4 -L skerry-work -d "$stage" -E root_owner=0:0 "$image" "$((megabytes * 3 / 2 + 1024))M" || status=$?
umount -R "$stage"
rmdir "$stage"
exit "$status"
