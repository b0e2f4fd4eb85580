import { expect, it } from "vitest";
import { requires } from "../../../../../test/setup/requires.js";
import { useTestDriven } from "../../../../../test/setup/test-driven.js";

const real = requires("root", "bubblewrap", "python3", "pytest");

/** Bytes that are no frame at all. */
const RAW: Readonly<Record<string, string>> = {
  "a frame without content": "00000000",
  "a frame that is too long": "ffffff7f",
};

/** What a solution's process has no business to say; one by one, before it returns what is expected. */
const FRAMES: Readonly<Record<string, string>> = {
  "no JSON": "Rno",
  "a frame of another kind": 'X["a",0,42,[],[]]',
  "a result of a test": 'J{"type":"result","test":0,"status":"passed","durationMs":1}',
  "the end of the tests": 'J{"type":"end"}',
  "a message that is none": "J[]",
  "an answer that is too short": 'R["a",0]',
  "an answer of another kind": 'R["z",0,42,[],[]]',
  "an answer in an unknown conversation": 'R["a",8,42,[],[]]',
  "a conversation with a number of the other side": 'R["q",8,"input",[],"x"]',
  "an operation that is none": 'R["q",0,"eval",[],["P",1]]',
  "a call of something that was never handed over": 'R["q",0,"call",[],["P",99],["t",[]],["t",[]]]',
  "a call of a plain value": 'R["q",0,"call",[],"print",["t",[]],["t",[]]]',
  "a value with an unknown letter": 'R["a",0,["Q",1],[],[]]',
  "a value of a kind that is none": 'R["a",0,["k","eval","1"],[],[]]',
  "a value of a kind with wrong parts": 'R["a",0,["k","range","1","2","3"],[],[]]',
  "an array of objects": 'R["a",0,["k","array","|O",null,["b","AAAAAAAAAAA="]],[],[]]',
  "an array that is shorter than it says":
    'R["a",0,["k","array","<i8",["t",[1000000]],["b","AAAAAAAAAAA="]],[],[]]',
  "bytes that are none": 'R["a",0,["b","*"],[],[]]',
  "a number that is none": 'R["a",0,["f","one"],[],[]]',
  "a name that both sides have, and that is not in the table": 'R["a",0,["G","builtins","eval"],[],[]]',
  "a dictionary with keys that cannot be keys": 'R["a",0,["d",[[["l",[]],1]]],[],[]]',
  "a change of what is not there": 'R["a",0,42,[[0,[1]]],[]]',
  "output that is none": 'R["a",0,42,[],[["stdout",1]]]',
  "an exception that is none": 'R["e",0,42,[],[]]',
  "an exception of a class that is none": 'R["e",0,["X",7,["G","builtins","int"],[],"","",[]],[],[]]',
  "an instance of an exception's class": 'R["a",0,["O",7,["G","builtins","ValueError"]],[],[]]',
  "a very deep value": `R["a",0,${'["l",['.repeat(3000)}1${"]]".repeat(3000)},[],[]]`,
};

/** In JavaScript there are no conversations, and other kinds of values. */
const NODE_FRAMES: Readonly<Record<string, string>> = {
  "no JSON": "Rno",
  "a frame of another kind": 'X["a",1,42,[]]',
  "a result of a test": 'J{"type":"result","test":0,"status":"passed","durationMs":1}',
  "an answer that is too short": 'R["a",0]',
  "an answer without a question": 'R["a",99999,42,[]]',
  "an operation that is none": 'R["q",1,"constructor",[],[],["P",1]]',
  "a call of something that was never handed over": 'R["q",1,"call",[],[],["P",99],["u",0],["l",[]]]',
  "a call of a plain value": 'R["q",1,"call",[],[],"eval",["u",0],["l",[]]]',
  "a name that is not in the table": 'R["q",1,"console",[],[],"log",["l",[["G","Function"]]]]',
  "a kind of value that is none": 'R["q",1,"console",[],[],"log",["l",[["k","constructor","x"]]]]',
  "a symbol that is none": 'R["q",1,"console",[],[],"log",["l",[["y","constructor"]]]]',
  "a very deep value": `R["q",1,"console",[],[],"log",${'["l",['.repeat(3000)}1${"]]".repeat(3000)}]`,
};

const TESTS = "from solution import answer\ndef test_answer():\n    assert answer() == 42\n";
const NODE_TESTS =
  'const { test } = require("node:test");\nconst { answer } = require("./solution");\ntest("answer", () => require("node:assert").equal(answer(), 42));\n';

const hexOf = (frame: string) => {
  const content = Buffer.from(frame);
  const head = Buffer.alloc(4);
  head.writeUInt32LE(content.length);
  return Buffer.concat([head, content]).toString("hex");
};
const cases = (frames: Readonly<Record<string, string>>) =>
  [
    ...Object.entries(RAW),
    ...Object.entries(frames).map(([what, frame]) => [what, hexOf(frame)] as const),
  ].map(([what, hex]) => ({ what, hex }));

const python = (hex: string) =>
  `import os\ndef answer():\n    data = bytes.fromhex("${hex}")\n    while data: data = data[os.write(3, data):]\n    return 42\n`;
const node = (hex: string) =>
  `const fs = require("node:fs");\nexports.answer = () => {\n  const data = Buffer.from("${hex}", "hex");\n  for (let at = 0; at < data.length; ) at += fs.writeSync(3, data, at);\n  return 42;\n};\n`;

real.describe("a solution that says something else than an answer ends the run", () => {
  const testDriven = useTestDriven();

  it("and would pass without it", async () => {
    expect((await testDriven.run(python(""), TESTS)).allPassed).toBe(true);
    expect((await testDriven.run(node(""), NODE_TESTS, { language: "javascript" })).allPassed).toBe(true);
  });

  it.each(cases(FRAMES))("in Python: $what", async ({ hex }) => {
    const report = await testDriven.run(python(hex), TESTS);
    expect({ outcome: report.outcome, error: report.error }).toEqual({
      outcome: "crash",
      error: expect.stringMatching(/^The solution broke the protocol: it sent /),
    });
    expect(report.tests.map(({ status }) => status)).toEqual(["error"]);
  });

  it.each(cases(NODE_FRAMES))("in JavaScript: $what", async ({ hex }) => {
    const report = await testDriven.run(node(hex), NODE_TESTS, { language: "javascript" });
    expect({ outcome: report.outcome, error: report.error }).toEqual({
      outcome: "crash",
      error: expect.stringMatching(/^The solution broke the protocol: it sent /),
    });
    expect(report.tests.map(({ status }) => status)).toEqual(["error"]);
  });
});
