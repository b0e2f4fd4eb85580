// Records the picture of the README: runs its commands on a terminal, and draws what that showed.
//   node scripts/record-terminal.mjs > docs/terminal.svg
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const COMMANDS = ["./skerry run examples/blocked.py", "./skerry bench exec-python context-run"];
const CHARACTER = { width: 8.4, height: 18 };
const MARGIN = 16;

const root = fileURLToPath(new URL("..", import.meta.url));

// Its progress does not belong into the picture.
spawnSync("scripts/setup.sh", { cwd: root, stdio: "ignore" });

/** The lines that a command shows on a terminal; the lines of progress that it writes over itself are left out. */
function linesOf(command) {
  const { status, stdout } = spawnSync("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", TERM: "dumb", COLUMNS: "110" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`${command} ended with ${status}\n${stdout}`);
  const shown = stdout.trimEnd().split(/\r?\n/);
  return shown
    .map((line) => line.slice(line.lastIndexOf("\r") + 1))
    .filter((line) => !/^[\w-]+: ratio /.test(line));
}

const escapeXml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function draw(lines) {
  const width = Math.max(...lines.map(({ text }) => text.length)) * CHARACTER.width + 2 * MARGIN;
  const height = lines.length * CHARACTER.height + 2 * MARGIN;
  const rows = lines.map(({ text, colour }, index) => {
    const y = MARGIN + (index + 0.75) * CHARACTER.height;
    return `<text x="${MARGIN}" y="${y}" fill="${colour}" xml:space="preserve">${escapeXml(text)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">`,
    "<title>Skerry blocks what a program tries, and measures itself</title>",
    `<rect width="100%" height="100%" rx="8" fill="#161b22"/>`,
    ...rows,
    "</svg>",
  ].join("\n");
}

const lines = COMMANDS.flatMap((command) => [
  { text: `$ ${command}`, colour: "#7ee787" },
  ...linesOf(command).map((text) => ({ text, colour: text.includes("blocked (") ? "#ffa198" : "#e6edf3" })),
  { text: "", colour: "none" },
]);
process.stdout.write(`${draw(lines.slice(0, -1))}\n`);
