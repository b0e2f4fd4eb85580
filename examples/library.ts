// The library in one page. After `npm run build` and `npx tsc -p tsconfig.bench.json`:
//   node dist-bench/examples/library.js
import { SandboxManager } from "skerry";

await using manager = new SandboxManager({ backend: "auto" });
const sandbox = await manager.getSandbox("example:library");

const sum = await sandbox.runCode({ language: "python", code: "print(40+2)", timeoutMs: 30_000 });
console.log(sum.stdout.trim(), sum.reason, sum.exitCode);

// Files go in and come out; the result says which ones the program wrote.
await sandbox.files.write("data/in.csv", "a,b\n1,2\n3,4\n");
const report = await sandbox.runCode({
  language: "python",
  code: 'rows = open("data/in.csv").readlines()\nopen("rows.txt", "w").write(str(len(rows) - 1))',
});
console.log(report.filesWritten, await sandbox.files.readText("rows.txt"));

// A program that fails is a result, not an exception.
const failed = await sandbox.exec(["sh", "-c", "echo oops >&2; exit 3"]);
console.log(failed.success, failed.exitCode, failed.stderr.trim());

await manager.deleteSession("example:library");
