/**
 * The life of a request, top to bottom: read, address, admit, forward. Every route passes here; there is no second way
 * in. A stage throws a refusal; the one catch turns it into an answer.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { GatewayError } from "../../base/index.ts";
import { findRoute, type RouteDialect } from "../core/dialects/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import { type Candidate, forward } from "../upstream/index.ts";
import { address, type Place, type Target } from "./address.ts";
import { type Admitted, admit } from "./admit.ts";
import { rewriting } from "./answer.ts";
import { type HeldBody, readBody } from "./body.ts";
import { decode } from "./decode.ts";
import { Exchange } from "./exchange.ts";
import { advertise } from "./models-list.ts";
import type { Ports } from "./ports.ts";
import { prepare } from "./prepare.ts";
import type { ProviderStatistics } from "./statistics.ts";

export async function serve(request: IncomingMessage, response: ServerResponse, ports: Ports): Promise<void> {
  const exchange = new Exchange(request, response, ports);
  let isAdmitted = false;
  let body: HeldBody | undefined;
  try {
    const snapshot = ports.snapshot(); // one configuration for the whole request
    const place = locate(request.method ?? "GET", request); // 404, before a byte of the body is read
    exchange.dialect = place.dialect;
    exchange.labels = ports.metrics.labels(place.route.name);
    ports.admission.enter(); // 503
    isAdmitted = true;
    body = await readBody(request, snapshot.maxBodyBytes, ports.admission); // 413, 503
    exchange.bodyRead();
    const { "content-encoding": encoding, "content-type": contentType = "" } = request.headers;
    const isPlain = encoding === undefined || encoding === "identity" || place.route.model === "none";
    const plain = isPlain ? body.bytes : await decode(body.bytes, encoding, snapshot.maxBodyBytes); // 400, 413
    const target = address(snapshot, place, { contentType, original: body.bytes, plain }); // 400, 404
    exchange.labels = ports.metrics.labels(place.route.name, target.provider.name, target.label);
    const admitted = admit(snapshot, target); // 400 fidelity
    let measured: ProviderStatistics | undefined;
    await forward({
      candidates: admitted.map((candidate) => candidateFor(candidate, exchange, target, snapshot)),
      deadlineMs: deadlineOf(request),
      origins: ports.origins,
      downstream: exchange,
      attempting: (provider, isRetry) => {
        const { labels } = exchange;
        measured = ports.statistics?.of(provider.name);
        measured?.begun(isRetry);
        if (isRetry) ports.metrics.retried(provider.name);
        else if (labels.provider !== provider.name) {
          ports.metrics.failedOver(labels.provider, provider.name);
          ports.statistics?.of(labels.provider)?.leftForAnother();
          measured?.cameFromAnother();
          exchange.labels = ports.metrics.labels(labels.route, provider.name, labels.model);
        }
        exchange.attempts++;
      },
      answered: (ms) => measured?.answered(ms),
      attempted: (provider, { result, status, next }) => {
        ports.metrics.attempted(provider.name, result);
        if (result !== "answered" && result !== "abandoned") {
          measured?.failed({ kind: result, status, attempt: exchange.attempts, movedTo: next?.name ?? null });
        }
        measured?.ended();
      },
      waited: (ms) => exchange.waited(ms),
      tracer: exchange.span,
    }); // 502, 504
  } catch (error) {
    exchange.refuse(error);
  } finally {
    body?.release();
    if (isAdmitted) ports.admission.leave();
  }
}

/** `.` or `..` between slashes, however they are written; some servers take the encoded ones for their plain selves. */
const DOT_SEGMENT = /(^|\/|%2f|%5c)(\.|%2e){1,2}(\/|%2f|%5c|;|$)/i;

/** The route of a request; throws `invalid_request` or `not_found`. `method` is `UPGRADE` for a WebSocket handshake. */
export function locate(method: string, request: IncomingMessage): Place {
  const url = request.url ?? "/";
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  // An absolute-form target names a host, and dot segments or a backslash may name another path: neither is the client's to choose.
  if (!path.startsWith("/") || path.includes("\\") || DOT_SEGMENT.test(path)) {
    throw new GatewayError("invalid_request", "The request target must be a plain absolute path.");
  }
  if (!namesOneHost(request)) throw new GatewayError("invalid_request", "The request must have one Host header.");
  const route = findRoute(method, path);
  if (route === undefined) {
    throw new GatewayError("not_found", `No route for ${request.method} of this path. Model routes begin with /v1/.`);
  }
  const either: RouteDialect = request.headers["anthropic-version"] === undefined ? "compat" : "messages";
  return {
    route,
    dialect: route.dialect === "either" ? either : route.dialect,
    path,
    query: mark < 0 ? "" : url.slice(mark),
  };
}

/** RFC 9112 section 3.2: none is an error from HTTP/1.1 on, and two always are. */
function namesOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === "1.0");
}

function candidateFor(admitted: Admitted, exchange: Exchange, target: Target, snapshot: Snapshot): Candidate {
  return {
    provider: admitted.provider,
    channel: admitted.channel,
    prepare() {
      const { method = "GET", rawHeaders, headers } = exchange.request;
      const isList = target.route.name === "models" && snapshot.aliases.length > 0;
      const prepared = prepare({ method, rawHeaders, connection: headers.connection }, target, admitted, isList);
      const edits = prepared.answerEdits;
      const extend = isList ? (body: Buffer) => advertise(body, target.dialect, snapshot.aliases) : undefined;
      const rewrites = edits !== undefined || extend !== undefined;
      return { request: prepared.request, downstream: rewrites ? rewriting(exchange, { edits, extend }) : exchange };
    },
  };
}

/** The official SDKs send how long they will wait, in seconds. */
function deadlineOf(request: IncomingMessage): number {
  const seconds = Number(request.headers["x-stainless-timeout"]);
  return seconds > 0 ? seconds * 1_000 : Number.POSITIVE_INFINITY;
}
