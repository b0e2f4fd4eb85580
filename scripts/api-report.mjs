// Writes what every entry point of both packages exports to api/, as the types in dist/ say it. Prints the types of ours
// that an exported declaration names and no entry point exports.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { CompilerState, Extractor, ExtractorConfig } from "@microsoft/api-extractor";
import ts from "typescript";

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
const { program } = compilerState;
const checker = program.getTypeChecker();
const declarationOf = (symbol) =>
  symbol.flags & ts.SymbolFlags.Alias
    ? checker.getAliasedSymbol(symbol)
    : checker.getExportSymbolOfSymbol(symbol);
const exported = new Set(
  files.flatMap((file) =>
    checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file))).map(declarationOf),
  ),
);

/** Whether a name in a file is a type that its user cannot name. Constants and generic aliases only serve to write a type. */
function isOutOfReach(name, file) {
  const meaning = ts.SymbolFlags.Type | ts.SymbolFlags.Value | ts.SymbolFlags.Alias;
  const found = checker
    .getSymbolsInScope(program.getSourceFile(file), meaning)
    .find((each) => each.name === name);
  if (found === undefined) return true;
  const symbol = declarationOf(found);
  const isHelper =
    symbol.flags & ts.SymbolFlags.Variable ||
    (symbol.flags & ts.SymbolFlags.TypeAlias && symbol.declarations[0].typeParameters !== undefined);
  return !isHelper && !exported.has(symbol);
}

const missing = new Set();
for (const config of configs) {
  Extractor.invoke(config, {
    localBuild: true,
    compilerState,
    messageCallback(message) {
      message.handled = true;
      const { messageId, text, sourceFilePath: file } = message;
      if (messageId === "ae-forgotten-export") {
        const name = /"(.+?)(?:_\d+)?"/.exec(text)[1];
        if (isOutOfReach(name, file)) missing.add(`${relative(root, file)} needs ${name}`);
      } else if (message.logLevel === "error") throw new Error(text);
    },
  });
}
for (const each of [...missing].sort()) console.log(each);
