/**
 * A proxy for the admin API between a console and a gateway: a socket that records each request, and forwards it unless
 * a rule of the test answers instead.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { join } from "node:path";
import { atEnd, type Owner } from "../../support/wait.ts";
import { homeOf } from "./console-gateway.ts";

interface Passed {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly body: string;
}

/** Returns an answer, or `undefined` to forward the request. */
export type Rule = (passed: Passed, query: URLSearchParams) => RuledAnswer | undefined;

export type RuledAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly json: unknown }
  /** Sends the head of an answer, and nothing more until the proxy closes. */
  | { readonly kind: "stalls" }
  /** Sends nothing until the other side gives up. */
  | { readonly kind: "silent" };

interface EndpointUnderTest {
  /** Path of its socket. */
  readonly socket: string;
  readonly requests: readonly Passed[];
  rule: Rule;
}

/** A console sends no body larger than a document. */
const MAX_BODY_BYTES = 4 << 20;

export async function openEndpoint(owner: Owner, to: string, rule: Rule = () => undefined): Promise<EndpointUnderTest> {
  const socket = join(await homeOf(owner), "door.sock");
  const requests: Passed[] = [];
  const server = createServer((incoming, outgoing) => {
    void readBody(incoming).then((body) => {
      const { method = "", url = "" } = incoming;
      const { pathname: path, searchParams } = new URL(url, "http://door");
      const passed = { method, path, body };
      requests.push(passed);
      const ruled = endpoint.rule(passed, searchParams);
      if (ruled === undefined) pass(to, incoming, body, outgoing);
      else answer(ruled, outgoing);
    });
  });
  await new Promise<void>((done) => server.listen(socket, done));
  atEnd(owner, async () => {
    const closed = new Promise((done) => server.close(done));
    server.closeAllConnections();
    await closed;
  });
  const endpoint: EndpointUnderTest = { socket, requests, rule };
  return endpoint;
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of incoming) {
    const bytes: Uint8Array = chunk;
    length += bytes.length;
    if (length > MAX_BODY_BYTES) throw new Error("a request of more than 4 MiB");
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Forwards chunk by chunk, since an answer may be delayed or streamed. */
function pass(to: string, { method, url, headers }: IncomingMessage, body: string, outgoing: ServerResponse): void {
  const onward = request({ socketPath: to, method, path: url, headers }, (answered) => {
    outgoing.writeHead(answered.statusCode ?? 502, answered.headers);
    answered.on("error", () => outgoing.destroy());
    answered.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  outgoing.once("close", () => onward.destroy());
  onward.end(body);
}

function answer(ruled: RuledAnswer, outgoing: ServerResponse): void {
  switch (ruled.kind) {
    case "answer":
      outgoing.writeHead(ruled.status, { "content-type": "application/json" });
      outgoing.end(JSON.stringify(ruled.json));
      return;
    case "stalls":
      outgoing.writeHead(200, { "content-type": "application/json" });
      outgoing.write("{");
      return;
    case "silent":
      return;
    default:
      ruled satisfies never;
  }
}
