import ts from "typescript";
import { expect, it } from "vitest";
import { parse, readSources } from "./setup/source-files.js";

/** A word that types are called by: constants are in capitals, functions begin with a small letter. */
const TYPE_NAME = /^[A-Z]\w*[a-z]/;

/** What a file imports under another name, by that name. */
function renamedImports(source: ts.SourceFile): Map<string, string> {
  const elements = source.statements.filter(ts.isImportDeclaration).flatMap(({ importClause }) => {
    const bindings = importClause?.namedBindings;
    return bindings !== undefined && ts.isNamedImports(bindings) ? [...bindings.elements] : [];
  });
  return new Map(elements.map(({ name, propertyName }) => [name.text, (propertyName ?? name).text]));
}

/** The names of types that a file exports under another name than they have where they come from. */
function renamedExports(source: ts.SourceFile): string[] {
  const imported = renamedImports(source);
  return source.statements
    .filter(ts.isExportDeclaration)
    .flatMap(({ exportClause }) =>
      exportClause !== undefined && ts.isNamedExports(exportClause) ? [...exportClause.elements] : [],
    )
    .filter(({ name, propertyName }) => {
      const local = (propertyName ?? name).text;
      return TYPE_NAME.test(name.text) && (imported.get(local) ?? local) !== name.text;
    })
    .map(({ name }) => name.text);
}

/**
 * The interfaces, type aliases, classes and enums that a file declares and exports, and those that it exports under another
 * name. Other re-exports are not declarations.
 */
function exportedTypes(source: ts.SourceFile): Set<string> {
  const listed = new Set(
    source.statements
      .filter(ts.isExportDeclaration)
      .filter(({ moduleSpecifier }) => moduleSpecifier === undefined)
      .flatMap(({ exportClause }) =>
        exportClause !== undefined && ts.isNamedExports(exportClause) ? [...exportClause.elements] : [],
      )
      .map(({ propertyName, name }) => (propertyName ?? name).text),
  );
  const declared = source.statements.filter(
    (statement) =>
      ts.isInterfaceDeclaration(statement) ||
      ts.isTypeAliasDeclaration(statement) ||
      ts.isClassDeclaration(statement) ||
      ts.isEnumDeclaration(statement),
  );
  const isExported = ({ name, modifiers }: (typeof declared)[number]) =>
    name !== undefined &&
    (listed.has(name.text) || modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword));
  return new Set([...declared.filter(isExported).map(({ name }) => name!.text), ...renamedExports(source)]);
}

/** Names that two files of one floor give to exported types, with those files. */
function duplicatesIn(sources: ReadonlyMap<string, ts.SourceFile>): Record<string, string[]> {
  const files = new Map<string, string[]>();
  for (const [file, source] of sources) {
    for (const name of exportedTypes(source)) {
      const key = `${file.split("/")[0]}: ${name}`;
      files.set(key, [...(files.get(key) ?? []), file]);
    }
  }
  return Object.fromEntries([...files].filter(([, { length }]) => length > 1));
}

it("gives no two exported types of one floor the same name", () => {
  expect(duplicatesIn(readSources())).toEqual({});
});

it("would notice two types of one name, however they are declared and exported", () => {
  const texts = {
    "kit/a.ts": "export interface One {}\nexport type Two = 1;\nexport class Three {}\nexport enum Four {}",
    "kit/room/b.ts": "class One {}\ninterface Two {}\nexport { One, type Two as Second };",
    "kit/room/c.ts": "export type Three = 1;\nexport const enum Four {}",
    // Not exported, not declared here, not a type, on another floor.
    "kit/d.ts": 'interface One {}\nexport type { Two } from "./a.js";\nexport const Three = 1;',
    "core/e.ts": "export interface One {}",
    "runtime/mutex.ts": "export class Mutex {}\nexport class Deferred {}",
    "runtime/room/f.ts": 'export type { Deferred as Mutex } from "../mutex.js";',
    "runtime/room/g.ts": 'import { Mutex as Deferred } from "../mutex.js";\nexport { type Deferred };',
  };
  const sources = new Map(Object.entries(texts).map(([file, text]) => [file, parse(file, text)]));
  expect(duplicatesIn(sources)).toEqual({
    "kit: One": ["kit/a.ts", "kit/room/b.ts"],
    "kit: Two": ["kit/a.ts", "kit/room/b.ts"],
    "kit: Three": ["kit/a.ts", "kit/room/c.ts"],
    "kit: Four": ["kit/a.ts", "kit/room/c.ts"],
    "runtime: Mutex": ["runtime/mutex.ts", "runtime/room/f.ts"],
    "runtime: Deferred": ["runtime/mutex.ts", "runtime/room/g.ts"],
  });
});
