import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { RunningSandbox } from "../../src/manager.js";
import type { Attack, Context, Outcome } from "./attack.js";
import { goOn } from "./background.js";

const group = "host file API" as const;

/** What an API call gave: its text, or the code of its failure, or that it never returned. */
async function answer(call: () => Promise<unknown>): Promise<string> {
  const given = Promise.resolve()
    .then(call)
    .then(
      (value) =>
        Buffer.isBuffer(value) ? value.toString("utf8", 0, 1000) : (JSON.stringify(value) ?? "done"),
      (error) => `failed: ${error.code} ${error.message} ${error.hint ?? ""}`,
    );
  return Promise.race([given, delay(5000, "never returned")]);
}

/** The workspace's program prepares a trap, the host's API walks into it. */
function trap(
  name: string,
  code: string,
  calls: (sandbox: RunningSandbox) => (() => Promise<unknown>)[],
  about?: string,
): Attack {
  return {
    name,
    group,
    ...(about !== undefined && { about }),
    run: async (context) => {
      const result = await context.python(context.sandbox, `${CLEAN}${code}\nprint("trap is set")`);
      if (!result.stdout.includes("trap is set")) throw new Error(`no trap: ${result.stderr}`);
      const answers: string[] = [];
      for (const call of calls(context.sandbox)) answers.push(await answer(call));
      return { stdout: answers.join("\n"), observed: { host: hostFiles(context) } };
    },
    succeeded: leaked,
    simulated: { stdout: "the word is @WORD@", observed: { host: "intact" } },
  };
}

const CLEAN = `
import shutil
for name in os.listdir("."):
    if name != "main.py": shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.unlink(name)
prey = FACTS["repo"] + "/prey"
`;

/** The directory that traps point at: unchanged, or what is different. */
function hostFiles({ facts }: Context): string {
  const prey = join(facts.repo, "prey");
  const names = existsSync(prey) ? readdirSync(prey).sort().join() : "removed";
  if (names !== "directory,secret.txt") return names;
  return readFileSync(join(prey, "secret.txt"), "utf8") === facts.word ? "intact" : "overwritten";
}

function plantPrey({ facts }: Context): void {
  mkdirSync(join(facts.repo, "prey", "directory"), { recursive: true });
  writeFileSync(join(facts.repo, "prey", "secret.txt"), facts.word);
}

function leaked({ stdout, observed }: Outcome, { facts }: Context): boolean {
  return (
    stdout.replaceAll("@WORD@", facts.word).includes(facts.word) ||
    stdout.includes("never returned") ||
    observed?.host !== "intact"
  );
}

const BAD_PATHS = (facts: Context["facts"]) => [
  `../../../../../../../..${facts.repo}/prey/secret.txt`,
  `x/../../../../../../../../..${facts.repo}/prey/secret.txt`,
  `${facts.repo}/prey/secret.txt`,
  `/${facts.repo}/prey/secret.txt`,
  `..%2f..%2f..%2f..%2f..%2f..${facts.repo}/prey/secret.txt`,
  `%2e%2e/%2e%2e/%2e%2e/%2e%2e${facts.repo}/prey/secret.txt`,
  `..\\..\\..\\..${facts.repo}/prey/secret.txt`,
  `\u2024\u2024/\u2024\u2024${facts.repo}/prey/secret.txt`,
  `safe.txt\0/../../../..${facts.repo}/prey/secret.txt`,
  `file://${facts.repo}/prey/secret.txt`,
  `/proc/self/root${facts.repo}/prey/secret.txt`,
  `/proc/self/environ`,
  "..",
  ".../...//../secret.txt",
];

const traps: readonly Attack[] = [
  trap("has a link to a host file read", `os.symlink(prey + "/secret.txt", "link")`, ({ files }) => [
    () => files.read("link"),
    () => files.readText("./link"),
    async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of await files.readStream("link")) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks);
    },
  ]),
  trap(
    "has a host directory read through a link",
    `
os.symlink(prey, "link"); os.mkdir("a"); os.symlink("../link", "a/b")
os.symlink("/proc/self/cwd", "cwd"); os.symlink("/proc/self/root", "root")`,
    ({ files }) => [
      () => files.read("link/secret.txt"),
      () => files.read("a/b/secret.txt"),
      () => files.list("link"),
      () => files.list("link", { recursive: true }),
      () => files.list(".", { recursive: true }),
      () => files.list("root/etc"),
      () => files.read("root/etc/shadow"),
      () => files.read("cwd/package.json"),
      () => files.stat("link/secret.txt"),
    ],
  ),
  trap(
    "has a host file written through a link",
    `
os.symlink(prey + "/secret.txt", "link"); os.symlink(prey, "dir"); os.symlink(prey + "/new", "dangling")`,
    ({ files }) => [
      () => files.write("link", "overwritten"),
      () => files.write("dangling", "created"),
      () => files.write("dir/new.txt", "created"),
      () => files.write("dir/secret.txt", "overwritten"),
      () => files.writeNew("dir/newer.txt", "created"),
      () => files.mkdir("dir/made"),
      () => files.mkdir("dir/made/deep"),
    ],
  ),
  trap(
    "has host files removed through a link",
    `os.symlink(prey, "dir"); os.mkdir("tree"); os.symlink(prey, "tree/dir"); os.symlink(prey + "/secret.txt", "tree/file")`,
    ({ files }) => [
      () => files.remove("dir/secret.txt"),
      () => files.remove("dir/directory", { recursive: true }),
      () => files.remove("dir", { recursive: true }),
      () => files.remove("tree", { recursive: true }),
    ],
  ),
  trap(
    "has the host wait for a FIFO, a socket or an endless device",
    `
os.mkfifo("fifo"); os.symlink("/dev/zero", "zero"); os.symlink("fifo", "to-fifo")
s = socket.socket(socket.AF_UNIX); s.bind("sock"); os.mkdir("d"); os.mkfifo("d/main.py")`,
    ({ files }) => [
      () => files.read("fifo"),
      () => files.read("to-fifo"),
      () => files.read("zero"),
      () => files.read("sock"),
      () => files.readStream("fifo"),
      () => files.list("fifo"),
      () => files.write("fifo/x", "x"),
      () => files.list(".", { recursive: true }),
    ],
  ),
];

export const hostFileAttacks: readonly Attack[] = [
  ...traps.map((attack) => ({ ...attack, setUp: plantPrey })),
  {
    name: "has a path outside read or written",
    group,
    setUp: plantPrey,
    run: async (context) => {
      const { files } = context.sandbox;
      const answers: string[] = [];
      for (const path of BAD_PATHS(context.facts)) {
        const read = await answer(() => files.read(path));
        // The path itself is in the message; what was read would be the word alone.
        answers.push(read.replaceAll(context.facts.repo, "").replaceAll(visible(context.facts.repo), ""));
        await answer(() => files.write(path, "overwritten"));
        await answer(() => files.remove(path, { recursive: true }));
      }
      return { stdout: answers.join("\n"), observed: { host: hostFiles(context) } };
    },
    succeeded: leaked,
    simulated: { stdout: "", observed: { host: "overwritten" } },
  },
  {
    name: "wins the race between a check and an open",
    group,
    about:
      "The program exchanges a directory with a link to the host's, as fast as it can, while the host reads.",
    setUp: plantPrey,
    run: async (context) => {
      const { sandbox } = context;
      const code = `${CLEAN}
os.mkdir("flip"); open("flip/secret.txt", "w").write("own"); os.symlink(prey, "flop")
print("ready", flush=True)
end = time.time() + 20
exchanges = syscall("renameat2", -100, b"flip", -100, b"flop", 2)[0] == 0
while time.time() < end:
    if exchanges: syscall("renameat2", -100, b"flip", -100, b"flop", 2)
    else: os.rename("flip", "mid"); os.rename("flop", "flip"); os.rename("mid", "flop")`;
      const stop = new AbortController();
      const racer = sandbox.exec(["python3", "-c", context.prelude(code)], {
        signal: stop.signal,
      });
      const racing = await goOn(racer);
      const seen = new Map<string, number>();
      const answers = { flip: new Set<string>(), flop: new Set<string>() };
      const hasRun = () => answers.flip.size > 1 || answers.flop.size > 1;
      const began = Date.now();
      const isEnough = () => Date.now() - began > (hasRun() ? 1500 : 15_000);
      for (let turn = 0; !isEnough(); turn++) {
        const path = turn % 2 === 0 ? "flip" : "flop";
        const text = await answer(() => sandbox.files.read(`${path}/secret.txt`));
        seen.set(text, (seen.get(text) ?? 0) + 1);
        answers[path].add(text);
        if (turn % 16 === 0) await answer(() => sandbox.files.write(`${path}/new.txt`, "created"));
        if (turn % 64 === 0) await answer(() => sandbox.files.list(path));
      }
      stop.abort();
      await racing.output();
      // What is at a name is not always the same.
      if (!hasRun()) throw new Error(`the race was never run: ${[...seen.keys()].join()}`);
      return { stdout: [...seen.keys()].join("\n"), observed: { host: hostFiles(context) } };
    },
    succeeded: leaked,
    simulated: { stdout: "@WORD@", observed: { host: "intact" } },
  },
  {
    name: "has a program's file written through a link",
    group,
    about: "Programs are placed under a name that can be guessed: main.py.",
    setUp: plantPrey,
    run: async (context) => {
      const { sandbox } = context;
      const shell = (command: string) => sandbox.exec(["bash", "-c", command]);
      const prey = `${context.facts.repo}/prey`;
      await shell(
        `rm -rf main* && ln -s ${prey}/secret.txt main.py && ln -s ${prey}/new.py main-1.py && ln -s ${prey} main-2.py`,
      );
      await answer(async () => sandbox.runCode("print(1)", { language: "python" }));
      await shell("rm -rf main*");
      return { stdout: "", observed: { host: hostFiles(context) } };
    },
    succeeded: leaked,
    simulated: { stdout: "", observed: { host: "overwritten" } },
  },
  {
    name: "has the host remove something else instead of its program",
    group,
    setUp: plantPrey,
    run: async (context) => {
      await context.python(
        context.sandbox,
        `
import shutil
os.unlink(sys.argv[0]); os.symlink(FACTS["repo"] + "/prey", sys.argv[0])`,
      );
      await context.python(
        context.sandbox,
        `
os.unlink(sys.argv[0]); os.mkdir(sys.argv[0]); os.symlink(FACTS["repo"] + "/prey", sys.argv[0] + "/link")`,
      );
      return { stdout: "", observed: { host: hostFiles(context) } };
    },
    succeeded: leaked,
    simulated: { stdout: "", observed: { host: "removed" } },
  },
  {
    name: "has the host's files reported as changed by it",
    group,
    about: "The list of changes must not look through links.",
    setUp: plantPrey,
    run: async (context) => {
      const result = await context.python(
        context.sandbox,
        `${CLEAN}
os.symlink(prey, "linked"); os.symlink("/", "everything"); open("own.txt", "w").write("x")`,
      );
      const inside = result.filesWritten.filter((path) => path.includes("/"));
      if (!result.filesWritten.includes("own.txt"))
        throw new Error(`changes are not seen: ${result.filesWritten}`);
      return { stdout: inside.join(), observed: { host: hostFiles(context), inside: inside.length } };
    },
    succeeded: (outcome, context) => leaked(outcome, context) || outcome.observed?.inside !== 0,
    simulated: { stdout: "linked/secret.txt", observed: { host: "intact", inside: 1 } },
  },
  {
    name: "puts escape sequences into the host's messages",
    group,
    about: "Names are the guest's choice; a message with them ends up on a person's terminal.",
    run: async ({ sandbox, python }) => {
      const names = [
        "\u001b]0;owned\u0007",
        "\u001b[2J",
        "a\nb",
        "\u202egpj.exe",
        "<img src=x onerror=alert(1)>",
        "\r\n\r\nHTTP/1.1",
      ];
      await python(
        sandbox,
        `
for name in json.loads(${JSON.stringify(JSON.stringify(names))}):
    os.makedirs(name.replace("/", "_") + "/d", exist_ok=True)
tried(os.mkdir, b"\\xff\\xfe\\x1b[31m")`,
      );
      const messages: string[] = [];
      for (const name of names) {
        messages.push(await answer(() => sandbox.files.read(name.replace("/", "_"))));
        messages.push(await answer(() => sandbox.files.read(`${name}missing`)));
        messages.push(await answer(() => sandbox.files.write(name.replace("/", "_"), "x")));
        messages.push(await answer(() => sandbox.files.remove(name.replace("/", "_"))));
      }
      const listed = await sandbox.files.list(".", { recursive: true });
      await sandbox.exec(["bash", "-c", "rm -rf -- *"]);
      return {
        stdout: messages.filter((each) => each.startsWith("failed")).join(""),
        observed: { listed: listed.length },
      };
    },
    succeeded: ({ stdout, observed }) => /[\p{Cc}\p{Cf}]/u.test(stdout) || Number(observed?.listed) < 5,
    simulated: { stdout: "failed: \u001b[2J", observed: { listed: 7 } },
  },
  {
    name: "learns the host's paths from a message",
    group,
    run: async ({ sandbox, facts }) => {
      const { files } = sandbox;
      const answers = [
        await answer(() => files.read("missing")),
        await answer(() => files.list("missing")),
        await answer(() => files.read("x".repeat(300))),
        await answer(async () => sandbox.exec(["/no/such/program"])),
        await answer(async () => sandbox.exec(["true"], { cwd: "/no/such/directory" })),
        await answer(async () => sandbox.exec(["/workspace"])),
      ];
      const found = [facts.stateDir, facts.repo, facts.home, "/proc/"].filter((each) =>
        answers.join("\n").includes(each),
      );
      return { stdout: found.join(), observed: { answers: answers.length } };
    },
    succeeded: ({ stdout }) => stdout !== "",
    simulated: { stdout: "/tmp/somewhere" },
  },
  {
    name: "leaves a set-user-id file that the host's API keeps",
    group,
    run: async ({ sandbox, python }) => {
      await python(
        sandbox,
        `
open("suid", "w").write("x"); os.chmod("suid", 0o6755)`,
      );
      await answer(() => sandbox.files.write("suid", "mine"));
      await answer(() => sandbox.files.write("fresh", "mine"));
      // Not with stat(1), which fails in old gVisors.
      const look = 'import os\nfor name in ("suid", "fresh"): print("%o" % (os.stat(name).st_mode & 0o7777))';
      const { stdout } = await sandbox.exec(["python3", "-c", look]);
      return { stdout };
    },
    succeeded: ({ stdout }) => stdout.split("\n").some((mode) => mode.length > 3) || stdout === "",
    simulated: { stdout: "6755\n644\n" },
  },
];

function visible(text: string): string {
  return text.replaceAll("/", "\\/");
}
