/** Pipelined requests. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { createHttpServer } from "../../../../src/server/admin/listeners/http-server.ts";
import { handleAll } from "./support/handle-all.ts";
import { dial, untilClosed } from "./support/raw.ts";

const GET = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

test("a few pipelined requests are answered, and a connection with too many is ended", async (t) => {
  const waiting: ServerResponse[] = [];
  const server = createHttpServer({
    maxConnections: 64,
    onConnection: () => undefined,
    registerRoutes: (app) => handleAll(app, (_, response) => void waiting.push(response)),
    onAcceptFailure: (error) => assert.fail(error),
    onInternalError: (_, error) => assert.fail(String(error)),
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => server.close(0));
  const address = server.address();
  if (address === null || typeof address === "string") return assert.fail("no address");
  const where = { host: "127.0.0.1", port: address.port };

  const greedy = await dial(where);
  greedy.write(GET.repeat(10_000));
  assert.equal(await untilClosed(greedy), "");
  assert.equal(waiting.length, 16);

  const modest = await dial(where);
  modest.write(GET.repeat(3) + GET.replace("host", "connection: close\r\nhost"));
  while (waiting.length < 20) await new Promise((resolve) => setImmediate(resolve));
  for (const response of waiting) response.end();
  const answers = await untilClosed(modest);
  assert.equal(answers.match(/HTTP\/1\.1 200 /g)?.length, 4);
});
