/**
 * A request to the admin API, from its first byte to its answer: match, check, handle, answer. Every door and every
 * operation passes here; there is no second way in, and one place where a failure becomes an answer.
 */

import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Operation, OperationId } from "../../admin-api/index.ts";
import { PROBE_PATHS } from "../../admin-api/index.ts";
import { parseDuration } from "../../base/index.ts";
import type { WriteOptions } from "../cluster/index.ts";
import { type BodyReader, decodeText, type HeldBody, parseJson } from "./body.ts";
import { check, fromTexts, queryTexts } from "./check.ts";
import type { Call, ListId, Reply } from "./handler.ts";
import { HANDLERS } from "./handlers.ts";
import type { WatchedList } from "./lists.ts";
import type { Ports } from "./ports.ts";
import { actorOf, type Principal } from "./principal.ts";
import { errorAnswer, refusal } from "./refusal.ts";
import { type Route, route } from "./route.ts";
import { sendEmpty, sendList, sendStream, sendText } from "./send.ts";

/** Of a write: an election takes two seconds, a slow disk some more. */
const WRITE_LIMIT_MS = 15_000;
/** Of a change of members or leader, and of a restore: they wait for others to catch up. */
const LONG_WRITE_LIMIT_MS = 60_000;
const LONG_WRITES: ReadonlySet<OperationId> = new Set([
  "delete_cluster_member",
  "prune_cluster",
  "transfer_leader",
  "restore_snapshot",
]);
const BARRIER_LIMIT_MS = 10_000;
const DEFAULT_WAIT_MS = 30_000;

/** Visible ASCII without the separator of principal and key. */
const IDEMPOTENCY_KEY = /^[!-.0-~]{1,128}$/;
const REVISION = /^"?(\d{1,16})"?$/;

export interface AdminPlane {
  readonly ports: Ports;
  readonly lists: ReadonlyMap<string, WatchedList<unknown>>;
  readonly bodies: BodyReader;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal;
  readonly signal: AbortSignal;
}

type Matched = Extract<Route, { kind: "operation" }>;

/** Never rejects. */
export async function serve(
  plane: AdminPlane,
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("the caller has gone")));
  response.setHeader("x-gateway-request-id", randomUUID());
  const exchange = { request, response, principal, signal: gone.signal };
  try {
    await answer(plane, exchange);
  } catch (error) {
    fail(plane, exchange, error);
  } finally {
    // What is left of a body that nobody wanted would be taken for the next request.
    if (!request.complete && !response.destroyed) {
      if (response.writableFinished) request.destroy();
      else response.once("finish", () => request.destroy());
    }
  }
}

async function answer(plane: AdminPlane, exchange: Exchange): Promise<void> {
  const { request, response } = exchange;
  const target = request.url ?? "/";
  const end = target.indexOf("?");
  const path = end < 0 ? target : target.slice(0, end);
  const query = queryTexts(end < 0 ? "" : target.slice(end + 1));
  if (request.method === "GET" && path === PROBE_PATHS.alive) return sendText(response, 200, '{"healthy":true}\n');
  if (request.method === "GET" && path === PROBE_PATHS.ready) {
    const { ready, reasons } = plane.ports.facts.readiness();
    return sendText(response, ready ? 200 : 503, `${JSON.stringify({ ready, reasons })}\n`);
  }

  const matched = match(exchange, path);
  const { operation } = matched;
  const checkedQuery = check(operation.query, fromTexts(operation.query, query), "query");
  const params = check(operation.params, fromTexts(operation.params, matched.params), "path");
  if (operation.answer.kind === "list") {
    await noBody(plane, exchange, operation);
    return await answerList(plane, exchange, operation.answer.table, checkedQuery);
  }
  const body = await receive(plane, exchange, operation);
  try {
    const call = { ...callOf(plane, exchange, matched, body.bytes), params, query: checkedQuery, body: body.value };
    const reply = await handle(plane.ports, matched.id as Exclude<OperationId, ListId>, call);
    await send(exchange, operation, reply);
  } finally {
    body.release();
  }
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

/** The table joins an operation with its handler, whose parameters the schemas have just been checked by. */
function handle(ports: Ports, id: Exclude<OperationId, ListId>, call: object): Promise<Reply<OperationId>> {
  const handler = HANDLERS[id] as (call: Call<OperationId>, ports: Ports) => Promise<Reply<OperationId>>;
  return Promise.resolve(handler(call as Call<OperationId>, ports));
}

async function answerList(plane: AdminPlane, exchange: Exchange, table: string, query: object): Promise<void> {
  const { ports, lists } = plane;
  const { signal, response } = exchange;
  const { index, wait, consistent } = query as { index?: number; wait?: string; consistent?: boolean };
  if (wait !== undefined && index === undefined) {
    throw refusal("invalid", "The query parameter `wait` needs `index`.", {
      in: "query",
      faults: [{ field: "index", message: "is missing" }],
    });
  }
  if (consistent === true) await ports.cluster.readBarrier({ timeoutMs: BARRIER_LIMIT_MS, signal });
  const list = lists.get(table);
  if (list === undefined) throw new Error(`no list for the table ${table}`);
  const waitMs = wait === undefined ? DEFAULT_WAIT_MS : (parseDuration(wait) ?? 0);
  const read = await list.read({ index, waitMs, signal }, () => ports.clock.now());
  await sendList(response, read, {}, signal);
}

interface Received extends HeldBody {
  readonly value: unknown;
}

async function receive(plane: AdminPlane, exchange: Exchange, operation: Operation): Promise<Received> {
  const { request, signal } = exchange;
  const contentType = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  switch (operation.body.kind) {
    case "none":
      return { ...(await noBody(plane, exchange, operation)), value: undefined };
    case "stream":
      return { bytes: Buffer.alloc(0), value: request as AsyncIterable<Uint8Array>, release() {} };
    case "document": {
      const held = await plane.bodies.read(request, operation, signal);
      return parsed(held, decodeText);
    }
    case "json": {
      const { schema } = operation.body;
      const held = await plane.bodies.read(request, operation, signal);
      // A web page can send any text to an address it may reach, but not under this type without asking first.
      if (held.bytes.length > 0 && contentType !== "application/json") {
        held.release();
        throw refusal("invalid", "The body must be sent as content-type application/json.");
      }
      return parsed(held, (bytes) => check(schema, parseJson(bytes), "body"));
    }
    default:
      return operation.body satisfies never;
  }
}

function parsed(held: HeldBody, parse: (bytes: Buffer) => unknown): Received {
  try {
    return { ...held, value: parse(held.bytes) };
  } catch (error) {
    held.release();
    throw error;
  }
}

async function noBody(plane: AdminPlane, { request, signal }: Exchange, operation: Operation): Promise<HeldBody> {
  const held = await plane.bodies.read(request, operation, signal);
  if (held.bytes.length > 0 && held.bytes.toString("latin1").trim() !== "{}") {
    held.release();
    throw refusal("invalid", "This operation takes no body.");
  }
  return held;
}

function callOf(
  { ports }: AdminPlane,
  { request, principal, signal }: Exchange,
  { id, operation }: Matched,
  body: Buffer,
): { principal: Principal; signal: AbortSignal; ifMatch: number | undefined; write: WriteOptions } {
  const key = header(request, "idempotency-key");
  const match = header(request, "if-match");
  if (key !== undefined && (operation.method === "GET" || operation.body.kind === "stream")) {
    throw refusal("invalid", "This operation takes no Idempotency-Key.");
  }
  if (key !== undefined && !IDEMPOTENCY_KEY.test(key)) {
    throw refusal("invalid", "An Idempotency-Key has 1 to 128 visible ASCII characters and no slash.");
  }
  if (match !== undefined && operation.takesIfMatch !== true) {
    throw refusal("invalid", "This operation takes no If-Match.");
  }
  const by = actorOf(principal);
  return {
    principal,
    signal,
    ifMatch: match === undefined ? undefined : revisionOf(match),
    write: {
      by,
      timeoutMs: LONG_WRITES.has(id) ? LONG_WRITE_LIMIT_MS : WRITE_LIMIT_MS,
      signal,
      ...(key !== undefined && {
        idempotency: { key: `${by.iss}/${by.sub}/${key}`, digest: requestDigest(ports, request, id, body) },
      }),
    },
  };
}

function requestDigest(ports: Ports, request: IncomingMessage, id: OperationId, body: Buffer): string {
  const whole = Buffer.concat([
    Buffer.from(`${request.method} ${request.url}\n${request.headers["if-match"] ?? ""}\n`),
    body,
  ]);
  if (id === "put_secret") return ports.secrets.requestDigest(whole);
  return createHash("sha256").update(whole).digest("hex");
}

function revisionOf(match: string): number {
  const [, digits] = REVISION.exec(match) ?? [];
  const revision = Number(digits);
  if (digits === undefined || !Number.isSafeInteger(revision)) {
    throw refusal("invalid", "If-Match must be one revision, as the ETag of the source gave it.");
  }
  return revision;
}

function header(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name] ?? [];
  if (values.length > 1) throw refusal("invalid", `The header ${name} is given more than once.`);
  return values[0];
}

async function send({ response, signal }: Exchange, operation: Operation, reply: Reply<OperationId>): Promise<void> {
  const etag = reply.revision === undefined ? {} : { etag: `"${reply.revision}"` };
  const headers = { ...etag, ...reply.headers };
  switch (operation.answer.kind) {
    case "json":
      return sendText(response, operation.answer.status, `${JSON.stringify(reply.value)}\n`, headers);
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
  // Part of an answer is out: that it is not whole can only be told by breaking off.
  if (response.headersSent) return void response.destroy();
  const isUnread = !request.complete;
  sendText(response, status, body, isUnread ? { ...headers, connection: "close" } : headers);
}
