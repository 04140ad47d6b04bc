/** An admin listener on loopback that answers each request with its next answer, and records the requests. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { type AdminClient, createAdminClient } from "../../../src/admin-api/index.ts";

interface ReceivedRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly idempotencyKey: string | string[] | undefined;
  readonly body: unknown;
}

/** An `undefined` answer is 204. */
export async function openKeyEndpoint(
  t: TestContext,
  answers: readonly unknown[],
): Promise<{ readonly client: AdminClient; readonly received: readonly ReceivedRequest[] }> {
  const received: ReceivedRequest[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    received.push({
      method: request.method,
      url: request.url,
      idempotencyKey: request.headers["idempotency-key"],
      body: body === "" ? undefined : JSON.parse(body),
    });
    const answer = answers[received.length - 1];
    response.writeHead(answer === undefined ? 204 : 200, { "content-type": "application/json" });
    response.end(answer === undefined ? "" : JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = createAdminClient({ address: { kind: "url", url: `http://127.0.0.1:${port}` }, timeLimitMs: 5_000 });
  t.after(() => {
    client.close();
    server.close();
  });
  return { client, received };
}
