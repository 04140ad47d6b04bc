/**
 * Ports for listeners that come and go. They lie below those that the system gives to outgoing connections: while a node
 * is down, a proxy that dials its port in vain must not be given that very port, and find itself connected to itself.
 */
import { once } from "node:events";
import { createServer } from "node:net";

const FIRST = 12_000;
const LAST = 30_000;

const taken = new Set<number>();

export async function claimPort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (taken.has(port)) continue;
    taken.add(port);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
