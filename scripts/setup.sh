#!/bin/sh
# Makes this checkout ready to run: npm packages, the guest, the build, and what the host lacks when we may install it.
# Does nothing that is already done, may be interrupted at any point, and may run several times at once.
#   scripts/setup.sh [--test|--soak|--vm]     also installs what the tests need, what the soak needs besides, or what
#                                             virtual machines need
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
log=build/setup.log

say() {
  # On a terminal the line that counts seconds gives way.
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
  printf 'skerry: %s\n' "$*" >&2
}
die() {
  say "$1"
  if [ $# -gt 1 ]; then printf 'hint: %s\n' "$2" >&2; fi
  packages_are_there
  exit 1
}

# Waits for the system's packages, which are installed meanwhile: only one may install at a time.
installing=""
packages_are_there() {
  if [ -z "$installing" ]; then return; fi
  if grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$installing/status"; then
    step "waiting for the system's packages" wait "$installing" || true
  else
    wait "$installing" || true
  fi
  installing=""
}

# step WHAT COMMAND…: runs it, and says how many seconds it takes: on a terminal meanwhile, elsewhere afterwards.
alone=true
counter=""
step() {
  what=$1
  began=$(date +%s)
  shift
  count_seconds
  if "$@"; then status=0; else status=$?; fi
  stop_counting
  if [ "$status" = 0 ]; then say "$what: done in $(($(date +%s) - began)) s"; fi
  return "$status"
}

count_seconds() {
  if ! $alone || ! [ -t 2 ]; then
    say "$what"
    return
  fi
  # Ends with this script however that ends, and does not keep its lock.
  while kill -0 $$ 2>/dev/null; do
    printf '\r\033[Kskerry: %s: %s s' "$what" "$(($(date +%s) - began))" >&2
    sleep 1
  done 9>&- &
  counter=$!
}

stop_counting() {
  if [ -z "$counter" ]; then return; fi
  kill "$counter" 2>/dev/null || true
  wait "$counter" 2>/dev/null || true
  counter=""
}

# Runs a noisy command; shows what it said only if it fails.
quietly() {
  if "$@" >"$log" 2>&1 </dev/null; then return 0; fi
  say "failed: $*"
  # The cause stands at the start for some programs and at the end for others.
  if [ "$(wc -l <"$log")" -le 30 ]; then
    sed 's/^/  | /' "$log" >&2
  else
    { head -n 12 "$log"; echo "…"; tail -n 15 "$log"; } | sed 's/^/  | /' >&2
  fi
  return 1
}

# Is anything under the given paths newer than the file $1?
stale() {
  [ -e "$1" ] || return 0
  stamp=$1
  shift
  [ -n "$(find "$@" -newer "$stamp" -type f ! -name '*.test.ts' ! -name '*.md' -print -quit)" ]
}

for_tests=false
for_soak=false
for_machines=false
case ${1-} in
  "") ;;
  --test) for_tests=true ;;
  --soak) for_tests=true for_soak=true ;;
  --vm) for_machines=true ;;
  *) die "unknown option $1" "usage: scripts/setup.sh [--test|--soak|--vm]" ;;
esac

mkdir -p build
if command -v flock >/dev/null 2>&1; then
  exec 9>build/setup.lock
  if ! flock -n 9; then
    step "waiting for another set-up of this directory to end" flock 9
  fi
fi
trap 'stop_counting; rm -f build/ready.new; exit 130' INT
trap 'stop_counting; rm -f build/ready.new; exit 143' TERM HUP

# --- System packages -------------------------------------------------------------------------------------------------

if [ "$(id -u)" = 0 ]; then
  as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as_root="sudo -n"
else
  as_root=no
fi

apt_get() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

# apt_install WHY PACKAGE…: installs, or says which command a person must run. Fails when it could not.
apt_install() {
  why=$1
  shift
  if ! command -v apt-get >/dev/null 2>&1; then
    say "$why is missing; install these with this system's package manager (Debian's names): $*"
    return 1
  fi
  if [ "$as_root" = no ]; then
    say "$why is missing; to install it, run: sudo apt-get install -y $*"
    return 1
  fi
  if step "installing $why ($*)" apt_fetch "$@"; then return 0; fi
  say "$why could not be installed; when the network is there, run: sudo apt-get update && sudo apt-get install -y $*"
  return 1
}

apt_fetch() {
  if apt_get install -y --no-install-recommends "$@" >"$log" 2>&1 </dev/null; then return 0; fi
  # The package lists may be missing or old.
  quietly apt_get update && quietly apt_get install -y --no-install-recommends "$@"
}

# --- What the host lacks ---------------------------------------------------------------------------------------------

install_for_sandboxes() {
  packages=""
  command -v bwrap >/dev/null 2>&1 || packages="$packages bubblewrap"
  # Sandboxes see the system's interpreter, not one in a home directory.
  [ -x /usr/bin/python3 ] || [ -x /usr/local/bin/python3 ] || packages="$packages python3"
  # shellcheck disable=SC2086
  if [ -n "$packages" ]; then
    apt_install "what sandboxes need" $packages || say "going on without; \`skerry doctor\` says what works"
  fi
}

install_for_tests() {
  packages=""
  need() { [ -e "$1" ] || packages="$packages $2"; }
  need /usr/bin/git git
  need /usr/lib/python3/dist-packages/numpy python3-numpy
  need /usr/lib/python3/dist-packages/pandas python3-pandas
  need /usr/lib/python3/dist-packages/matplotlib python3-matplotlib
  need /usr/lib/python3/dist-packages/pytest python3-pytest
  # The clients that have to find the way out, and a world for them.
  need /usr/bin/curl curl
  need /usr/bin/wget wget
  need /usr/bin/openssl openssl
  need /sbin/ip iproute2
  need /usr/lib/python3/dist-packages/pip python3-pip
  need /usr/lib/python3/dist-packages/requests python3-requests
  need /usr/bin/gcc gcc
  need /usr/include/stdio.h libc6-dev
  # What sandbox-runtime needs by itself, to be measured against; our backend does without.
  need /usr/bin/socat socat
  need /usr/bin/rg ripgrep
  # What checks the style of shell.
  need /usr/bin/shellcheck shellcheck
  if [ "$(uname -m)" = x86_64 ]; then
    need /usr/bin/aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
    need /usr/aarch64-linux-gnu/include/stdio.h libc6-dev-arm64-cross
    need /usr/bin/qemu-aarch64-static qemu-user-static
  fi
  # shellcheck disable=SC2086
  if [ -n "$packages" ]; then
    apt_install "what the tests need" $packages || say "going on without; tests that need it are skipped"
  fi
  # What the server's tests run beside it: another database than the embedded one, and a browser.
  packages=""
  need /usr/lib/postgresql postgresql
  need /usr/bin/chromium chromium
  # shellcheck disable=SC2086
  if [ -n "$packages" ]; then
    apt_install "what the tests of the server need" $packages || say "going on without; tests that need it are skipped"
  fi
  # Made whole elsewhere, so that an interrupted installation is none.
  if stale build/python-tools test/setup/python-tools.txt && [ -e /usr/lib/python3/dist-packages/pip ]; then
    rm -rf build/python-tools build/python-tools.new
    if step "installing tools of the tests from PyPI (schemathesis, ruff)" quietly /usr/bin/python3 -m pip install --no-compile --target build/python-tools.new -r test/setup/python-tools.txt; then
      mv build/python-tools.new build/python-tools
      touch build/python-tools
    else
      say "going on without; tests that need it are skipped"
    fi
  fi
}

install_for_soak() {
  # Apart from the others: not every distribution has them under these names.
  packages=""
  need /usr/sbin/dockerd docker.io
  need /usr/bin/docker docker.io
  need /usr/bin/runsc runsc
  need /usr/sbin/debootstrap debootstrap
  need /usr/bin/podman podman
  # shellcheck disable=SC2086
  if [ -n "$packages" ]; then
    apt_install "what the tests of containers need" $packages || say "going on without; tests that need it are skipped"
  fi
  # Other releases of Node.js than the one that is installed here.
  case $(uname -m) in aarch64) node_arch=arm64 ;; *) node_arch=x64 ;; esac
  for version in 22.23.3 24.21.0; do
    directory=build/node-${version%%.*}
    [ "$(cat "$directory/version" 2>/dev/null)" != "$version" ] || continue
    rm -rf "$directory" "$directory.new"
    mkdir "$directory.new"
    if step "installing Node.js $version for the tests" quietly npm install --prefix "$directory.new" --no-audit --no-fund "node-linux-$node_arch@$version"; then
      ln -s "node_modules/node-linux-$node_arch/bin" "$directory.new/bin"
      echo "$version" >"$directory.new/version"
      mv "$directory.new" "$directory"
    else
      say "going on without; tests that need it are skipped"
    fi
  done
}

install_for_machines() {
  packages=""
  need() { [ -e "$1" ] || packages="$packages $2"; }
  need /usr/bin/qemu-system-x86_64 qemu-system-x86
  need /usr/sbin/debootstrap debootstrap
  need /usr/sbin/mke2fs e2fsprogs
  need /usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
  # shellcheck disable=SC2086
  if [ -n "$packages" ]; then apt_install "what virtual machines need" $packages || :; fi
}

# It goes on while npm and the compilers work.
if [ "$(uname -s)" = Linux ]; then
  (
    log=build/setup-packages.log
    alone=false
    install_for_sandboxes
    ! $for_tests || install_for_tests
    ! $for_soak || install_for_soak
    ! $for_machines || install_for_machines
  ) &
  installing=$!
fi

# --- Node and the packages -------------------------------------------------------------------------------------------

command -v node >/dev/null 2>&1 || die "Node.js is missing" "Install Node.js 20 or newer: https://nodejs.org/en/download"
node_version=$(node -p 'process.versions.node')
[ "${node_version%%.*}" -ge 20 ] || die "Node.js $node_version is too old" "Install Node.js 20 or newer: https://nodejs.org/en/download"

# npm writes this file last: an interrupted installation has none.
if ! [ -e node_modules/.package-lock.json ] || [ -n "$(find package-lock.json -newer node_modules/.package-lock.json)" ]; then
  command -v npm >/dev/null 2>&1 || die "npm is missing" "Install it: it comes with Node.js, or as the package npm."
  rm -f build/ready
  step "installing npm packages" quietly npm ci --ignore-scripts --no-audit --no-fund || die "the npm packages could not be installed" "Is the network there? Try: npm ci"
  touch node_modules/.package-lock.json
fi

# --- The guest and the build -----------------------------------------------------------------------------------------

touch build/ready.new # its time: what changes from here on is newer

if [ "$(uname -s)" = Linux ]; then
  case $(uname -m) in
    x86_64) guest=prebuilt/linux-x64/skerry-guest ;;
    aarch64) guest=prebuilt/linux-arm64/skerry-guest ;;
    *) guest="" ;;
  esac
  if [ -z "$guest" ]; then
    say "there is no guest for $(uname -m): only remote backends will work"
  elif stale "$guest" guest; then
    rm -f build/ready
    if ! command -v "${CC:-gcc}" >/dev/null 2>&1 || ! [ -e /usr/include/stdio.h ]; then
      packages_are_there
      apt_install "the C compiler" gcc libc6-dev || die "the guest cannot be compiled without a C compiler"
    fi
    step "compiling the guest" quietly guest/build.sh || die "the guest could not be compiled"
    touch "$guest"
  fi
fi

build_all() { quietly npm run --silent build && quietly npm run --silent build:bench; }

if stale build/built src packages/client/src packages/client/package.json packages/client/tsconfig.json bench examples scripts package.json package-lock.json tsconfig.json tsconfig.build.json tsconfig.bench.json || ! [ -e dist/bin/skerry.cjs ] || ! [ -e packages/client/dist/index.js ]; then
  rm -f build/ready build/built
  touch build/built.new
  step "compiling TypeScript" build_all || die "the build failed" "See $root/$log"
  mv build/built.new build/built
fi

packages_are_there
mv build/ready.new build/ready
