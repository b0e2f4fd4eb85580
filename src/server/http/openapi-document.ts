/** An OpenAPI document as it is made: plain JSON. */
type Json = Record<string, unknown>;

interface Operation extends Json {
  operationId?: string;
  requestBody?: Json;
  responses?: Record<string, { description?: string; content?: Json }>;
}

/** What a route says of bodies that are no JSON: `x-takes` and `x-answers` in its schema, by content type. */
const TAKES = "x-takes";
const ANSWERS = "x-answers";
/** As `x-answers`: the connection goes on as a WebSocket. */
export const WEB_SOCKET = "websocket";
/** As `x-answers`: what a server inside the sandbox replies, with any status. */
export const ANYTHING = "*/*";

const TEXTS = {
  "200": "Done.",
  "201": "Made.",
  "4XX": "The request is at fault: `code` says how, `hint` what to do.",
  "5XX": "The server is at fault, or cannot do it now: `code` says which.",
} as const;

/** Makes a document fit to be read: names for operations, texts for answers, bodies that are streams, each schema once. */
export function tidyDocument(document: Json): Json {
  const paths = nameWildcards((document["paths"] ?? {}) as Record<string, Record<string, Operation>>);
  document["paths"] = paths;
  const errors = errorsOf(paths);
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, given] of Object.entries(operations)) {
      // A route of several methods has one object for all of them.
      const operation = structuredClone(given);
      operations[method] = operation;
      operation.operationId = operationIdOf(method, path);
      describeStreams(operation);
      operation.responses = { ...operation.responses, ...errors, ...operation.responses };
      for (const [status, response] of Object.entries(operation.responses ?? {}))
        if (response.description === "Default Response")
          response.description = TEXTS[status as keyof typeof TEXTS] ?? "Done.";
    }
  }
  return onceEach(document);
}

/** The rest of an address, slashes and all, has a name like every other parameter. */
function nameWildcards(paths: Record<string, Record<string, Operation>>) {
  const named = Object.entries(paths).map(([path, operations]) => {
    for (const { parameters } of Object.values(operations)) {
      for (const parameter of (parameters ?? []) as Json[])
        if (parameter["name"] === "*") {
          parameter["name"] = "path";
          parameter["description"] = "Slashes are part of it.";
        }
    }
    return [path.replace("{*}", "{path}"), operations] as const;
  });
  return Object.fromEntries(named);
}

/** `post /v1/sessions/{name}/contexts/{id}/fork` → `postSessionsContextsFork`; `…OfOne` where the path ends with a parameter. */
function operationIdOf(method: string, path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== "v1");
  const words = parts.filter((part) => !part.startsWith("{")).flatMap((part) => part.split(/[^a-z0-9]+/i));
  const isOne = parts.at(-1)?.startsWith("{") === true;
  return [
    method,
    ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)),
    ...(isOne ? ["One"] : []),
  ].join("");
}

/** The answers that any route may give: they are the same for all, also for those whose good answer is no JSON. */
function errorsOf(paths: Record<string, Record<string, Operation>>): NonNullable<Operation["responses"]> {
  const all = Object.values(paths).flatMap((operations) => Object.values(operations));
  const found = all.map(({ responses }) => responses).find((responses) => responses?.["4XX"] !== undefined);
  return found === undefined ? {} : { "4XX": found["4XX"]!, "5XX": found["5XX"]! };
}

function describeStreams(operation: Operation): void {
  const { [TAKES]: takes, [ANSWERS]: answers } = operation;
  delete operation[TAKES];
  delete operation[ANSWERS];
  const bytes = { schema: { type: "string", format: "binary" } };
  if (typeof takes === "string") operation.requestBody = { required: true, content: { [takes]: bytes } };
  if (typeof answers !== "string") return;
  if (answers === WEB_SOCKET) {
    operation.responses = { "101": { description: "The connection goes on as a WebSocket." } };
  } else if (answers === ANYTHING) {
    operation.responses = {
      default: { description: "What was answered inside.", content: { [ANYTHING]: {} } },
    };
  } else {
    const { "200": ok = { description: TEXTS["200"] }, ...others } = operation.responses ?? {};
    const content = { ...ok.content, [answers]: { schema: { type: "string" } } };
    operation.responses = { "200": { ...ok, content }, ...others };
  }
}

/** Every schema comes as what is taken and as what is answered; most are only one of the two, under one name. */
function onceEach(document: Json): Json {
  const components = document["components"] as { schemas?: Json } | undefined;
  const schemas = components?.schemas ?? {};
  const isUsed = (name: string) => JSON.stringify(document).includes(`"#/components/schemas/${name}"`);
  for (let last = -1; last !== Object.keys(schemas).length; ) {
    last = Object.keys(schemas).length;
    for (const name of Object.keys(schemas)) if (!isUsed(name)) delete schemas[name];
  }
  let text = JSON.stringify(document);
  for (const name of Object.keys(schemas)) {
    const plain = name.replace(/Input$/, "");
    if (plain === name || Object.hasOwn(schemas, plain)) continue;
    text = text
      .replaceAll(`"#/components/schemas/${name}"`, `"#/components/schemas/${plain}"`)
      .replace(`"${name}":{`, `"${plain}":{`);
  }
  return JSON.parse(text) as Json;
}
