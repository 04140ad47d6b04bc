/** One route that handles every request itself. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";

export function handleAll(
  app: FastifyInstance,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  app.all("/*", (request, reply) => {
    reply.hijack();
    handle(request.raw, reply.raw);
  });
}
