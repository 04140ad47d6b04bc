/**
 * Listens for a data plane with several processes: accepts connections here, without reading, and hands each to the worker with
 * the fewest connections. If a worker dies before it took a connection, another gets it, because no byte was read. It does not
 * use the listener of `node:cluster`, which loses connections while handing them over. Source: hot-path reference, section 3.
 */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import {
  descriptorsLeft,
  formatAddress,
  type Instruments,
  LISTEN_BACKLOG,
  type Log,
  parseAddress,
  recordBaselineDescriptors,
  stopAccepting,
} from "../../../base/index.ts";
import { refuseConnection } from "../../dataplane/index.ts";
import type { Worker } from "../supervisor/index.ts";

/**
 * Time after which a worker that has not taken its current connection counts as slow and gets no further one, in milliseconds.
 */
const SLOW_HANDOVER_MS = 100;
/**
 * Maximum number of connections that wait for a worker, and maximum time that they wait, in milliseconds. A failed worker is
 * usually replaced within a second.
 */
const MAX_WAITING = 1_024;
const MAX_WAIT_MS = 10_000;
/** Minimum interval between log lines about refused connections, in milliseconds. */
const LOG_INTERVAL_MS = 10_000;
/** Time until a worker without free descriptors is tried again, in milliseconds. */
const NO_DESCRIPTOR_PAUSE_MS = 100;

/** Why a connection is refused: `log` for the operator, `answer` for the client. */
const REFUSALS = {
  noDescriptor: {
    log: "the node process has no file descriptors left; raise `ulimit -n`",
    answer: "The gateway has no file descriptor left for this connection.",
  },
  tooMany: {
    log: `${MAX_WAITING} connections already wait for a worker process`,
    answer: "Too many connections wait for a worker process of the gateway.",
  },
  timeout: {
    log: `no worker process took them within ${MAX_WAIT_MS / 1_000} s`,
    answer: `No worker process of the gateway took this connection within ${MAX_WAIT_MS / 1_000} s.`,
  },
} as const;

export interface Acceptor {
  /** Actual address. Nothing listens there before `listen`. */
  readonly address: string;
  readonly port: number;
  /** Adds a worker, which receives connections until it exits. */
  addWorker(worker: Worker): void;
  /** Starts listening. Rejects with the system's error if the address cannot be bound. */
  listen(): Promise<void>;
  /** Stops accepting. Resolves once no connection is on its way to a worker, at the latest when `limit` aborts. */
  stop(limit: AbortSignal): Promise<void>;
  /** Closes the connections that no worker took. */
  close(): void;
}

interface Receiver {
  readonly worker: Worker;
  /** Number of the worker's connections, including those assigned to it. */
  openConnections: number;
  readonly queue: Socket[];
  /** Connection that is being handed over. */
  inHandover: Socket | undefined;
  slowTimer: NodeJS.Timeout | undefined;
  /** Timer that runs while the worker has no free descriptor and gets no connections. */
  pauseTimer: NodeJS.Timeout | undefined;
  /** Whether the worker had no free descriptor since it last took a connection. */
  wasFull: boolean;
}

/** Opens the acceptor. Rejects if `listen` is not a valid address. `isPlain` (no TLS): refused clients get a readable reason. */
export async function openAcceptor(
  listen: string,
  isPlain: boolean,
  instruments: Instruments,
  log: Log,
): Promise<Acceptor> {
  const { host, port, release } = await reserveListenAddress(listen);
  const receivers = new Set<Receiver>();
  const waiting = new Set<Socket>();
  /** Timeouts of connections that wait for a worker or are assigned to one. */
  const waitTimeouts = new Map<Socket, NodeJS.Timeout>();
  let onIdle: (() => void) | undefined;
  let refused = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  const repeatedHandovers = instruments
    .counter(
      "gateway_worker_handovers_repeated_total",
      "Connections that were handed to another worker process because one died or was slow.",
    )
    .with();

  const isIdle = (): boolean =>
    waiting.size === 0 &&
    [...receivers].every(({ inHandover, queue }) => inHandover === undefined && queue.length === 0);

  /** Returns the worker with the fewest connections, among those that are not slow or out of descriptors. */
  const chooseReceiver = (): Receiver | undefined => {
    let best: Receiver | undefined;
    for (const receiver of receivers) {
      const isSlow = receiver.inHandover !== undefined && receiver.slowTimer === undefined;
      if (
        !isSlow &&
        receiver.pauseTimer === undefined &&
        (best === undefined || receiver.openConnections < best.openConnections)
      )
        best = receiver;
    }
    return best;
  };

  const discard = (socket: Socket): void => {
    clearTimeout(waitTimeouts.get(socket));
    waitTimeouts.delete(socket);
    waiting.delete(socket);
    socket.destroy();
  };

  const refuse = (socket: Socket, reason: keyof typeof REFUSALS): void => {
    clearTimeout(waitTimeouts.get(socket));
    waitTimeouts.delete(socket);
    waiting.delete(socket);
    refused += 1;
    const at = performance.now();
    if (at - loggedAt >= LOG_INTERVAL_MS) {
      log.warn("connections are refused before a worker process takes them", {
        refused,
        reason: REFUSALS[reason].log,
      });
      loggedAt = at;
      refused = 0;
    }
    if (isPlain) refuseConnection(socket, REFUSALS[reason].answer);
    else socket.destroy();
  };

  const enqueue = (socket: Socket): void => {
    if (socket.destroyed) {
      discard(socket);
      return;
    }
    if (waiting.size >= MAX_WAITING) {
      refuse(socket, "tooMany");
      return;
    }
    waiting.add(socket);
    if (!waitTimeouts.has(socket)) waitTimeouts.set(socket, setTimeout(refuse, MAX_WAIT_MS, socket, "timeout"));
  };

  const assign = (socket: Socket): void => {
    const receiver = chooseReceiver();
    if (receiver === undefined) {
      enqueue(socket);
      return;
    }
    receiver.openConnections += 1;
    receiver.queue.push(socket);
    void handOverQueue(receiver);
  };

  const reassign = (sockets: readonly Socket[]): void => {
    repeatedHandovers.inc(sockets.length);
    for (const socket of sockets) assign(socket);
  };

  const assignWaiting = (): void => {
    const all = [...waiting];
    waiting.clear();
    for (const socket of all) assign(socket);
  };

  /** Reassigns the queue of a worker that does not take its current connection. */
  const reassignQueue = (receiver: Receiver): void => {
    receiver.slowTimer = undefined;
    receiver.worker.probeHandover();
    receiver.openConnections -= receiver.queue.length;
    reassign(receiver.queue.splice(0));
  };

  const pauseReceiver = (receiver: Receiver): void => {
    const { number, pid } = receiver.worker;
    if (!receiver.wasFull)
      log.warn("a worker process has no file descriptors left, so connections wait; raise `ulimit -n`", {
        worker: number,
        pid,
      });
    receiver.wasFull = true;
    receiver.pauseTimer = setTimeout(() => {
      receiver.pauseTimer = undefined;
      assignWaiting();
    }, NO_DESCRIPTOR_PAUSE_MS);
  };

  /** Hands over one connection at a time, so that the worker's pace determines how many it gets. */
  const handOverQueue = async (receiver: Receiver): Promise<void> => {
    if (receiver.inHandover !== undefined) return;
    for (let socket = receiver.queue.shift(); socket !== undefined; socket = receiver.queue.shift()) {
      receiver.inHandover = socket;
      receiver.slowTimer = setTimeout(reassignQueue, SLOW_HANDOVER_MS, receiver);
      const outcome = await receiver.worker.handOver(socket);
      const wasSlow = receiver.slowTimer === undefined;
      clearTimeout(receiver.slowTimer);
      receiver.slowTimer = undefined;
      receiver.inHandover = undefined;
      if (outcome !== "taken") {
        if (outcome === "lost") pauseReceiver(receiver);
        else receivers.delete(receiver);
        const others = [socket, ...receiver.queue.splice(0)];
        receiver.openConnections -= others.length;
        reassign(others);
        break;
      }
      receiver.wasFull = false;
      // This closes only this process's descriptor; the connection belongs to the worker.
      discard(socket);
      if (wasSlow) assignWaiting();
    }
    if (isIdle()) onIdle?.();
  };

  const server = createServer({ pauseOnConnect: true }, (socket) => {
    // The connection may be reset while it waits.
    socket.on("error", () => undefined);
    if (descriptorsLeft(socket) < 1) refuse(socket, "noDescriptor");
    else assign(socket);
  });
  return {
    address: formatAddress({ host, port }),
    port,
    addWorker(worker) {
      const idle = { inHandover: undefined, slowTimer: undefined, pauseTimer: undefined };
      const receiver: Receiver = { worker, openConnections: 0, queue: [], wasFull: false, ...idle };
      receivers.add(receiver);
      worker.channel.on("connections.closed", (count) => {
        receiver.openConnections -= Number(count);
      });
      void worker.ended.then(() => receivers.delete(receiver));
      assignWaiting();
    },
    async listen() {
      recordBaselineDescriptors();
      await release();
      await startListening(server, host, port);
      // Accepting fails, for example, when no descriptor is free. The listener stays open and accepts again later.
      server.on("error", (error) => log.warn("data plane failed to accept", { error }));
    },
    async stop(limit) {
      await stopAccepting(server);
      if (isIdle() || limit.aborted) return;
      await new Promise<void>((resolve) => {
        onIdle = resolve;
        limit.addEventListener("abort", () => resolve(), { once: true });
      });
    },
    close() {
      void release();
      for (const socket of [...waiting]) discard(socket);
    },
  };
}

interface ReservedAddress {
  readonly host: string;
  readonly port: number;
  /** Frees the port for the listener. */
  release(): Promise<void>;
}

/**
 * Resolves the address before clients can connect, because workers must know it first. A port that the system chooses is kept
 * until the listener opens, seconds later: otherwise the system could give it to another process.
 */
async function reserveListenAddress(listen: string): Promise<ReservedAddress> {
  const parsed = parseAddress(listen);
  if (parsed === undefined) throw new Error(`cannot listen: ${listen} is not host:port or :port`);
  const host = parsed.host === undefined ? "::" : (await lookup(parsed.host)).address;
  if (parsed.port !== 0) return { host, port: parsed.port, release: async () => undefined };
  const server = createServer((socket) => socket.destroy());
  await startListening(server, host, 0);
  server.unref();
  const { port } = server.address() as AddressInfo;
  return { host, port, release: () => new Promise((done) => void server.close(() => done())) };
}

async function startListening(server: Server, host: string, port: number): Promise<void> {
  server.listen({ port, host, backlog: LISTEN_BACKLOG });
  await once(server, "listening");
}
