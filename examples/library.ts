// The library in one page. After `npm run build` and `npx tsc -p tsconfig.bench.json`:
//   node dist-bench/examples/library.js
import { Sandbox } from "skerry";

await using sandbox = await Sandbox.create({ backend: "auto", ephemeral: true });

const sum = await sandbox.runCode("print(40+2)", { language: "python", timeoutMs: 30_000 });
console.log(sum.stdout.trim(), sum.reason, sum.exitCode);

// Files go in and come out; the result says which ones the program wrote.
await sandbox.files.write("data/in.csv", "a,b\n1,2\n3,4\n");
const report = await sandbox.runCode(
  'rows = open("data/in.csv").readlines()\nopen("rows.txt", "w").write(str(len(rows) - 1))',
  { language: "python" },
);
console.log(report.filesWritten, await sandbox.files.read("rows.txt"));

// A program that fails is a result, not an exception.
const failed = await sandbox.exec(["sh", "-c", "echo oops >&2; exit 3"]);
console.log(failed.success, failed.exitCode, failed.stderr.trim());
