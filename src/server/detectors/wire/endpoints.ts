/**
 * Servers that detectors call, by origin. Each has one connection pool, which all detectors and reloads share and which
 * is closed when no current configuration uses it. Calls above the concurrency limit wait in a bounded queue.
 */
import { type Dispatcher, Pool } from "undici";
import { connectionErrorText, createSemaphore, type Semaphore } from "../../../base/index.ts";
import { DetectorError } from "../../core/guardrails/index.ts";
import { type EndpointMetrics, type EndpointReadings, NO_ENDPOINT_METRICS } from "./endpoint-metrics.ts";

/** Maximum number of concurrent calls to one origin, and of waiting ones. A request makes only a few. */
const MAX_IN_FLIGHT = 64;
const MAX_WAITING = 256;

const CONNECT_LIMIT_MS = 5_000;
/**
 * Maximum time without data, in milliseconds. It ends calls that nothing waits for, and is far above a detector's own
 * limit.
 */
const SILENCE_LIMIT_MS = 10 * 60_000;
const MAX_HEADER_BYTES = 64 << 10;
/**
 * Time that an unused pool is kept, in milliseconds, since a configuration that was tested is often applied right
 * after.
 */
const IDLE_MS = 10_000;

interface EndpointRequest {
  readonly method: "GET" | "POST";
  /** Path and query. */
  readonly path: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  readonly body: string | Buffer | null;
  /** Maximum size of the answer, in bytes. */
  readonly maxBytes: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData["headers"];
  /** Body; empty unless the answer is a success, since a server's error message may repeat its input. */
  readonly body: Buffer;
}

export interface Endpoint {
  /**
   * Sends a request. Resolves with any complete answer. Retries once if the connection ended before the first byte.
   * Rejects with a `DetectorError`, or with the signal's reason.
   */
  readonly send: (ask: EndpointRequest, signal: AbortSignal) => Promise<Answer>;
}

export interface Endpoints {
  /** Returns the server at an origin, `scheme://host[:port]`. */
  readonly of: (origin: string) => Endpoint;
  /** Keeps only the servers with these origins. */
  readonly keep: (origins: ReadonlySet<string>) => void;
}

interface EndpointsOptions {
  readonly idleMs?: number;
  /** Additional trusted roots in PEM; for tests. */
  readonly ca?: string;
  readonly metrics?: (readings: EndpointReadings) => EndpointMetrics;
}

/** Returns the semaphore for calls to one server. `onRefused` is called for each call that finds its queue full. */
export const createCallSlots = (onRefused: () => void = () => undefined): Semaphore =>
  createSemaphore({
    permits: MAX_IN_FLIGHT,
    maxWaiting: MAX_WAITING,
    refusal() {
      onRefused();
      return new DetectorError("overloaded", `${MAX_WAITING} calls wait for its server`);
    },
  });

export function createEndpoints(options: EndpointsOptions = {}): Endpoints {
  const { idleMs = IDLE_MS, ca } = options;
  const servers = new Map<string, { readonly server: Server; timer: NodeJS.Timeout | undefined }>();
  let keptOrigins: ReadonlySet<string> = new Set();
  const sum = (of: (server: Server) => number): number =>
    Array.from(servers.values()).reduce((all, { server }) => all + of(server), 0);
  const metrics =
    options.metrics?.({
      inFlight: () => sum(({ slots }) => slots.inUse),
      waiting: () => sum(({ slots }) => slots.waiting),
    }) ?? NO_ENDPOINT_METRICS;

  const endIfUnused = (origin: string): void => {
    const one = servers.get(origin);
    if (one === undefined) return;
    clearTimeout(one.timer);
    if (keptOrigins.has(origin)) return;
    one.timer = setTimeout(() => {
      if (keptOrigins.has(origin) || one.server.slots.inUse > 0) return;
      servers.delete(origin);
      one.server.pool.close().catch(() => undefined);
    }, idleMs).unref();
  };

  const serverAt = (origin: string): Server => {
    const known = servers.get(origin);
    if (known !== undefined) return known.server;
    const pool = new Pool(origin, {
      connect: { timeout: CONNECT_LIMIT_MS, ...(ca !== undefined && { ca }) },
      connections: MAX_IN_FLIGHT,
      pipelining: 1,
      headersTimeout: SILENCE_LIMIT_MS,
      bodyTimeout: SILENCE_LIMIT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    const server: Server = { pool, slots: createCallSlots(() => metrics.countRefused()) };
    servers.set(origin, { server, timer: undefined });
    endIfUnused(origin);
    return server;
  };

  return {
    of: (origin) => ({
      async send(ask, signal) {
        const { pool, slots } = serverAt(origin);
        await slots.acquire({ signal });
        try {
          return await sendWithRetry(pool, ask, signal, metrics);
        } finally {
          slots.release();
          if (slots.inUse === 0) endIfUnused(origin);
        }
      },
    }),
    keep(origins) {
      keptOrigins = origins;
      for (const origin of servers.keys()) endIfUnused(origin);
    },
  };
}

interface Server {
  readonly pool: Pool;
  readonly slots: Semaphore;
}

/**
 * Error codes after which a call may be repeated: the connection ended, or could not be made, for example because a
 * server closed an idle one just as it was used, or is being replaced.
 */
const MAY_REPEAT: ReadonlySet<string> = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

async function sendWithRetry(
  pool: Pool,
  ask: EndpointRequest,
  signal: AbortSignal,
  metrics: EndpointMetrics,
): Promise<Answer> {
  let answer: Dispatcher.ResponseData;
  try {
    answer = await sendRequest(pool, ask, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!MAY_REPEAT.has((error as NodeJS.ErrnoException).code ?? "")) throw unreachable(error);
    metrics.countRetry();
    try {
      answer = await sendRequest(pool, ask, signal);
    } catch (again) {
      signal.throwIfAborted();
      throw unreachable(again);
    }
  }
  const { statusCode: status, headers, body } = answer;
  body.on("error", () => undefined);
  if (status !== 200) {
    await body.dump({ limit: MAX_HEADER_BYTES, signal }).catch(() => undefined);
    signal.throwIfAborted();
    return { status, headers, body: Buffer.alloc(0) };
  }
  if ((headers["content-encoding"] ?? "identity") !== "identity") {
    body.destroy();
    throw new DetectorError("failed", "its server compresses answers although the gateway asks for uncompressed ones");
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += (chunk as Buffer).length;
      if (bytes > ask.maxBytes) {
        throw new DetectorError("failed", `its server's answer is longer than ${ask.maxBytes} bytes`);
      }
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof DetectorError ? error : unreachable(error);
  }
  return { status, headers, body: Buffer.concat(chunks, bytes) };
}

const sendRequest = (pool: Pool, { method, path, headers, body }: EndpointRequest, signal: AbortSignal) =>
  pool.request({
    method,
    path,
    headers: ["accept", "application/json", "accept-encoding", "identity", ...headers],
    body,
    signal,
  });

const unreachable = (error: unknown): DetectorError =>
  new DetectorError(
    "failed",
    `the request to its server failed: ${connectionErrorText(error) ?? "the connection failed"}`,
  );
