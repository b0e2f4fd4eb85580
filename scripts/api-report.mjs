// Writes what every entry point of both packages exports to api/, as the types in dist/ say it. Prints the types of ours
// that an exported declaration names and no entry point exports.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CompilerState, Extractor, ExtractorConfig } from "@microsoft/api-extractor";

const root = fileURLToPath(new URL("..", import.meta.url));
const reportFolder = join(root, "api");

/** The entry points of a package: the names of their reports, and the files that hold their types. */
function entryPoints(directory) {
  const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  return Object.entries(manifest.exports).flatMap(([path, { types }]) => {
    if (types === undefined) return [];
    const name = join(manifest.name, path).replace("@", "").replaceAll("/", "-");
    const [before, after] = join(directory, types).split("*");
    if (after === undefined) return [[name, before]];
    const parts = readdirSync(before).filter((part) => existsSync(before + part + after));
    return parts.map((part) => [name.replace("*", part), before + part + after]);
  });
}

const entries = [...entryPoints(root), ...entryPoints(join(root, "packages/client"))];
const files = entries.map(([, file]) => file);
const overrideTsconfig = {
  extends: join(root, "packages/client/tsconfig.json"),
  compilerOptions: { types: ["node"], paths: {} },
  files,
};
const silent = { default: { logLevel: "none" } };
const configs = entries.map(([name, file]) =>
  ExtractorConfig.prepare({
    packageJsonFullPath: join(root, "package.json"),
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: file,
      newlineKind: "lf",
      compiler: { overrideTsconfig },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder,
        reportTempFolder: reportFolder,
      },
      messages: {
        compilerMessageReporting: silent,
        tsdocMessageReporting: silent,
        extractorMessageReporting: { ...silent, "ae-forgotten-export": { logLevel: "warning" } },
      },
    },
  }),
);

rmSync(reportFolder, { recursive: true, force: true });
mkdirSync(reportFolder);
const compilerState = CompilerState.create(configs[0], { additionalEntryPoints: files });
const missing = new Set();
for (const config of configs) {
  Extractor.invoke(config, {
    localBuild: true,
    compilerState,
    messageCallback(message) {
      message.handled = true;
      if (message.messageId === "ae-forgotten-export") missing.add(/"(.+?)"/.exec(message.text)[1]);
      else if (message.logLevel === "error") throw new Error(message.text);
    },
  });
}
const checker = compilerState.program.getTypeChecker();
for (const file of files) {
  const module = checker.getSymbolAtLocation(compilerState.program.getSourceFile(file));
  for (const { name } of checker.getExportsOfModule(module)) missing.delete(name);
}
for (const name of [...missing].sort()) console.log(name);
