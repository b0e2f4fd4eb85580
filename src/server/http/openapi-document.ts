/** An OpenAPI document as it is made: plain JSON. */
type Json = Record<string, unknown>;

interface Operation extends Json {
  operationId?: string;
  requestBody?: Json;
  responses?: Record<string, { description?: string; content?: Json; $ref?: string }>;
}

/** What a route says of bodies that are no JSON: `x-takes` and `x-answers` in its schema, by content type. */
const TAKES = "x-takes";
const ANSWERS = "x-answers";
/** As `x-answers`: the connection goes on as a WebSocket. */
export const WEB_SOCKET = "websocket";
/** As `x-answers`: what a server inside the sandbox replies, with any status. */
export const ANYTHING = "*/*";

const DONE = "Done.";
/** The answers that any route may give, also those whose good answer is no JSON. */
const ERRORS = {
  "4XX": {
    name: "RequestError",
    description: "The request is at fault: `code` says how, `hint` what to do.",
  },
  "5XX": {
    name: "ServerError",
    description: "The server is at fault, or cannot do it now: `code` says which.",
  },
} as const;

/** Makes a document fit to be read: names for operations, texts for answers, bodies that are streams, each schema once. */
export function tidyDocument(document: Json): Json {
  const paths = nameWildcards((document["paths"] ?? {}) as Record<string, Record<string, Operation>>);
  document["paths"] = paths;
  const errors = shareErrors(document, paths);
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, given] of Object.entries(operations)) {
      // A route of several methods has one object for all of them.
      const operation = structuredClone(given);
      operations[method] = operation;
      operation.operationId = operationIdOf(method, path);
      describeStreams(operation);
      operation.responses = { ...operation.responses, ...errors };
      for (const [status, response] of Object.entries(operation.responses))
        if (response.description === "Default Response")
          response.description = status === "201" ? "Made." : DONE;
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

/** `post /v1/sessions/{sessionId}/contexts/{id}/fork` → `postSessionsContextsFork`; `…OfOne` where the path ends with a parameter. */
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

/** Moves the errors, which are the same for every route, to the document's components. */
function shareErrors(document: Json, paths: Record<string, Record<string, Operation>>) {
  const all = Object.values(paths).flatMap((operations) => Object.values(operations));
  const given = all.map(({ responses }) => responses).find((responses) => responses?.["4XX"] !== undefined);
  if (given === undefined) return {};
  const entries = Object.entries(ERRORS);
  const responses = entries.map(([status, { name, description }]) => [
    name,
    { ...given[status], description },
  ]);
  document["components"] = { ...(document["components"] as Json), responses: Object.fromEntries(responses) };
  return Object.fromEntries(
    entries.map(([status, { name }]) => [status, { $ref: `#/components/responses/${name}` }]),
  );
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
    const { "200": ok = { description: DONE }, ...others } = operation.responses ?? {};
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
