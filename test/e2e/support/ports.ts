/** Ports of the loopback. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Listens on a free port, and says which. */
export async function listenLocally(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("listening without a port");
  return address.port;
}

/**
 * Below what Linux (32768 to 60999) and macOS (from 49152) take for outgoing connections: a port of that range may be given
 * to somebody's connection between here and the moment at which the caller listens.
 */
const FIRST_PORT = 15_000;
const LAST_PORT = 32_000;
const given = new Set<number>();

/** A port that nobody listens on, and that this process has not been given before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
