/**
 * The network between nodes as TCP proxies in the test's process: nodes announce the proxies' addresses, so every
 * connection between two of them passes here and can be delayed, slowed down or broken by its dialing node. A node
 * sends its messages over connections that it dials itself, so a directed link carries the messages of that direction.
 *
 * Connections of other processes (a command line) pass.
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { dialerOf } from "./dialer.ts";

type LinkState =
  | { readonly kind: "open" }
  /** Delays every piece by this time. */
  | { readonly kind: "slow"; readonly delayMs: number }
  /** Nothing passes and nothing is closed, as with lost packets. */
  | { readonly kind: "silent" }
  /** Breaks existing and new connections. */
  | { readonly kind: "cut" };

const OPEN: LinkState = { kind: "open" };

export interface Links {
  /** Opens a proxy in front of a port of the node `to`; resolves with the proxy's port. */
  before(to: string, targetPort: number): Promise<number>;
  /** Assigns connections of this process to the node from now on. */
  setProcess(id: string, pid: number): void;
  set(from: string, to: string, state: LinkState): void;
  /** Sets both directions. */
  between(one: string, other: string, state: LinkState): void;
  /** Passes half of the next piece and breaks the connection; later pieces are complete. */
  cutMidFrame(from: string, to: string): void;
  heal(): void;
  /** Open connections from one node to another. */
  count(from: string, to: string): number;
  close(): Promise<void>;
}

/** Maximum bytes in transit in one direction; beyond it the sender waits. */
const MAX_QUEUED_BYTES = 1 << 20;

interface Connection {
  readonly from: string | undefined;
  readonly to: string;
  end(): void;
}

export function createLinks(): Links {
  const states = new Map<string, LinkState>();
  const servers: Server[] = [];
  const connections = new Set<Connection>();
  const pids = new Map<string, number>();
  const tearing = new Set<string>();
  let changed = withResolvers();

  const linkOf = (from: string, to: string): string => `${from}>${to}`;
  const stateOf = (from: string | undefined, to: string): LinkState =>
    from === undefined ? OPEN : (states.get(linkOf(from, to)) ?? OPEN);

  const wake = (): void => {
    changed.resolve();
    changed = withResolvers();
  };

  /** Resolves when a piece that arrived at this time may pass. */
  const passage = async ({ from, to }: Connection, arrivedAt: number): Promise<void> => {
    for (;;) {
      const state = stateOf(from, to);
      const leftMs = state.kind === "slow" ? arrivedAt + state.delayMs - performance.now() : 0;
      if (leftMs > 0) await pause(leftMs);
      if (state.kind !== "silent") return;
      await changed.promise;
    }
  };

  const deliver = (piece: Buffer, target: Socket, connection: Connection, isForward: boolean): Promise<void> =>
    new Promise((resolve) => {
      if (target.destroyed) {
        resolve();
        return;
      }
      const link = linkOf(String(connection.from), connection.to);
      if (isForward && piece.length > 1 && tearing.delete(link)) {
        target.write(piece.subarray(0, piece.length >> 1), () => {
          connection.end();
          resolve();
        });
        return;
      }
      target.write(piece, () => resolve());
    });

  const carry = (source: Socket, target: Socket, connection: Connection, isForward: boolean): void => {
    let last = Promise.resolve();
    let queuedBytes = 0;
    source.on("data", (piece: Buffer) => {
      const arrivedAt = performance.now();
      queuedBytes += piece.length;
      if (queuedBytes > MAX_QUEUED_BYTES) source.pause();
      last = last
        .then(() => passage(connection, arrivedAt))
        .then(() => deliver(piece, target, connection, isForward))
        .then(() => {
          queuedBytes -= piece.length;
          if (queuedBytes <= MAX_QUEUED_BYTES) source.resume();
        });
    });
    source.on("end", () => {
      last = last.then(() => passage(connection, performance.now())).then(() => void target.end());
    });
  };

  const accept = (inbound: Socket, to: string, port: number, targetPort: number): void => {
    const owner = dialerOf(inbound.remotePort ?? 0, port, pids.values());
    const from = [...pids].find(([, pid]) => pid === owner)?.[0];
    const outbound = connect({ host: "127.0.0.1", port: targetPort });
    const connection: Connection = {
      from,
      to,
      end() {
        connections.delete(connection);
        inbound.destroy();
        outbound.destroy();
      },
    };
    connections.add(connection);
    for (const socket of [inbound, outbound]) {
      socket.setNoDelay(true);
      socket.on("error", () => connection.end());
      socket.on("close", () => connection.end());
    }
    if (stateOf(from, to).kind === "cut") {
      connection.end();
      return;
    }
    carry(inbound, outbound, connection, true);
    carry(outbound, inbound, connection, false);
  };

  const links: Links = {
    async before(to, targetPort) {
      const server = createServer({ allowHalfOpen: true });
      servers.push(server);
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("listening without a port");
      server.on("connection", (socket) => accept(socket, to, address.port, targetPort));
      return address.port;
    },
    setProcess(id, pid) {
      pids.set(id, pid);
    },
    set(from, to, state) {
      states.set(linkOf(from, to), state);
      if (state.kind === "cut") {
        for (const connection of [...connections]) {
          if (connection.from === from && connection.to === to) connection.end();
        }
      }
      wake();
    },
    between(one, other, state) {
      links.set(one, other, state);
      links.set(other, one, state);
    },
    cutMidFrame(from, to) {
      tearing.add(linkOf(from, to));
    },
    heal() {
      states.clear();
      tearing.clear();
      wake();
    },
    count: (from, to) => [...connections].filter((each) => each.from === from && each.to === to).length,
    async close() {
      links.heal();
      for (const connection of [...connections]) connection.end();
      await Promise.all(
        servers.map(async (server) => {
          server.close();
          await once(server, "close");
        }),
      );
    },
  };
  return links;
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((onResolve) => {
    resolve = onResolve;
  });
  return { promise, resolve };
}
