import { fileParts, part } from "./address.js";
import type { paths } from "./api-types.js";
import type { RequestOptions, Transport } from "./transport.js";

type Method = "get" | "post" | "put" | "delete";
type PathOf<M extends Method> = { [P in keyof paths]: M extends keyof paths[P] ? P : never }[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P] extends { [K in M]: infer Found }
  ? Found
  : never;
type Query<Route> = Route extends { parameters: infer All } ? Pick<All, Extract<keyof All, "query">> : object;
type Json<Route> = Route extends { requestBody: { content: { "application/json": infer Body } } }
  ? { json: Body }
  : Route extends { requestBody?: { content: { "application/json": infer Body } } }
    ? "requestBody" extends keyof Route
      ? { json?: Body }
      : unknown
    : unknown;

/** What a route takes, as the server's own description has it. */
export type Input<P extends keyof paths, M extends Method> = Query<Operation<P, M>> & Json<Operation<P, M>>;

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

/** The routes of a server in whose paths `Names` are known. */
export class Routes<Names extends object> {
  constructor(
    readonly transport: Transport,
    readonly names: Names,
  ) {}

  /** The routes in whose paths more is known. */
  of<More extends object>(more: More): Routes<Names & More> {
    return new Routes(this.transport, { ...this.names, ...more });
  }

  /** Asks for the JSON of a route. */
  call<M extends Method, P extends PathOf<M>>(
    method: M,
    path: Names extends Record<PathNames<P>, unknown> ? P : never,
    input: Input<P, M>,
    options: RequestOptions = {},
  ): Promise<Answer<P, M>> {
    return this.transport.json(method.toUpperCase(), this.at(path), { ...options, ...input });
  }

  /** Where a route is. `{path}` is a file's path. */
  at(route: string): string {
    const names = this.names as Readonly<Record<string, unknown>>;
    return route.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
      const value = String(names[name] ?? "");
      return name === "path" ? fileParts(value) : part(value);
    });
  }
}

/** What is below a session. */
export type SessionRoutes = Routes<{ readonly sessionId: string }>;
export type ItemRoutes = Routes<{ readonly sessionId: string; readonly id: string }>;

type PathNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;
