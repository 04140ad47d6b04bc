/**
 * Routes of the admin API, registered from the operations table on the socket and on the listener alike.
 *
 * The hooks of a route run in this order: `admitCaller` identifies the caller, checks the path, decides access and checks the
 * query; `readBody` asks for the body and reads it, within the limit of its operation; fastify checks it; the handler runs. So
 * a caller learns nothing before it is known, and is not asked for a body that would be refused.
 */

import { type IncomingMessage, METHODS } from "node:http";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import { BASE_PATH, OPERATIONS, type Operation, type OperationId, PROBE_PATHS } from "../../admin-api/index.ts";
import type { JsonSchema } from "../../base/index.ts";
import { permittedTables } from "./access/permitted-tables.ts";
import type { AdminPlane } from "./admin-plane.ts";
import { listPayload, type Payload, valuePayload } from "./answer-payload.ts";
import { type AuthenticatedRequest, authorize, isPermitted, recordChange, resourceOf } from "./authorize.ts";
import type { HandlerCall, HandlerPorts, HandlerReply, ListId } from "./handler-types.ts";
import { HANDLERS } from "./handlers.ts";
import type { Authenticator } from "./listeners/authenticator.ts";
import { signalOf } from "./listeners/http-server.ts";
import { NOBODY } from "./principal.ts";
import { readWriteHeaders, receiveBody } from "./read-admin-request.ts";
import { readList } from "./read-list.ts";
import { refusal } from "./refusal.ts";
import { fromTexts, queryTexts, validateInput } from "./validate-input.ts";

const JSON_TYPE = "application/json";
/** Maximum inactivity of a connection whose archive is being restored, in milliseconds: longer than a restore may take. */
const RESTORE_INACTIVITY_MS = 660_000;

/** Operations by path, in the order of the table. */
const PATHS = new Map<string, [OperationId, Operation][]>();
for (const [id, operation] of Object.entries(OPERATIONS) as [OperationId, Operation][]) {
  const known = PATHS.get(operation.path);
  if (known === undefined) PATHS.set(operation.path, [[id, operation]]);
  else known.push([id, operation]);
}

/** Result of `admitCaller`. */
interface AdmittedRequest {
  readonly params: object;
  readonly query: object;
  /** `undefined` for an operation that is open to all. */
  readonly authenticated: AuthenticatedRequest | undefined;
  /** Bytes of the body, for the digest of a write. */
  bytes: Buffer;
}

const admittedOf = (request: FastifyRequest): AdmittedRequest => request.getDecorator<AdmittedRequest>("admitted");

export function registerRoutes(app: FastifyInstance, plane: AdminPlane, authenticator: Authenticator): void {
  app.decorateRequest("admitted", null);
  app.setValidatorCompiler<JsonSchema>(({ schema }) => (value: unknown) => {
    try {
      return { value: validateInput({ json: schema }, value, "body") };
    } catch (error) {
      return { error: error as Error };
    }
  });
  app.setNotFoundHandler(() => {
    throw noSuchPath();
  });
  // Node parses more methods than fastify knows. They are added so that each path answers them with 405.
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  registerProbes(app, plane);
  for (const [path, operations] of PATHS) {
    const url = BASE_PATH + routerPath(path);
    for (const [id, operation] of operations) app.route({ url, ...routeOf(plane, authenticator, id, operation) });
    const allowed = operations.map(([, { method }]) => method);
    // The request is refused in a hook, since fastify checks the body of a method such as QUERY before the handler.
    const refuse = async (request: FastifyRequest, reply: FastifyReply): Promise<never> => {
      pathParameters(path, request);
      reply.header("allow", allowed.join(", "));
      throw refusal("method_not_allowed", `This path takes ${allowed.join(" and ")}.`);
    };
    const others = app.supportedMethods.filter((method) => !(allowed as readonly string[]).includes(method));
    app.route({ url, method: others, onRequest: refuse, handler: refuse });
  }
}

const noSuchPath = () => refusal("not_found", "There is no such path in the admin API.");

/** Registers the health probes. They need no authentication, and no `Host`, which load balancers and supervisors often omit. */
function registerProbes(app: FastifyInstance, { ports }: AdminPlane): void {
  const method = ["GET", "HEAD"];
  const send = (reply: FastifyReply, status: number, value: object): FastifyReply =>
    reply
      .code(status)
      .type(JSON_TYPE)
      .send(Buffer.from(`${JSON.stringify(value)}\n`));
  app.route({ method, url: PROBE_PATHS.alive, handler: (_, reply) => send(reply, 200, { healthy: true }) });
  app.route({
    method,
    url: PROBE_PATHS.ready,
    handler(_, reply) {
      const { ready, reasons } = ports.facts.readiness();
      return send(reply, ready ? 200 : 503, { ready, reasons });
    },
  });
}

/** Returns whether the request is a health probe, for which host and origin are not checked. Only the exact path counts. */
export function isProbe({ method, url = "" }: IncomingMessage): boolean {
  const path = url.split("?", 1)[0];
  return (method === "GET" || method === "HEAD") && (path === PROBE_PATHS.alive || path === PROBE_PATHS.ready);
}

/** Names of the parameters of a path, by segment. */
const PARAMS = /\{(\w+)\}(?::\{(\w+)\})?/g;

/**
 * Converts a path of the table to the router's syntax. Two parameters in one segment become one, because the router does not
 * recognize a separator that the client has encoded.
 */
const routerPath = (path: string): string =>
  path.replace(PARAMS, (_, first, second) => `:${parameterName(first, second)}`);

const parameterName = (first: string, second: string | undefined): string =>
  second === undefined ? first : `${first}_${second}`;

/**
 * Returns the path parameters by name. Throws `not_found` if one is empty, or if a literal segment is not spelled as in the
 * table. The router would also accept encoded segments and an address before the path, by which a client could evade a proxy's
 * rule for the path.
 */
function pathParameters(path: string, { url, params }: FastifyRequest): Readonly<Record<string, string>> {
  const written = (url.split("?", 1)[0] ?? "").split("/");
  const isOther = (BASE_PATH + path)
    .split("/")
    .some((segment, at) => !segment.includes("{") && segment !== written[at]);
  if (isOther) throw noSuchPath();
  const texts: Record<string, string> = {};
  for (const [, first = "", second] of path.matchAll(PARAMS)) {
    const text = (params as Readonly<Record<string, string>>)[parameterName(first, second)] ?? "";
    // `model:a:b` is the model `a:b`.
    const [kind = "", rest = ""] = second === undefined ? [text, text] : splitAtColon(text);
    if (kind === "" || rest === "") throw noSuchPath();
    texts[first] = kind;
    if (second !== undefined) texts[second] = rest;
  }
  return texts;
}

function splitAtColon(text: string): readonly string[] {
  const at = text.indexOf(":");
  return at < 0 ? [] : [text.slice(0, at), text.slice(at + 1)];
}

function routeOf(
  plane: AdminPlane,
  authenticator: Authenticator,
  id: OperationId,
  operation: Operation,
): Omit<RouteOptions, "url"> {
  return {
    method: operation.method,
    ...(operation.body.kind === "json" && { schema: { body: operation.body.schema.json } }),
    onRequest: (request, reply) => track(plane, admitCaller(plane, authenticator, id, operation, request, reply)),
    preValidation: (request) => readBody(plane, operation, request),
    handler: (request, reply) => track(plane, answer(plane, id, operation, request, reply)),
  };
}

/** Counts `work` as in progress until it settles, even if the caller has left: its outcome may not be recorded yet. */
function track<T>({ inProgress }: AdminPlane, work: Promise<T>): Promise<T> {
  const settled = work.then(
    () => void inProgress.delete(settled),
    () => void inProgress.delete(settled),
  );
  inProgress.add(settled);
  return work;
}

async function admitCaller(
  { access, ports }: AdminPlane,
  authenticator: Authenticator,
  id: OperationId,
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const texts = pathParameters(operation.path, request);
  // The caller is authenticated first, so that an unknown caller gets the same answer for every path of an operation.
  const principal =
    operation.isOpen === true ? undefined : await authenticator.identify(request, reply, signalOf(request));
  const params = validateInput(operation.params, fromTexts(operation.params, texts), "path");
  const authenticated = principal && {
    id,
    operation,
    principal,
    resource: resourceOf(operation, params),
    listener: authenticator.name,
    requestId: request.id,
  };
  if (authenticated !== undefined) await authorize(access, ports.audit, authenticated);
  const { text = "" } = request.query as { readonly text?: string };
  const query = validateInput(operation.query, fromTexts(operation.query, queryTexts(text)), "query");
  request.setDecorator<AdmittedRequest>("admitted", { params, query, authenticated, bytes: Buffer.alloc(0) });
}

async function readBody({ bodies }: AdminPlane, operation: Operation, request: FastifyRequest): Promise<void> {
  const signal = signalOf(request);
  // Node sets the usual limit again at the next request of the connection.
  if (operation.body.kind === "stream") request.raw.socket.setTimeout(RESTORE_INACTIVITY_MS);
  const { value, bytes, release } = await receiveBody(bodies, request.raw, operation, signal);
  if (signal.aborted) release();
  else signal.addEventListener("abort", release, { once: true });
  request.body = value;
  admittedOf(request).bytes = bytes;
}

async function answer(
  plane: AdminPlane,
  id: OperationId,
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { query, authenticated } = admittedOf(request);
  const send = (payload: Payload): FastifyReply => sendPayload(plane, request, reply, payload);
  if (operation.answer.kind === "list") {
    await plane.ports.catchUp?.();
    const { index, rows, others } = await readList(plane, operation.answer.table, query, {
      expiresAt: authenticated?.principal.expiresAt,
      signal: signalOf(request),
    });
    reply.type(JSON_TYPE).header("etag", `"${index}"`);
    return send(listPayload(rows, { index, ...others }));
  }
  const { value, revision, headers = {} } = await perform(plane, id, operation, request);
  reply.headers(headers);
  if (revision !== undefined) reply.header("etag", `"${revision}"`);
  switch (operation.answer.kind) {
    case "json":
      reply.code(operation.answer.status).type(JSON_TYPE);
      return send(valuePayload(value));
    case "empty":
      return reply.code(204).send();
    case "stream":
      return send(value as AsyncIterable<Uint8Array>);
    default:
      return operation.answer satisfies never;
  }
}

/** Runs the handler. Changes are recorded with their outcome, as are the reads for which the operations table says so. */
async function perform(
  { ports, access }: AdminPlane,
  id: OperationId,
  operation: Operation,
  request: FastifyRequest,
): Promise<HandlerReply<OperationId>> {
  const { params, query, authenticated, bytes } = admittedOf(request);
  const signal = signalOf(request);
  const principal = authenticated?.principal ?? NOBODY;
  const call = {
    ...readWriteHeaders(ports, request.raw, { id, operation }, principal, bytes, signal),
    principal,
    params,
    query,
    body: request.body,
    // The tables are computed on demand, since that takes a policy decision per table and few operations need them.
    get tables() {
      return authenticated === undefined ? [] : permittedTables(access, principal);
    },
    may: (action: OperationId) => authenticated !== undefined && isPermitted(access, authenticated, action),
    signal,
  };
  const change = (): Promise<HandlerReply<OperationId>> => handle(ports, id as Exclude<OperationId, ListId>, call);
  const isRead = operation.group === "read";
  if (authenticated === undefined || isRead) await ports.catchUp?.();
  if (authenticated === undefined || (isRead && operation.isRecorded !== true)) return await change();
  const isDryRun = isRead || ("dry_run" in query && query.dry_run === true);
  return await recordChange(ports.audit, { ...authenticated, isDryRun }, change);
}

/** Calls the handler of an operation. The type assertions are safe, because the operation's schemas have validated `call`. */
function handle(
  ports: HandlerPorts,
  id: Exclude<OperationId, ListId>,
  call: object,
): Promise<HandlerReply<OperationId>> {
  const handler = HANDLERS[id] as (
    call: HandlerCall<OperationId>,
    ports: HandlerPorts,
  ) => Promise<HandlerReply<OperationId>>;
  return Promise.resolve(handler(call as HandlerCall<OperationId>, ports));
}

function sendPayload(
  { onInternalError }: AdminPlane,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: Payload,
): FastifyReply {
  if (typeof payload === "string") return reply.send(Buffer.from(payload));
  return reply.send(
    Readable.from(
      reportFailures(payload, (error) => onInternalError(request, error)),
      { objectMode: false },
    ),
  );
}

/** Reports a failure after the first part was sent: the answer then breaks off, which alone shows that it is incomplete. */
async function* reportFailures<T>(
  parts: AsyncIterable<T> | Iterable<T>,
  onInternalError: (error: unknown) => void,
): AsyncGenerator<T> {
  let isBegun = false;
  try {
    for await (const part of parts) {
      yield part;
      isBegun = true;
    }
  } catch (error) {
    if (isBegun) onInternalError(error);
    throw error;
  }
}
