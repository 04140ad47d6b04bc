/**
 * Serves a request that offers another protocol than WebSocket over HTTP/1.1, as providers do (RFC 9110, section 7.8). Java's
 * client offers HTTP/2 with its first request. Node stops parsing at any offer, so the request is parsed again without it.
 */
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";

type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Headers that are left out of the repeated request; of `connection`, only `close` is kept. */
const LEFT_OUT = /^(?:connection|upgrade|http2-settings)$/i;

/**
 * Returns a listener for upgrades that passes those to WebSocket to `serve`. Call it before other listeners for connections are
 * added to `server`, since only those present are called again.
 */
export function ignoringOtherUpgrades(server: Server, serve: UpgradeListener): UpgradeListener {
  const parsers = server.listeners("connection");
  return (request, socket, head) => {
    if (/\bwebsocket\b/i.test(request.headers.upgrade ?? "")) {
      serve(request, socket, head);
      return;
    }
    socket.unshift(Buffer.concat([Buffer.from(headWithoutOffer(request), "latin1"), head]));
    for (const parse of parsers) parse.call(server, socket);
  };
}

function headWithoutOffer({ method, url, headers, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (const [at, name] of rawHeaders.entries()) {
    if (at % 2 === 0 && !LEFT_OUT.test(name)) lines.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  if (/\bclose\b/i.test(headers.connection ?? "")) lines.push("connection: close");
  return `${lines.join("\r\n")}\r\n\r\n`;
}
