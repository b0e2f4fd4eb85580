import * as readline from "node:readline";
const rl = readline.createInterface({ input: process.stdin });
const lines: string[] = [];
for await (const line of rl) lines.push(line);
console.log(lines);
