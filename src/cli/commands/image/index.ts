import type { Command } from "commander";
import { DEFAULT_TAG, IMAGE_ORIGINS, PACKAGE_SETS } from "../../../runtime/backends/index.js";
import { addCommand, createChoice, setAction } from "../../definition/index.js";

const EXAMPLES = {
  image: `
  skerry image build
  skerry image ls`,
  build: `
  skerry image build
  skerry image build --with data --with tools
  skerry image build --from debootstrap --tag skerry-sandbox:offline`,
  ls: `
  skerry image ls
  skerry image ls --json`,
} as const;

/** `image …`. */
export function defineImage(program: Command): void {
  const load = () => import("./image.js");
  const group = addCommand(program, "image", "the image that sandboxes in containers run", EXAMPLES.image);

  const build = addCommand(group, "build", "build it in the Docker daemon", EXAMPLES.build)
    .option("--tag <name>", `what to call it; default: ${DEFAULT_TAG}`)
    .addOption(
      createChoice(
        "--with <set...>",
        "more packages; data: numpy, pandas, matplotlib, …; tools: gcc, git, pip, npm, …",
        PACKAGE_SETS,
      ),
    )
    .addOption(
      createChoice(
        "--from <origin>",
        "a registry's base image, or Debian's packages; default: the first that works",
        ["auto", ...IMAGE_ORIGINS],
      ),
    )
    .option("--network <name>", "network of the build's containers, such as host; default: the daemon's")
    .option("--json", "print one JSON object");
  setAction(build, async (command) => (await load()).build(command.opts()));

  const list = addCommand(group, "ls", "list those in the daemon", EXAMPLES.ls).option(
    "--json",
    "print a JSON array",
  );
  setAction(list, async (command) => (await load()).list(command.opts()));
}
