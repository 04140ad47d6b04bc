/**
 * Servers of a pool: one port, and a loopback address (127.0.0.0/8) each. On a system with only 127.0.0.1 such a pool
 * is impossible, and `membersAt` returns `undefined`.
 */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { freePort } from "./ports.ts";
import { atEnd, type Owner } from "./wait.ts";

interface PoolServer {
  readonly address: string;
  readonly server: Server;
  /** Number of complete requests. */
  requests: number;
  /** Acts like a dead process: connections break, and none is accepted. */
  kill(): Promise<void>;
  /** Listens on the same address again. */
  revive(): Promise<void>;
}

interface PoolServers {
  readonly port: number;
  readonly servers: readonly PoolServer[];
}

/** Called with the complete body of a request. */
type Answers = (body: string, response: ServerResponse, server: PoolServer) => void;

const byName: Answers = (_, response, { address }) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ id: "x", object: "chat.completion", by: address, choices: [] }));
};

/** `first` is the last octet of the first address. */
export async function poolServers(
  owner: Owner,
  count: number,
  { first = 2, answers = byName }: { readonly first?: number; readonly answers?: Answers } = {},
): Promise<PoolServers> {
  const port = await freePort();
  const servers = await Promise.all(
    Array.from({ length: count }, (_, at) => poolServer(owner, `127.0.0.${first + at}`, port, answers)),
  );
  return { port, servers };
}

async function poolServer(owner: Owner, address: string, port: number, answers: Answers): Promise<PoolServer> {
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.once("end", () => {
      one.requests += 1;
      answers(Buffer.concat(chunks).toString(), response, one);
    });
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
  });
  const listen = async (): Promise<void> => {
    server.listen(port, address);
    await once(server, "listening");
  };
  const one: PoolServer = {
    address,
    server,
    requests: 0,
    async kill() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.resetAndDestroy();
      await closed;
    },
    revive: listen,
  };
  await listen();
  atEnd(owner, () => (server.listening ? one.kill() : undefined));
  return one;
}
