/** Ports of the loopback. */
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
 * to somebody's connection between here and the moment at which the caller listens, or while a node that is to have it
 * again is down.
 */
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;
/**
 * Test files run beside each other, each in a process of its own. A process takes ports by the block and holds a block by
 * listening on its first port as long as it lives, so that no other process is given a port whose listener is yet to come.
 */
const BLOCK = 100;
const BLOCKS = (LAST_PORT - FIRST_PORT) / BLOCK;

const free: number[] = [];

/** A port that nobody listens on, and that neither this process nor another one has been given. */
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

/** Undefined when somebody listens there. */
function hold(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
