/**
 * Processes a request to the admin API, from its first byte to its answer: match, check, handle, answer. Every listener and
 * every operation uses this one path, and failures become answers in one place.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Operation, OperationId } from "../../admin-api/index.ts";
import { LISTED_USAGE, PROBE_PATHS } from "../../admin-api/index.ts";
import { GatewayError, parseDuration } from "../../base/index.ts";
import { permittedTables } from "./access/tables.ts";
import type { Access } from "./access/types.ts";
import { type BodyReader, discardRest, hasWaited } from "./body.ts";
import { noBody, type Received, receive, writeAsked } from "./call.ts";
import { check, fromTexts, queryTexts } from "./check.ts";
import type { Door } from "./doors/door.ts";
import { gather, type MeasuredTable } from "./everywhere.ts";
import { type Asked, authorize, isPermitted, recorded, resourceOf } from "./govern.ts";
import type { Call, HandlerPorts, ListId, Reply } from "./handler.ts";
import { HANDLERS } from "./handlers.ts";
import { atMost, narrowed, type WatchedList } from "./lists.ts";
import { NOBODY } from "./principal.ts";
import { errorAnswer, refusal } from "./refusal.ts";
import { isProbe, type Route, route } from "./route.ts";
import { nameRequest, sendEmpty, sendList, sendStream, sendText, sendValue } from "./send.ts";

const BARRIER_LIMIT_MS = 10_000;
const DEFAULT_WAIT_MS = 30_000;
/** Time for which a token is accepted after its expiry, in milliseconds. Design decisions, section 1. */
const TOKEN_LEEWAY_MS = 60_000;

/** Default row limits of lists that may be very long. */
const LIMITS: ReadonlyMap<string, number> = new Map([["usage", LISTED_USAGE]]);

export interface AdminPlane {
  readonly ports: HandlerPorts;
  readonly access: Access;
  readonly lists: ReadonlyMap<string, WatchedList<unknown>>;
  readonly bodies: BodyReader;
  /** Requests in progress, including those whose caller has left: their outcome may not be recorded yet. */
  readonly underWay: Set<Promise<void>>;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly door: Door;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

type Matched = Extract<Route, { kind: "operation" }>;

/** Never rejects. */
export function serve(
  plane: AdminPlane,
  request: IncomingMessage,
  response: ServerResponse,
  door: Door,
): Promise<void> {
  const serving = served(plane, request, response, door).finally(() => plane.underWay.delete(serving));
  plane.underWay.add(serving);
  return serving;
}

async function served(
  plane: AdminPlane,
  request: IncomingMessage,
  response: ServerResponse,
  door: Door,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("the caller has gone")));
  const requestId = nameRequest(request, response);
  const exchange = { request, response, door, requestId, signal: gone.signal };
  try {
    await answer(plane, exchange);
  } catch (error) {
    const isKnown = !(error instanceof GatewayError && error.code === "unauthenticated");
    if (!response.headersSent) await discardRest(request, isKnown, gone.signal);
    fail(plane, exchange, error);
  } finally {
    // The rest of an unread body would be parsed as the next request.
    if (!request.complete && !response.destroyed) {
      if (response.writableFinished) endSoon(request);
      else response.once("finish", () => endSoon(request));
    }
  }
}

/**
 * Time to read the rest of an unread body, in milliseconds: closing on unread bytes resets the connection before the answer
 * arrives.
 */
const LINGER_MS = 1_000;

function endSoon(request: IncomingMessage): void {
  if (!hasWaited(request)) {
    request.destroy();
    return;
  }
  const limit = setTimeout(() => request.destroy(), LINGER_MS);
  request.once("close", () => clearTimeout(limit));
  request.resume();
}

async function answer(plane: AdminPlane, exchange: Exchange): Promise<void> {
  const { request, response, signal } = exchange;
  const target = request.url ?? "/";
  const end = target.indexOf("?");
  const path = end < 0 ? target : target.slice(0, end);
  if (isProbe(request)) {
    if (path === PROBE_PATHS.alive) return sendText(response, 200, '{"healthy":true}\n');
    const { ready, reasons } = plane.ports.facts.readiness();
    return sendText(response, ready ? 200 : 503, `${JSON.stringify({ ready, reasons })}\n`);
  }

  const matched = match(exchange, path);
  const { operation } = matched;
  const asked = await identified(plane, exchange, matched);
  const query = check(
    operation.query,
    fromTexts(operation.query, queryTexts(end < 0 ? "" : target.slice(end + 1))),
    "query",
  );
  if (operation.answer.kind === "list") {
    await noBody(plane.bodies, request, operation, signal);
    await plane.ports.caughtUp?.();
    return await answerList(plane, exchange, operation.answer.table, query, asked.asked?.principal.expiresAt);
  }
  const body = await receive(plane.bodies, request, operation, signal);
  try {
    const reply = await reached(plane, exchange, matched, asked, { query, body });
    await send(exchange, operation, reply);
  } finally {
    body.release();
  }
}

interface Identified {
  readonly params: object;
  /** `undefined` for an operation that is open to all. */
  readonly asked: Asked | undefined;
}

/** Authenticates first: to an unknown caller every path of an operation looks the same. */
async function identified(plane: AdminPlane, exchange: Exchange, matched: Matched): Promise<Identified> {
  const { request, door, requestId, signal } = exchange;
  const { id, operation } = matched;
  const principal = operation.isOpen === true ? undefined : await door.identify(request, signal);
  const params = check(operation.params, fromTexts(operation.params, matched.params), "path");
  if (principal === undefined) return { params, asked: undefined };
  const asked = { id, operation, principal, resource: resourceOf(operation, params), door: door.name, requestId };
  await authorize(plane.access, plane.ports.audit, asked);
  return { params, asked };
}

async function reached(
  plane: AdminPlane,
  { request, signal }: Exchange,
  matched: Matched,
  { params, asked }: Identified,
  { query, body }: { readonly query: object; readonly body: Received },
): Promise<Reply<OperationId>> {
  const { ports, access } = plane;
  const id = matched.id as Exclude<OperationId, ListId>;
  const principal = asked?.principal ?? NOBODY;
  const call = {
    ...writeAsked(ports, request, matched, principal, body.bytes, signal),
    principal,
    params,
    query,
    body: body.value,
    // Computed on demand, since it needs one decision per table and few operations use it.
    get tables() {
      return asked === undefined ? [] : permittedTables(access, principal);
    },
    may: (action: OperationId) => asked !== undefined && isPermitted(access, asked, action),
    signal,
  };
  const change = (): Promise<Reply<OperationId>> => handle(ports, id, call);
  if (asked === undefined || matched.operation.group === "read") {
    await ports.caughtUp?.();
    if (asked === undefined || matched.operation.isRecorded !== true) return await change();
    return await recorded(ports.audit, { ...asked, isDryRun: true }, change);
  }
  const isDryRun = "dry_run" in query && query.dry_run === true;
  return await recorded(ports.audit, { ...asked, isDryRun }, change);
}

function match({ request, response }: Exchange, path: string): Matched {
  const matched = route(request.method ?? "", path);
  switch (matched.kind) {
    case "operation":
      return matched;
    case "unknown":
      throw refusal("not_found", "There is no such path in the admin API.");
    case "undecodable":
      throw refusal("invalid", "The path is not well-formed.");
    case "method":
      response.setHeader("allow", matched.allowed.join(", "));
      throw refusal("method_not_allowed", `This path takes ${matched.allowed.join(" and ")}.`);
    default:
      return matched satisfies never;
  }
}

/** The table connects an operation with its handler, whose parameters the schemas have just validated. */
function handle(ports: HandlerPorts, id: Exclude<OperationId, ListId>, call: object): Promise<Reply<OperationId>> {
  const handler = HANDLERS[id] as (call: Call<OperationId>, ports: HandlerPorts) => Promise<Reply<OperationId>>;
  return Promise.resolve(handler(call as Call<OperationId>, ports));
}

/** `expiresAt` is the expiry of the caller's token, which also ends a wait. */
async function answerList(
  plane: AdminPlane,
  exchange: Exchange,
  table: string,
  query: object,
  expiresAt = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { ports, lists } = plane;
  const { signal, response } = exchange;
  const {
    index,
    wait,
    consistent,
    nodes,
    limit = LIMITS.get(table),
    after,
    ...columns
  } = query as {
    limit?: number;
    after?: string;
    index?: number;
    wait?: string;
    consistent?: boolean;
    nodes?: "all";
  };
  if (wait !== undefined && index === undefined) {
    throw refusal("invalid", "The query parameter `wait` needs `index`.", {
      in: "query",
      faults: [{ field: "index", message: "is missing" }],
    });
  }
  if (after !== undefined && limit === undefined) {
    throw refusal("invalid", "The query parameter `after` needs `limit`.", {
      in: "query",
      faults: [{ field: "limit", message: "is missing" }],
    });
  }
  if (consistent === true) await ports.cluster.readBarrier({ timeoutMs: BARRIER_LIMIT_MS, signal });
  const list = lists.get(table);
  if (list === undefined) throw new Error(`no list for the table ${table}`);
  const asked = wait === undefined ? DEFAULT_WAIT_MS : (parseDuration(wait) ?? 0);
  const waitMs = Math.min(asked, Math.max(0, expiresAt + TOKEN_LEEWAY_MS - ports.clock.now()));
  const page = limit === undefined ? undefined : { after, limit };
  const read = await list.read({ index, waitMs, page, signal }, () => ports.clock.now());
  const asking = narrowed(read.rows, columns);
  const own = limit === undefined ? asking : atMost(asking, limit);
  if (nodes === undefined) return await sendList(response, { index: read.index, rows: own }, {}, signal);
  const { items, ...others } = await gather(
    ports.cluster,
    { kind: "list", table: table as MeasuredTable },
    own,
    signal,
  );
  await sendList(response, { index: read.index, rows: narrowed(items, columns), others }, {}, signal);
}

async function send({ response, signal }: Exchange, operation: Operation, reply: Reply<OperationId>): Promise<void> {
  const etag = reply.revision === undefined ? {} : { etag: `"${reply.revision}"` };
  const headers = { ...etag, ...reply.headers };
  switch (operation.answer.kind) {
    case "json":
      return await sendValue(response, operation.answer.status, reply.value, headers, signal);
    case "empty":
      return sendEmpty(response, headers);
    case "stream":
      return await sendStream(response, reply.value as AsyncIterable<Uint8Array>, headers, signal);
    case "list":
      throw new Error("a list has no handler");
    default:
      operation.answer satisfies never;
  }
}

function fail({ ports }: AdminPlane, { request, response, signal }: Exchange, error: unknown): void {
  if (signal.aborted) return;
  const { status, headers, body, fault } = errorAnswer(error);
  if (fault !== undefined) {
    const path = (request.url ?? "").split("?", 1)[0];
    ports.log.error("admin request failed", { method: request.method, path, error: fault });
  }
  // Part of the answer was sent: only breaking off can show that it is incomplete.
  if (response.headersSent) return void response.destroy();
  const isUnread = !request.complete;
  sendText(response, status, body, isUnread ? { ...headers, connection: "close" } : headers);
}
