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

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listenLocally(server);
  server.close();
  await once(server, "close");
  return port;
}
