/** How the scripts say what stood in the way. Not the numbers that commands and shells use themselves. */
export const Exit = {
  link: 101,
  missing: 102,
  notDirectory: 103,
  denied: 104,
  exists: 105,
  /** The reason is on standard error, in the words of strerror. */
  failed: 106,
  noWorkspace: 107,
} as const;

/**
 * Arguments: the workspace, `make` or nothing, a count, and so many names of directories. Stands in the last one
 * afterwards. The path of the current directory is the kernel's own word: when it is not what we asked for, a link
 * was followed, whenever it was put there. From there on `./name` cannot be led astray.
 */
const WALK = `
at=0
fail() { printf '\\n%s\\n' "$at" >&2; exit "$1"; }
cd -P "$1" || fail ${Exit.noWorkspace}
here=$PWD; make=$2; count=$3; shift 3
while [ "$at" -lt "$count" ]; do
  at=$((at + 1))
  [ ! -L "./$1" ] || fail ${Exit.link}
  if [ ! -e "./$1" ]; then
    [ "$make" = make ] || fail ${Exit.missing}
    mkdir -m 755 "./$1" || [ -d "./$1" ] || fail ${Exit.failed}
  fi
  [ -d "./$1" ] || fail ${Exit.notDirectory}
  cd -P "./$1" || fail ${Exit.denied}
  here=\${here%/}/$1
  [ "$PWD" = "$here" ] || fail ${Exit.link}
  shift
done
at=$((at + 1))
there() { [ -e "./$1" ] || [ -L "./$1" ]; }
`;

/** Prints records: kind, mode, size, both times and inode, a line feed, the path, a NUL. GNU's find knows it all. */
const PRINT = String.raw`-ignore_readdir_race -printf '%y %m %s %T@ %C@ %i\n%p\0'`;
/** The same from other ones' find and stat; the mode is raw, and times are whole seconds. */
const PRINT_PLAIN = String.raw`-exec sh -c 'for f do stat -c "x %f %s %Y %Z %i" "$f" && printf "%s\0" "$f"; done' sh {} +`;

/** Which of the two the find inside can do. */
export type FindKind = "gnu" | "plain";

export const PROBE_FIND = "exec find / -prune -printf ''";

const print = (find: FindKind) => (find === "gnu" ? PRINT : PRINT_PLAIN);

/** After the walk's arguments: a name. Prints its record. */
export const look = (find: FindKind): string =>
  `${WALK}there "$1" || fail ${Exit.missing}
exec find "./$1" -maxdepth 0 ${print(find)}`;

/** After the walk's arguments: a depth. Prints a record for everything beneath. */
export const list = (find: FindKind): string =>
  `${WALK}exec find . -mindepth 1 -maxdepth "$1" ${print(find)}`;

/** The walk alone, to make directories. */
export const MAKE = WALK;

/** After the walk's arguments: a name that is free, and an empty file afterwards. */
export const CLAIM = `${WALK}! there "$1" || fail ${Exit.exists}
set -C
true > "./$1" || { ! there "$1" || fail ${Exit.exists}; fail ${Exit.failed}; }`;

/** After the walk's arguments: a name, and `recursive` or nothing. A directory without rights is given them first. */
export const REMOVE = `${WALK}if [ -L "./$1" ] || [ ! -d "./$1" ]; then
  there "$1" || fail ${Exit.missing}
  rm -f "./$1" || fail ${Exit.failed}
elif [ "$2" = recursive ]; then
  rm -rf "./$1" 2>/dev/null || { chmod -R u+rwx "./$1" 2>/dev/null; rm -rf "./$1" || fail ${Exit.failed}; }
else
  rmdir "./$1" || fail ${Exit.failed}
fi`;

/** After the walk's arguments: a name that is free, and the path of what gets it. */
export const MOVE = `${WALK}! there "$1" || fail ${Exit.exists}
mv -f "$2" "./$1" || fail ${Exit.failed}`;

/** Arguments: the workspace, then paths beneath it. For a workspace in which nothing has run yet. */
export const MAKE_ALL = `cd -P "$1" || exit ${Exit.noWorkspace}
shift
exec mkdir -m 755 -p "$@"`;

/** Arguments: the workspace, then pairs of what a link points to and where it goes. */
export const LINK_ALL = `cd -P "$1" || exit ${Exit.noWorkspace}
shift
while [ $# -gt 1 ]; do
  if [ -d "$2" ] && [ ! -L "$2" ]; then exit ${Exit.exists}; fi
  ln -s -f -n -- "$1" "$2" || exit ${Exit.failed}
  shift 2
done`;

/** Arguments: the workspace, then paths beneath it. Prints a record for each that is there. */
export const statAll = (find: FindKind): string => `cd -P "$1" || exit ${Exit.noWorkspace}
shift
exec find "$@" -maxdepth 0 ${print(find)} 2>/dev/null`;

/** Arguments: the workspace, then links beneath it. Prints each path and where it points to, both with a NUL. */
export const READ_LINKS = `cd -P "$1" || exit ${Exit.noWorkspace}
shift
for link do
  [ ! -L "$link" ] || { printf '%s\\0' "$link"; readlink -n "$link"; printf '\\0'; }
done`;

/** Arguments: the workspace, then files beneath it. Prints each path and its SHA-256, both with a NUL. */
export const HASH_ALL = `cd -P "$1" || exit ${Exit.noWorkspace}
shift
command -v sha256sum >/dev/null || exit 0
for file do
  if [ -f "$file" ] && [ ! -L "$file" ] && sum=$(sha256sum < "$file"); then
    printf '%s\\0%s\\0' "$file" "\${sum%% *}"
  fi
done`;

/** Arguments: the workspace, then paths beneath it, children first. What cannot go stays. */
export const REMOVE_ALL = `cd -P "$1" || exit ${Exit.noWorkspace}
shift
for path do
  if [ -L "$path" ] || [ ! -d "$path" ]; then rm -f "$path"; else rmdir "$path"; fi 2>/dev/null
done
true`;

/** Arguments: the workspace, then paths beneath it. A directory that cannot be removed with all that is in it stays. */
export const REMOVE_TREES = `cd -P "$1" || exit ${Exit.noWorkspace}
shift
for path do
  rm -rf "$path" 2>/dev/null || { chmod -R u+rwx "$path"; rm -rf "$path"; } 2>/dev/null
done
true`;

/** Arguments: the workspace, then pairs of a mode and a path. A link has no mode, and is not followed. */
export const CHMOD_ALL = `cd -P "$1" || exit ${Exit.noWorkspace}
shift
while [ $# -gt 1 ]; do
  [ -L "$2" ] || chmod "$1" "$2" 2>/dev/null
  shift 2
done
true`;

/** Arguments: the workspace, then pairs of a time and a path. */
export const TOUCH_ALL = `cd -P "$1" || exit ${Exit.noWorkspace}
shift
while [ $# -gt 1 ]; do
  [ -L "$2" ] || touch -c -d "$1" "$2" 2>/dev/null || touch -c -d "\${1%.*}" "$2" 2>/dev/null
  shift 2
done
true`;

/** MAKE_ALL and LINK_ALL for a workspace that others change: failures are skipped, and seen afterwards. */
export const MAKE_BEST_EFFORT = `cd -P "$1" || exit ${Exit.noWorkspace}
shift
mkdir -m 755 -p "$@" 2>/dev/null
true`;
export const LINK_BEST_EFFORT = `cd -P "$1" || exit ${Exit.noWorkspace}
shift
while [ $# -gt 1 ]; do
  if [ -L "$2" ] || [ ! -d "$2" ]; then ln -s -f -n -- "$1" "$2" 2>/dev/null; fi
  shift 2
done
true`;
