import { words } from "../../program/known-functions.js";
import type { Access } from "../../rules/path-rules.js";

/** Which words of a command are paths, and what happens to them. */
export interface PathWords {
  readonly commands: readonly string[];
  readonly access: Access;
  /** The last one is written to. */
  readonly lastWritten?: true;
  /** So many words in front are no paths: a pattern, a mode, an owner. */
  readonly skip?: number;
  /** Only when this word is there. */
  readonly when?: RegExp;
}

export const PATH_WORDS: readonly PathWords[] = [
  { commands: words("rm unlink rmdir shred srm trash"), access: "remove" },
  { commands: ["find"], access: "remove", when: /^(?:-delete|rm|shred|unlink|truncate|srm)$/ },
  {
    commands: words(`
      cat tac head tail less more nl xxd od hexdump strings base64 base32 cut sort uniq wc md5sum
      sha256sum sha1sum tar zip gzip 7z diff cmp file source . paste fold column bat vi vim nano scp rsync
      ls find du stat python python3 node bash sh openssl gpg readlink aws gsutil rclone
    `),
    access: "read",
  },
  { commands: words("grep egrep fgrep rg awk gawk sed jq perl tr"), access: "read", skip: 1 },
  { commands: ["sed", "perl"], access: "write", skip: 1, when: /^-[a-zA-Z]*i|^--in-place/ },
  { commands: words("cp install ln scp rsync"), access: "read", lastWritten: true },
  { commands: ["mv", "rename"], access: "remove", lastWritten: true },
  { commands: words("tee touch mkdir truncate mkfifo mknod split csplit patch fallocate"), access: "write" },
  { commands: words("chmod chown chgrp chattr setfacl"), access: "write", skip: 1 },
];

/** Options whose value is a path. `@` in front of a value makes curl read a file. */
export const PATH_OPTIONS: ReadonlyMap<string, Readonly<Record<string, Access>>> = new Map<
  string,
  Readonly<Record<string, Access>>
>([
  [
    "curl",
    {
      "-o": "write",
      "--output": "write",
      "-T": "read",
      "--upload-file": "read",
      "-K": "read",
      "--key": "read",
      "--unix-socket": "write",
    },
  ],
  [
    "wget",
    {
      "-O": "write",
      "--output-document": "write",
      "-P": "write",
      "--post-file": "read",
      "--body-file": "read",
    },
  ],
  ["tar", { "-C": "write", "--directory": "write", "-f": "write" }],
  ["unzip", { "-d": "write" }],
  ["ssh", { "-i": "read" }],
  ["scp", { "-i": "read" }],
  ["ssh-keygen", { "-f": "write" }],
  ["base64", { "-i": "read" }],
  ["cp", { "-t": "write", "--target-directory": "write" }],
  ["grep", { "-f": "read" }],
  ["docker", { "-H": "write", "--host": "write" }],
]);
