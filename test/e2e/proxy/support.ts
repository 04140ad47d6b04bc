/** A forward proxy that resolves the test's names itself and records its requests. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { atEnd, type Owner } from "../support/wait.ts";

interface TestProxy {
  readonly port: number;
  /** Each request as `CONNECT host:port` or `METHOD address`. */
  readonly requests: string[];
  /** Value of `proxy-authorization` of each. */
  readonly credentials: (string | undefined)[];
}

interface TestProxyOptions {
  /** Loopback ports by name; an unlisted name is answered 502. */
  readonly names: Readonly<Record<string, number>>;
  /** Statuses for refused names; 0 for one that is never answered, 1 for one that breaks off. */
  readonly refused?: Readonly<Record<string, number>>;
  /** Certificate and key of a proxy that speaks TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export async function testProxy(owner: Owner, { names, refused = {}, tls }: TestProxyOptions): Promise<TestProxy> {
  const requests: string[] = [];
  const credentials: (string | undefined)[] = [];
  const sockets = new Set<Duplex>();
  const server: Server = tls === undefined ? createServer() : createTlsServer(tls);
  const note = (line: string, incoming: IncomingMessage): void => {
    requests.push(line);
    credentials.push(incoming.headers["proxy-authorization"]);
  };
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  server.on("connect", (incoming: IncomingMessage, client: Duplex) => {
    client.on("error", () => undefined);
    sockets.add(client);
    note(`CONNECT ${incoming.url}`, incoming);
    const host = new URL(`http://${incoming.url}`).hostname.replace(/^\[|\]$/g, "");
    const status = refused[host];
    if (status === 0) return;
    if (status === 1) return void client.destroy();
    const port = names[host];
    if (status !== undefined || port === undefined) {
      client.end(`HTTP/1.1 ${status ?? 502} Refused\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const upstream = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      client.pipe(upstream).pipe(client);
    });
    sockets.add(upstream);
    upstream.on("error", () => client.destroy());
  });
  server.on("request", (incoming: IncomingMessage, outgoing) => {
    note(`${incoming.method} ${incoming.url}`, incoming);
    const url = new URL(incoming.url ?? "");
    const status = refused[url.hostname];
    const port = names[url.hostname];
    if (status !== undefined || port === undefined) return void outgoing.writeHead(status ?? 502).end();
    const { "proxy-authorization": _, ...headers } = incoming.headers;
    const path = url.pathname + url.search;
    const onward = request({ port, host: "127.0.0.1", path, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(owner, () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const at = server.address();
  if (at === null || typeof at === "string") throw new Error("listening without a port");
  return { port: at.port, requests, credentials };
}
