#!/bin/sh
# Builds the guest into prebuilt/linux-<arch>/: this machine's architecture, or with --all every one we ship.
# With --sanitize, a build for tests with AddressSanitizer and UndefinedBehaviorSanitizer instead.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
flags="-std=gnu11 -Wall -Wextra -Werror -D_FORTIFY_SOURCE=2 -fstack-protector-strong"

host_arch() {
  case $(uname -m) in
    x86_64) echo x64 ;;
    aarch64) echo arm64 ;;
    *) echo "skerry: no guest for $(uname -m)" >&2; exit 1 ;;
  esac
}

compiler() {
  if [ "$1" = "$(host_arch)" ]; then echo "${CC:-gcc}"; return; fi
  case $1 in
    x64) echo x86_64-linux-gnu-gcc ;;
    arm64) echo aarch64-linux-gnu-gcc ;;
  esac
}

build() {
  out=prebuilt/linux-$1
  cc=$(compiler "$1")
  command -v "$cc" >/dev/null 2>&1 || { echo "skerry: $cc is missing (Debian: apt-get install gcc libc6-dev, or for arm64 gcc-aarch64-linux-gnu)" >&2; exit 1; }
  mkdir -p "$out"
  # shellcheck disable=SC2086
  "$cc" $flags -Os -static -ffunction-sections -fdata-sections -Wl,--gc-sections -s -o "$out/skerry-guest.new" guest/src/*.c
  mv -f "$out/skerry-guest.new" "$out/skerry-guest"
  # Loaded into an interpreter with whatever libc that has: it uses none.
  # shellcheck disable=SC2086
  "$cc" $flags -U_FORTIFY_SOURCE -fno-stack-protector -ffreestanding -Os -shared -fPIC -nostdlib -s -o "$out/memory-keeper.so.new" guest/runners/python/zygote/memory-keeper.c
  mv -f "$out/memory-keeper.so.new" "$out/memory-keeper.so"
  # shellcheck disable=SC2086
  "$cc" $flags -U_FORTIFY_SOURCE -fno-stack-protector -ffreestanding -Os -shared -fPIC -nostdlib -s -o "$out/cell.so.new" guest/src/cell.c
  mv -f "$out/cell.so.new" "$out/cell.so"
}

case ${1:-} in
  --sanitize)
    mkdir -p build
    # shellcheck disable=SC2086
    ${CC:-gcc} $flags -U_FORTIFY_SOURCE -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -o "build/skerry-guest-sanitized.$$" guest/src/*.c
    # Another test may be running the one that is there.
    mv -f "build/skerry-guest-sanitized.$$" build/skerry-guest-sanitized
    exit 0
    ;;
  --all) build x64; build arm64 ;;
  "") build "$(host_arch)" ;;
  *) echo "usage: guest/build.sh [--all | --sanitize]" >&2; exit 64 ;;
esac

# The warm interpreters' side travels with the guest.
rm -rf prebuilt/runners
mkdir -p prebuilt/runners
for language in guest/runners/*/; do cp -R "${language%/}" prebuilt/runners/; done
find prebuilt/runners -name __pycache__ -prune -exec rm -rf {} +
rm prebuilt/runners/python/zygote/memory-keeper.c
node guest/bundle-typescript.mjs prebuilt/runners/javascript/programs

# Names this build: a host keeps one copy of the runtime per version.
find prebuilt/linux-* prebuilt/runners -type f | LC_ALL=C sort | while read -r file; do echo "$file"; cat "$file"; done | sha256sum | cut -c1-16 >prebuilt/version
