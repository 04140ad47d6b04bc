/** Ports of the loopback. */
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Listens on a free port and returns it. */
export async function listenLocally(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("listening without a port");
  return address.port;
}

/**
 * Below the ports that Linux (32768 to 60999) and macOS (from 49152) use for outgoing connections: a port of that range
 * may be given to a connection before the caller listens, or while a node that should get it back is down.
 */
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;
/**
 * Test files run concurrently, each in a process of its own. A process takes ports in blocks and holds a block by
 * listening on its first port as long as it lives, so that no other process gets a port before its listener opens.
 */
const BLOCK = 100;
const BLOCKS = (LAST_PORT - FIRST_PORT) / BLOCK;

const free: number[] = [];

/** Returns a port without a listener that neither this process nor another one has been given. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = free.shift();
    if (port === undefined) {
      await takeBlock();
      continue;
    }
    const probe = await hold(port);
    if (probe === undefined) continue;
    probe.close();
    await once(probe, "close");
    return port;
  }
}

async function takeBlock(): Promise<void> {
  const start = process.pid % BLOCKS;
  for (let at = 0; at < BLOCKS; at += 1) {
    const first = FIRST_PORT + ((start + at) % BLOCKS) * BLOCK;
    const holder = await hold(first);
    if (holder === undefined) continue;
    holder.unref();
    for (let port = first + 1; port < first + BLOCK; port += 1) free.push(port);
    return;
  }
  throw new Error(`all ${BLOCKS} blocks of test ports are held`);
}

/** Returns `undefined` if the port is in use. */
function hold(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
