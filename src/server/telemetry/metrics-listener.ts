/**
 * The metrics listener: plain HTTP, no authentication, `/metrics`, `/healthz` and `/readyz`.
 *
 * Source: specification document 1 (`-metrics-listen`) and design decisions, section 3. It takes no body and keeps few
 * connections, so that a client can cost the gateway little. `readyz` answers 503 with its reasons while the
 * node cannot serve; `healthz` says only that the process answers.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { type Address, formatAddress, type Instruments, type Log, nullLog, parseAddress } from "../../base/index.ts";
import { exposeInstruments } from "./exposition.ts";
import { type BuildInfo, observeProcess, type ProcessMetrics } from "./process-metrics.ts";

export interface Readiness {
  readonly ready: boolean;
  /** Why not, for an operator; empty when ready. */
  readonly reasons: readonly string[];
}

export interface MetricsOptions {
  /** `host:port` or `:port`; port 0 takes a free one. */
  readonly address: string;
  readonly instruments: Instruments;
  /** Brings what other processes count up to date; a scrape waits for it. Never rejects. */
  readonly refresh?: (() => Promise<void>) | undefined;
  readonly buildInfo: BuildInfo;
  /** Observed already, and not this listener's to close; without it the process is observed as long as it listens. */
  readonly processMetrics?: ProcessMetrics;
  /** Called at each `/readyz`; must be cheap. */
  readonly readiness: () => Readiness;
  readonly log?: Log;
  /** Aborting it closes the listener. */
  readonly signal?: AbortSignal;
}

export interface MetricsListener {
  /** Address as bound, with the actual port. */
  readonly address: string;
  readonly port: number;
  /** Waits for answers under way, at most a second, then cuts them off. */
  close(): Promise<void>;
}

/** Scrapers, probes and consoles of one node are a handful. */
const MAX_CONNECTIONS = 64;
const MAX_HEADER_BYTES = 8_192;
const REQUEST_TIMEOUT_MS = 5_000;
/** Longer than the usual scrape interval of 15 s, so that a scraper keeps its connection. */
const KEEP_ALIVE_MS = 35_000;
/** A connection without activity is closed, because a reader that stalled holds a whole scrape in memory. */
const INACTIVITY_MS = 40_000;
const CLOSE_LIMIT_MS = 1_000;

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Rejects when `address` is malformed or cannot be bound; the message names it. */
export async function startMetrics(options: MetricsOptions): Promise<MetricsListener> {
  const { address: text, instruments, buildInfo, readiness, log = nullLog, signal } = options;
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`metrics: ${JSON.stringify(text)} is not host:port or :port`);
  signal?.throwIfAborted();

  const { processMetrics } = options;
  const observed =
    processMetrics === undefined
      ? observeProcess(instruments, buildInfo)
      : { ...processMetrics, close: () => undefined };
  let server: Server;
  try {
    const registry = new Registry();
    const exposition = exposeInstruments(registry, instruments);
    server = createMetricsServer(async (path) => {
      if (path === "/healthz") return json(200, { healthy: true });
      if (path === "/readyz") {
        const { ready, reasons } = readiness();
        return json(ready ? 200 : 503, { ready, reasons });
      }
      if (path !== "/metrics") return plain(404, "not found; there are /metrics, /healthz and /readyz");
      await options.refresh?.();
      observed.sample();
      exposition.sync();
      return { status: 200, contentType: registry.contentType, body: await registry.metrics() };
    }, log);
    await listen(server, address, text);
    // For example, no descriptor is left to accept with. The listener stays open and answers again when there is one.
    server.on("error", (error) => log.warn("metrics listener failed to accept", { error }));
  } catch (error) {
    observed.close();
    throw error;
  }

  let closing: Promise<void> | undefined;
  function close(): Promise<void> {
    closing ??= closeServer(server).finally(() => {
      signal?.removeEventListener("abort", onAbort);
      observed.close();
    });
    return closing;
  }
  function onAbort(): void {
    void close();
  }
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) {
    await close();
    signal.throwIfAborted();
  }
  const bound = boundAddress(server);
  return { address: formatAddress(bound), port: bound.port, close };
}

function createMetricsServer(answer: (path: string) => Promise<Answer>, log: Log): Server {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: REQUEST_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      const refusal = refuse(request);
      if (refusal !== undefined) return send(response, refusal);
      const path = (request.url ?? "").split("?", 1)[0] ?? "";
      answer(path).then(
        (given) => send(response, given),
        (error: unknown) => {
          log.error("metrics listener failed to answer", { path, error });
          send(response, plain(500, "failed; the cause is in the log"));
        },
      );
    },
  );
  // No body is taken, so that none is asked for.
  server.on("checkContinue", (request, response) => server.emit("request", request, response));
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(INACTIVITY_MS);
  return server;
}

function refuse({ method, headers }: IncomingMessage): Answer | undefined {
  const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  // The body is not read, so the connection cannot be used again.
  const close: Readonly<Record<string, string>> = hasBody ? { connection: "close" } : {};
  if (method !== "GET" && method !== "HEAD") {
    return { ...plain(405, "GET or HEAD"), headers: { allow: "GET, HEAD", ...close } };
  }
  return hasBody ? { ...plain(413, "no body is taken here"), headers: close } : undefined;
}

function json(status: number, body: Readonly<Record<string, unknown>>): Answer {
  return { status, contentType: "application/json", body: `${JSON.stringify(body)}\n` };
}

function plain(status: number, text: string): Answer {
  return { status, contentType: "text/plain; charset=utf-8", body: `${text}\n` };
}

function send(response: ServerResponse, { status, contentType, body, headers }: Answer): void {
  response.writeHead(status, {
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...headers,
  });
  response.end(body); // Node leaves the body out when the request was HEAD
}

async function listen(server: Server, { host, port }: Address, text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) =>
      reject(new Error(`metrics: cannot listen on ${text}: ${cause.message}`, { cause })),
    );
    server.listen({ ...(host === undefined ? {} : { host }), port }, resolve);
  });
}

function boundAddress(server: Server): Required<Address> {
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("metrics: the listener has no port");
  return { host: bound.address, port: bound.port };
}

async function closeServer(server: Server): Promise<void> {
  const limit = setTimeout(() => server.closeAllConnections(), CLOSE_LIMIT_MS);
  try {
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
    });
  } finally {
    clearTimeout(limit);
  }
}
