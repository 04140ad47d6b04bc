/** A stand-in for a gateway: an HTTP server of the test's own on a Unix socket, or on a port. */

import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

interface StandIn {
  readonly socket: string;
  /** A folder removed with the test. */
  readonly directory: string;
  readonly requests: readonly ReceivedRequest[];
}

interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly type: string | undefined;
  readonly ifMatch?: string;
  readonly body: string;
}

type Answer = (received: ReceivedRequest, response: ServerResponse) => void;

export async function standIn(t: TestContext, answer: Answer): Promise<StandIn> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-verb-"));
  const socket = join(directory, "s");
  const requests: ReceivedRequest[] = [];
  await listen(t, socket, async (request, response) => {
    const received = await askedOf(request);
    requests.push(received);
    answer(received, response);
  });
  t.after(() => rm(directory, { recursive: true, force: true }));
  return { socket, directory, requests };
}

export async function onPort(t: TestContext, listener: RequestListener): Promise<string> {
  const port = await listen(t, 0, listener);
  return `http://127.0.0.1:${port}`;
}

async function listen(t: TestContext, at: string | number, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  if (typeof at === "string") server.listen(at);
  else server.listen(at, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return typeof at === "string" ? 0 : (server.address() as AddressInfo).port;
}

async function askedOf(request: IncomingMessage): Promise<ReceivedRequest> {
  let body = "";
  for await (const part of request.setEncoding("latin1")) body += part;
  const { method = "", url = "", headers } = request;
  const { "if-match": ifMatch } = headers;
  return {
    method,
    url,
    type: headers["content-type"],
    ...(ifMatch !== undefined && { ifMatch }),
    body: Buffer.from(body, "latin1").toString("utf8"),
  };
}

export function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(`${JSON.stringify(value)}\n`);
}

export const refusal = (code: string, message: string) => ({ error: { code, message } });
