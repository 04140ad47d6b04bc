/**
 * Simulated provider: both dialects on one origin, with `node:http`.
 *
 * Answers depend only on model and question, ids on the number of the request, and faults on the model name
 * (`fault-table.ts`). All input is bounded, every wait ends with its connection, and `close` ends every connection.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { formatAddress } from "../base/index.ts";
import { answerEndpoint, createAgents, type Endpoint, findEndpoint } from "./agents/serve-agents.ts";
import { type SignatureFault, type SignatureRules, signatureFault } from "./aws-signature.ts";
import { answerControl, type Controlled, isControl } from "./control-routes.ts";
import { countOutcome, deliver } from "./deliver-answer.ts";
import { type Dialect, Refused } from "./dialect-errors.ts";
import { type Fault, parseFault } from "./fault-table.ts";
import { type Exchange, writeError, writeWhole } from "./http-exchange.ts";
import { ignoringOtherUpgrades } from "./ignore-upgrade.ts";
import { type JsonObject, objectOf, stringOf } from "./json-fields.ts";
import { fieldOf } from "./parse-form.ts";
import { createMemory } from "./provider-memory.ts";
import { createRecentRequests, type ReceivedRequest } from "./recent-requests.ts";
import { createUsageLedger } from "./reports/report-ledger.ts";
import { createReportSettings } from "./reports/report-settings.ts";
import { billOf, serveReport } from "./reports/serve-report.ts";
import { reportAt } from "./reports/usage-report.ts";
import { MAX_BODY_BYTES, parseBody, textOf } from "./request-body.ts";
import { type Counts, countModel, countRoute, createTally, readTally } from "./request-counters.ts";
import { findRoute, MODEL_PATH } from "./route-table.ts";
import { idOf, modelIn, type Route } from "./route-types.ts";
import { createStoredObjects } from "./stored/stored-objects.ts";
import { createWebSocketSessions } from "./websocket-sessions.ts";

/** Maximum size of headers. Gateways add their own, so the usual 16 KiB could be exceeded by accident. */
const MAX_HEADER_BYTES = 64 * 1024;

const HEADERS_TIMEOUT_MS = 15_000;

/** Timeout of a whole request, in milliseconds: a body of 64 MiB may arrive slowly. */
const REQUEST_TIMEOUT_MS = 300_000;

/** Idle timeout in milliseconds. It is longer than a gateway's, so that the gateway closes idle connections first. */
const KEEP_ALIVE_MS = 75_000;

/** Addresses that cannot be dialed; the URL shows the loopback address instead. */
const WILDCARDS: ReadonlySet<string> = new Set(["", "0.0.0.0", "::"]);

export interface SimulatorOptions {
  /** Host to listen on; empty for every interface. */
  readonly host: string;
  /** Port to listen on; 0 for a free one. */
  readonly port: number;
  /** Only accepted credential; if omitted, none is needed and any is accepted. */
  readonly requireKey?: string;
  /**
   * Rules for signatures, as the cloud requires them; if omitted, requests need not be signed. WebSocket sessions never
   * need to be.
   */
  readonly requireSignature?: SignatureRules;
  /** Only credential that may read the organization's usage reports; if omitted, any may. */
  readonly adminKey?: string;
  /** Called with one line per request, without credentials or text of a prompt. */
  readonly log?: (line: string) => void;
  /** Signal that closes the simulator. */
  readonly signal?: AbortSignal;
}

export interface Simulator {
  /** Base URL of the messages dialect, such as `http://127.0.0.1:8485`; compat adds `/v1`. */
  readonly url: string;
  readonly port: number;
  counts(): Counts;
  /** Ends every connection and every wait; resolves when the port is free. */
  close(): Promise<void>;
}

interface Simulation extends Controlled {
  readonly requireKey: string | undefined;
  readonly requireSignature: SignatureRules | undefined;
  readonly log: ((line: string) => void) | undefined;
  serial: number;
  url: string;
}

/** Starts the simulator. Rejects if the address cannot be listened on, or `signal` was aborted before. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { host, port, requireKey, requireSignature, adminKey, log, signal } = options;
  signal?.throwIfAborted();
  const [memory, recentRequests, stored] = [createMemory(), createRecentRequests(), createStoredObjects()];
  const simulation: Simulation = {
    tally: createTally(),
    memory,
    stored,
    recentRequests,
    ledger: createUsageLedger(),
    agents: createAgents(),
    reportSettings: createReportSettings(adminKey),
    requireKey,
    requireSignature,
    log,
    serial: 0,
    url: "",
  };
  const { tally } = simulation;
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
    },
    (request, response) => receive(simulation, request, response),
  );
  const sockets = createWebSocketSessions({
    tally,
    memory,
    nextSerial: () => nextSerial(simulation),
    requestIdOf,
    requireKey,
    keyOf,
  });
  server.on("upgrade", ignoringOtherUpgrades(server, sockets.upgrade));
  const connections = new Set<Socket>();
  server.on("connection", (socket) => {
    connections.add(socket);
    tally.openSockets += 1;
    socket.once("close", () => {
      connections.delete(socket);
      tally.openSockets -= 1;
    });
  });

  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(host === "" ? { port } : { port, host }, () => {
      server.off("error", fail);
      done();
    });
  });

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise((done) => {
      signal?.removeEventListener("abort", close);
      server.close(() => done());
      sockets.close();
      for (const socket of connections) socket.destroy();
    });
    return closing;
  };
  signal?.addEventListener("abort", close, { once: true });
  if (signal?.aborted) void close();

  const { port: boundPort } = server.address() as AddressInfo;
  simulation.url = `http://${formatAddress({ host: WILDCARDS.has(host) ? "127.0.0.1" : host, port: boundPort })}`;
  return { url: simulation.url, port: boundPort, counts: () => readTally(tally), close };
}

function nextSerial(simulation: Simulation): number {
  simulation.serial += 1;
  return simulation.serial;
}

function requestIdOf(serial: number): string {
  return idOf("req_", serial);
}

function receive(simulation: Simulation, request: IncomingMessage, response: ServerResponse): void {
  const url = request.url ?? "/";
  const queryStart = url.indexOf("?");
  const path = queryStart < 0 ? url : url.slice(0, queryStart);
  const isControlRequest = isControl(path);
  const { tally } = simulation;
  const serial = isControlRequest ? 0 : nextSerial(simulation);
  const exchange: Exchange = {
    request,
    response,
    // Requests for the counts are not counted themselves.
    tally: isControlRequest ? createTally() : tally,
    serial,
    requestId: requestIdOf(serial),
    dialect: request.headers["anthropic-version"] === undefined ? "compat" : "messages",
    rpcId: null,
    model: "",
    isDropped: false,
    tokens: undefined,
    bill: undefined,
  };
  const startedMs = simulation.log === undefined ? 0 : performance.now();
  exchange.tally.requests += 1;
  response.once("close", () => {
    countOutcome(exchange);
    simulation.log?.(logLine(exchange, path, performance.now() - startedMs));
  });

  const chunks: Buffer[] = [];
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    exchange.tally.bytesIn += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    else if (!response.headersSent) {
      chunks.length = 0;
      response.shouldKeepAlive = false;
      writeError(exchange, { status: 413, message: `The body is over ${MAX_BODY_BYTES} bytes.` });
      // The rest of the body is read and discarded, since a client that is still writing would not see the answer
      // otherwise.
    }
  });
  request.on("error", () => undefined); // The response closes too, and is counted then.
  request.on("end", () => {
    if (size > MAX_BODY_BYTES) return;
    const body = chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);
    answerRequest(simulation, exchange, path, body).catch((error: unknown) => fail(simulation, exchange, error));
  });
}

async function answerRequest(simulation: Simulation, exchange: Exchange, path: string, bytes: Buffer): Promise<void> {
  const { request } = exchange;
  const { method = "" } = request;
  if (isControl(path)) return answerControl(simulation, exchange, path, bytes);
  const report = method === "GET" ? reportAt(path) : undefined;
  if (report !== undefined) return serveReport(report, exchange, { ...simulation, key: keyOf(request) });
  const endpoint = findEndpoint(path);
  if (endpoint !== undefined) return answerAgent(simulation, exchange, endpoint, bytes);
  await answerModelRequest(simulation, exchange, path, bytes);
}

/** Answers a request to one of the model APIs. */
async function answerModelRequest(
  simulation: Simulation,
  exchange: Exchange,
  path: string,
  bytes: Buffer,
): Promise<void> {
  const { request, tally, serial, requestId } = exchange;
  const { method = "" } = request;
  const found = findRoute(method, path);
  const route = found?.route;
  if (path === "/v1/messages" || path.startsWith("/v1/messages/")) exchange.dialect = "messages";
  else if (route?.dialect !== undefined) exchange.dialect = route.dialect;
  countRoute(tally, route?.name ?? "unknown");
  checkKey(simulation, request);
  if (simulation.requireSignature !== undefined) {
    const fault = signatureFault(request, bytes, simulation.requireSignature);
    if (fault !== undefined) return refuseUnsigned(exchange, fault, simulation.requireSignature);
  }
  if (found === undefined || route === undefined) throw new Refused(404, "The simulated provider has no such route.");

  const { form, text, body } = parseBody(request, route, bytes);
  const model = modelOf(route, path, fieldOf(form, "model") ?? body["model"]);
  const dialect: Dialect = exchange.dialect === "messages" ? "messages" : "compat";
  exchange.model = model;
  countModel(tally, model);
  recordRequest(simulation, exchange, { route: route.name, dialect, model, text, body, byteCount: bytes.length });
  const fault = faultFor(simulation, model, userOf(request, body));
  exchange.bill = billOf(simulation, { dialect, route: route.name, model, key: keyOf(request) });
  await deliver(exchange, fault, () =>
    route.answer({
      dialect,
      model,
      fault,
      body,
      form,
      byteCount: bytes.length,
      headers: request.headers,
      serial,
      requestId,
      now: Math.floor(Date.now() / 1_000),
      memory: simulation.memory,
      params: found.params,
      query: new URLSearchParams((request.url ?? "").split("?")[1] ?? ""),
      stored: simulation.stored,
      routeAt: (at) => findRoute("POST", at)?.route,
      nextSerial: () => nextSerial(simulation),
    }),
  );
}

type RecordedFields = Pick<ReceivedRequest, "route" | "dialect" | "model" | "text" | "body" | "byteCount">;

/** Records the request for `GET /sim/last`. */
function recordRequest({ recentRequests }: Simulation, exchange: Exchange, fields: RecordedFields): void {
  const { request, response, serial } = exchange;
  recentRequests.add({
    ...fields,
    serial,
    method: request.method ?? "",
    url: request.url ?? "",
    rawHeaders: request.rawHeaders,
    status: () => (response.headersSent ? response.statusCode : undefined),
  });
}

/** Returns the fault that the model's name requests. A flaky model fails for a user as often as its name says. */
function faultFor({ memory }: Simulation, model: string, user: string): Fault {
  const fault = parseFault(model);
  const isFailing = fault.kind === "flaky" && memory.countFailure(`${model}\u0000${user}`, fault.failures);
  return isFailing ? { kind: "status", status: 503, retryAfterSeconds: undefined } : fault;
}

async function answerAgent(
  simulation: Simulation,
  exchange: Exchange,
  endpoint: Endpoint,
  bytes: Buffer,
): Promise<void> {
  const { request, tally } = exchange;
  exchange.dialect = "rpc";
  countRoute(tally, endpoint.route);
  // Agent cards and their public keys need no credential.
  if (endpoint.route === "mcp" || endpoint.route === "a2a") checkKey(simulation, request);
  const text = request.method === "POST" ? textOf(request, bytes) : undefined;
  const body = { text, byteCount: bytes.length, user: keyOf(request) ?? "" };
  await answerEndpoint(simulation, exchange, endpoint, body);
}

function checkKey({ requireKey }: Simulation, request: IncomingMessage): void {
  if (requireKey === undefined || keyOf(request) === requireKey) return;
  throw new Refused(401, "The credential is missing or not the one expected.");
}

/** Refuses a request with an invalid signature. The answer has the cloud's form, in any dialect. */
function refuseUnsigned(
  exchange: Exchange,
  { type, message }: SignatureFault,
  { now = Date.now }: SignatureRules,
): void {
  exchange.response.setHeader("x-amzn-errortype", `${type}:http://internal.amazon.com/coral/com.amazon.coral.service/`);
  exchange.response.setHeader("date", new Date(now()).toUTCString());
  writeWhole(exchange, { status: 403, contentType: "application/json" }, JSON.stringify({ message }));
}

/** Answers with the error for anything thrown. */
function fail({ log }: Simulation, exchange: Exchange, error: unknown): void {
  const { response } = exchange;
  if (response.headersSent) {
    response.destroy();
  } else if (error instanceof Refused) {
    writeError(exchange, error);
  } else {
    log?.(`internal error: ${error instanceof Error ? error.stack : String(error)}`);
    writeError(exchange, { status: 500, message: "The simulated provider has a fault of its own." });
  }
}

function modelOf(route: Route, path: string, requested: unknown): string {
  const { model: modelPlace } = route;
  if (modelPlace === "none") return "";
  if (modelPlace === "path") {
    try {
      return decodeURIComponent(path.slice(MODEL_PATH.length));
    } catch {
      throw new Refused(404, "The model's name is not well encoded.");
    }
  }
  return modelIn(route, requested);
}

/** Returns the credential from any header that the SDKs of the dialects use. */
function keyOf({ headers }: IncomingMessage): string | undefined {
  const bearer = /^bearer\s+(.+)$/i.exec(headers.authorization ?? "")?.[1];
  return stringOf(headers["x-api-key"]?.toString()) ?? bearer ?? headers["api-key"]?.toString();
}

function userOf(request: IncomingMessage, body: JsonObject): string {
  const user = body["safety_identifier"] ?? body["user"] ?? objectOf(body["metadata"])?.["user_id"];
  return stringOf(user) ?? keyOf(request) ?? "";
}

/** Returns a log line. JSON quoting keeps the model name on one line. */
function logLine({ request, response, model, isDropped }: Exchange, path: string, ms: number): string {
  const outcome = isDropped ? "dropped" : response.writableFinished ? response.statusCode : "aborted";
  const named = model === "" ? "" : ` ${JSON.stringify(model.slice(0, 128))}`;
  return `${request.method} ${JSON.stringify(path.slice(0, 256)).slice(1, -1)}${named} ${outcome} ${ms.toFixed(1)}ms`;
}
