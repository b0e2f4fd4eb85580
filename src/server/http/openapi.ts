import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import { tidyDocument } from "./openapi-document.js";

/** Scripts, styles and pictures of this server only; swagger-ui sets styles of elements as it draws. */
const REFERENCE_POLICY = [
  "default-src 'none'",
  "base-uri 'none'",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "img-src 'self' data:",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
].join("; ");

/** `/openapi.json` and `/docs`, from the schemas of the routes that come after. */
export async function documentRoutes(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Skerry",
        version,
        description: "Runs an agent's code where it can do no harm, and tells you what it did.",
      },
      components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } },
      security: [{ key: [] }],
    },
    transform: jsonSchemaTransform,
    transformObject: (document) =>
      tidyDocument(jsonSchemaTransformObject(document) as Record<string, unknown>) as object,
  });
  await app.register(swaggerUi, {
    routePrefix: "/docs",
    staticCSP: REFERENCE_POLICY,
    // Its top bar loads documents from any address, and has another project's name.
    theme: {
      title: "Skerry",
      css: [{ filename: "skerry.css", content: ".swagger-ui .topbar { display: none }" }],
    },
  });
  let document: string | undefined;
  app.get("/openapi.json", { schema: { hide: true } }, async (_, reply) => {
    document ??= JSON.stringify(app.swagger());
    return reply.type("application/json; charset=utf-8").send(document);
  });
}
