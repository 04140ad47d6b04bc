/**
 * Serves the metrics listener: plain HTTP without authentication, `/metrics`, `/healthz` and `/readyz`.
 *
 * Source: specification document 1 (`-metrics-listen`) and design decisions, section 3. It accepts no body and keeps few
 * connections, so that a client can cost the gateway little. `readyz` answers 503 with the reasons while the node cannot serve;
 * `healthz` only reports that the process answers.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { type Address, formatAddress, type Instruments, type Log, nullLog, parseAddress } from "../../base/index.ts";
import { exposeInstruments } from "./exposition.ts";
import { type BuildInfo, observeProcess, type ProcessMetrics } from "./process-metrics.ts";

export interface Readiness {
  readonly ready: boolean;
  /** Reasons why the node is not ready, for an operator; empty if it is ready. */
  readonly reasons: readonly string[];
}

export interface MetricsOptions {
  /** Listen address, `host:port` or `:port`. Port 0 selects a free port. */
  readonly address: string;
  readonly instruments: Instruments;
  /** Updates the counts of other processes. A scrape waits for it. Never rejects. */
  readonly refresh?: (() => Promise<void>) | undefined;
  readonly buildInfo: BuildInfo;
  /**
   * Metrics of the process, if they are observed already; this listener does not close them. Without them, the process is
   * observed as long as it listens.
   */
  readonly processMetrics?: ProcessMetrics;
  /** Returns the readiness. It is called at each `/readyz`, so it must be cheap. */
  readonly readiness: () => Readiness;
  readonly log?: Log;
  /** Closes the listener when it is aborted. */
  readonly signal?: AbortSignal;
}

export interface MetricsListener {
  /** Address that was bound, with the actual port. */
  readonly address: string;
  readonly port: number;
  /** Waits at most a second for pending answers, then cuts them off. */
  close(): Promise<void>;
}

/** Maximum number of connections. One node has only a few scrapers, probes and consoles. */
const MAX_CONNECTIONS = 64;
const MAX_HEADER_BYTES = 8_192;
const REQUEST_TIMEOUT_MS = 5_000;
/** Keep-alive timeout, in milliseconds. It exceeds the usual scrape interval of 15 s, so that a scraper keeps its connection. */
const KEEP_ALIVE_MS = 35_000;
/** Timeout of a connection without activity, in milliseconds. A reader that has stalled would keep a whole scrape in memory. */
const INACTIVITY_MS = 40_000;
const CLOSE_LIMIT_MS = 1_000;

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Starts the listener. Rejects if `address` is invalid or cannot be bound; the message contains the address. */
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
      if (path !== "/metrics") return plain(404, "not found; the paths are /metrics, /healthz and /readyz");
      await options.refresh?.();
      observed.sample();
      exposition.sync();
      return { status: 200, contentType: registry.contentType, body: await registry.metrics() };
    }, log);
    await listen(server, address, text);
    // Accepting fails, for example, when no descriptor is left. The listener stays open and accepts again later.
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
        (page) => send(response, page),
        (error: unknown) => {
          log.error("metrics listener failed to answer", { path, error });
          send(response, plain(500, "failed; the cause is in the log"));
        },
      );
    },
  );
  // No body is accepted, so the client is not asked to send one.
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
  return hasBody ? { ...plain(413, "a body is not accepted"), headers: close } : undefined;
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
  response.end(body); // Node omits the body in an answer to HEAD
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
