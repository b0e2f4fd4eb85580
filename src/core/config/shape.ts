import type { z } from "zod";

/** What may stand at one place of the configuration. */
export type Shape =
  | { readonly kind: "object"; readonly fields: ReadonlyMap<string, z.core.$ZodType> }
  | { readonly kind: "record"; readonly value: z.core.$ZodType }
  | { readonly kind: "array" }
  | { readonly kind: "string" }
  | { readonly kind: "other" };

interface Definition {
  readonly type: string;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly valueType?: z.core.$ZodType;
}

/** Looks through defaults, transforms and the like at what a schema takes. */
export function shapeOf(schema: z.core.$ZodType): Shape {
  const definition = schema._zod.def as Definition;
  const inner = definition.innerType ?? definition.in;
  if (inner !== undefined) return shapeOf(inner);
  switch (definition.type) {
    case "object":
      return { kind: "object", fields: new Map(Object.entries(definition.shape ?? {})) };
    case "record":
      return { kind: "record", value: definition.valueType! };
    case "array":
    case "string":
      return { kind: definition.type };
    default:
      return { kind: "other" };
  }
}

/** What may stand at a path; undefined where the schema knows no such place. */
export function shapeAt(root: z.core.$ZodType, path: readonly PropertyKey[]): Shape | undefined {
  let shape = shapeOf(root);
  for (const key of path) {
    const next =
      shape.kind === "object"
        ? shape.fields.get(String(key))
        : shape.kind === "record"
          ? shape.value
          : undefined;
    if (next === undefined) return undefined;
    shape = shapeOf(next);
  }
  return shape;
}
