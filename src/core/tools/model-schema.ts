import { z } from "zod";
import type { Tool } from "./tool.js";

/** JSON Schema of an object, as models' APIs take arguments. */
export interface JsonSchema {
  readonly type: "object";
  readonly [key: string]: unknown;
}

/** What the call itself checks, with a message of its own: models' APIs do not take all of it, and each takes room. */
const CHECKED_BY_THE_CALL = [
  "minLength",
  "maxLength",
  "pattern",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
];

/** The schema of a tool's arguments: of our own without what only the call needs. */
export function schemaFor({ input }: Tool, isOwn: boolean): JsonSchema {
  const schema = z.toJSONSchema(input, {
    io: "input",
    target: "draft-7",
    ...(isOwn && {
      override: ({ jsonSchema }) => {
        for (const key of CHECKED_BY_THE_CALL) delete (jsonSchema as Record<string, unknown>)[key];
      },
    }),
  }) as JsonSchema;
  if (!isOwn) return schema;
  const { $schema: _, ...rest } = schema;
  return rest as JsonSchema;
}

/**
 * The same for an API's strict mode: every argument is required, and null where it is left out. Only of schemas without
 * unions, as ours are.
 */
export function strictSchema(schema: JsonSchema): JsonSchema {
  return strict(schema) as JsonSchema;
}

type Node = Readonly<Record<string, unknown>>;

function strict(node: Node): Node {
  const {
    properties,
    required = [],
    items,
  } = node as {
    readonly properties?: Readonly<Record<string, Node>>;
    readonly required?: readonly string[];
    readonly items?: Node;
  };
  if (items !== undefined) return { ...node, items: strict(items) };
  if (properties === undefined) return node;
  const all = Object.entries(properties).map(([name, property]): [string, Node] => {
    const own = strict(property);
    return [name, required.includes(name) ? own : orNull(own)];
  });
  return {
    ...node,
    properties: Object.fromEntries(all),
    required: all.map(([name]) => name),
    additionalProperties: false,
  };
}

function orNull(node: Node): Node {
  const { type, enum: values } = node as { readonly type?: unknown; readonly enum?: readonly unknown[] };
  return { ...node, type: [type, "null"], ...(values !== undefined && { enum: [...values, null] }) };
}

/** An argument that takes more than its schema tells a model: a text there, for APIs that take no unions. */
export function textOr<Schema extends z.ZodType>(schema: Schema, description: string) {
  return z.any().meta({ type: "string", description }).pipe(schema).optional();
}

/** The arguments without those that are null: in a strict mode every one that is left out. */
export function withoutNulls(given: unknown): unknown {
  if (Array.isArray(given)) return given.map(withoutNulls);
  if (typeof given !== "object" || given === null) return given;
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value !== null)
      .map(([key, value]) => [key, withoutNulls(value)]),
  );
}
