/**
 * A load balancer without health checks or affinity: each request goes to the next server, or to the one after it if
 * the port is closed.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { atEnd, type Owner } from "../../support/wait.ts";

/** Returns its address. `urls` has at least one server. */
export async function roundRobin(owner: Owner, urls: readonly string[]): Promise<string> {
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    turn += 1;
    void buffer(incoming).then((body) => pass({ incoming, outgoing, body, urls, at: turn, left: urls.length }));
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  atEnd(owner, () => {
    server.closeAllConnections();
    return new Promise((done) => void server.close(done));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Passing {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly body: Buffer;
  readonly urls: readonly string[];
  /** Index of the current server. */
  readonly at: number;
  /** Number of servers that may still be tried. */
  readonly left: number;
}

function pass(passing: Passing): void {
  const { incoming, outgoing, body, urls, at, left } = passing;
  const { method = "GET", url = "/", headers } = incoming;
  const asked = request(new URL(url, urls[at % urls.length]), { method, headers, agent: false }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  asked.once("error", () => {
    if (left > 1) pass({ ...passing, at: at + 1, left: left - 1 });
    else outgoing.destroy();
  });
  asked.end(body);
}
