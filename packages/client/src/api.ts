import { fileParts, part, type Query } from "./address.js";
import type { paths } from "./api-types.js";
import type { RequestOptions, Transport } from "./transport.js";

type Method = "get" | "post" | "put" | "delete";
type PathOf<M extends Method> = { [P in keyof paths]: M extends keyof paths[P] ? P : never }[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P] extends { [K in M]: infer Found }
  ? Found
  : never;
type Parameters<Route> = Route extends { parameters: infer All }
  ? Pick<All, Extract<keyof All, "path" | "query">>
  : never;
type Json<Route> = Route extends { requestBody: { content: { "application/json": infer Body } } }
  ? { json: Body }
  : Route extends { requestBody?: { content: { "application/json": infer Body } } }
    ? "requestBody" extends keyof Route
      ? { json?: Body }
      : unknown
    : unknown;

/** What a route takes, as the server's own description has it. */
export type Input<P extends keyof paths, M extends Method> = Parameters<Operation<P, M>> &
  Json<Operation<P, M>>;

/** What a route answers with, as the server's own description has it. */
export type Answer<P extends keyof paths, M extends Method> =
  Operation<P, M> extends {
    responses: { 201: { content: { "application/json": infer Made } } };
  }
    ? Made
    : Operation<P, M> extends { responses: { 200: { content: { "application/json": infer Done } } } }
      ? Done
      : never;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Asks for the JSON of a route. */
export function call<M extends Method, P extends PathOf<M>>(
  transport: Transport,
  method: M,
  path: P,
  input: Input<P, M>,
  options: RequestOptions = {},
): Promise<Answer<P, M>> {
  const { path: names, query, json } = input as Loose;
  return transport.json(method.toUpperCase(), fill(path, names), {
    ...options,
    ...(query !== undefined && { query }),
    ...(json !== undefined && { json }),
  });
}

/** A route's address with its parameters in place. `{path}` is a file's path. */
export function fill(path: string, names: Readonly<Record<string, unknown>> = {}): string {
  return path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
    const value = String(names[name] ?? "");
    return name === "path" ? fileParts(value) : part(value);
  });
}

interface Loose {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Query;
  readonly json?: unknown;
}
