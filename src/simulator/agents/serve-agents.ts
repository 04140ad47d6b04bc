/**
 * Serves simulated MCP servers and A2A agents at `/mcp`, `/mcp/NAME`, `/a2a` and `/a2a/NAME` of the simulated provider.
 * The name selects faults (`quirks.ts`); for a healthy server, the name of a called tool or the first word of a message
 * does. Every name is a separate server for clients; the state is shared.
 */

import { type A2aState, createA2aState } from "../a2a/agent-tasks.ts";
import { type A2aCall, answerA2a } from "../a2a/answer-a2a.ts";
import { answerCard, answerKeys, type CardPlace } from "../a2a/simulated-card.ts";
import { deliver } from "../deliver-answer.ts";
import { Refused } from "../dialect-errors.ts";
import type { Fault } from "../fault-table.ts";
import type { Exchange } from "../http-exchange.ts";
import { EMPTY_OBJECT, type JsonObject, objectOf, objectsOf, parseJson, stringOf } from "../json-fields.ts";
import { answerMcp } from "../mcp/answer-mcp.ts";
import type { McpCall } from "../mcp/mcp-call.ts";
import { createMcpState, type McpState } from "../mcp/mcp-state.ts";
import type { Memory } from "../provider-memory.ts";
import type { RecentRequests } from "../recent-requests.ts";
import { countCall } from "../request-counters.ts";
import type { Answer } from "../route-types.ts";
import { deformAnswer } from "./deform-answer.ts";
import { errorAnswer, RpcError, type RpcId } from "./json-rpc-answers.ts";
import { type AgentDeviations, deviationsOf, type Protocol } from "./quirks.ts";

export interface Endpoint {
  /** Name of the route for counts and `GET /sim/last`. */
  readonly route: "mcp" | "a2a" | "a2a_card" | "a2a_keys";
  readonly protocol: Protocol;
  /** Name of the server or agent; empty for the one without a name. */
  readonly name: string;
}

export interface Agents {
  readonly mcp: McpState;
  readonly a2a: A2aState;
}

interface AgentStates {
  readonly agents: Agents;
  readonly memory: Memory;
  readonly recentRequests: RecentRequests;
  /** Base URL, such as `http://127.0.0.1:8485`. */
  readonly url: string;
}

const MAX_NAME = 80;

export function createAgents(): Agents {
  return { mcp: createMcpState(), a2a: createA2aState() };
}

export function findEndpoint(path: string): Endpoint | undefined {
  if (path === "/.well-known/agent-card.json") return { route: "a2a_card", protocol: "a2a", name: "" };
  const [, protocol, encodedName = "", rest = ""] =
    /^\/(mcp|a2a)(?:\/(?!\.well-known\/|jwks\.json$)([^/]+))?(\/.*)?$/.exec(path) ?? [];
  if (protocol !== "mcp" && protocol !== "a2a") return undefined;
  const name = decodeName(encodedName);
  if (name === undefined) return undefined;
  if (rest === "" || rest === "/") return { route: protocol, protocol, name };
  if (protocol === "a2a" && rest === "/.well-known/agent-card.json") return { route: "a2a_card", protocol, name };
  return protocol === "a2a" && rest === "/jwks.json" ? { route: "a2a_keys", protocol, name } : undefined;
}

/**
 * Answers a request. `text` is the body, `undefined` if it is not text. `user` identifies the caller, by which temporary faults
 * are counted.
 */
export async function answerEndpoint(
  states: AgentStates,
  exchange: Exchange,
  endpoint: Endpoint,
  { text, byteCount, user }: { readonly text: string | undefined; readonly byteCount: number; readonly user: string },
): Promise<void> {
  const { request, response, serial } = exchange;
  const { protocol, name, route } = endpoint;
  const body = bodyOf(text);
  const id = body["id"];
  exchange.rpcId = typeof id === "string" || typeof id === "number" ? id : null;
  const call = callOf(protocol, body);
  exchange.model = call;
  countCall(exchange.tally, call);
  states.recentRequests.add({
    serial,
    method: request.method ?? "",
    url: request.url ?? "",
    route,
    dialect: exchange.dialect,
    model: name,
    rawHeaders: request.rawHeaders,
    text,
    body,
    byteCount,
    status: () => (response.headersSent ? response.statusCode : undefined),
  });
  const named = deviationsOf(protocol, name);
  if (named === undefined) throw new Refused(404, `No fault is called '${name.slice(0, MAX_NAME)}'; GET / lists them.`);
  const deviations = named.fault.kind === "none" && named.quirks.size === 0 ? deviationsIn(protocol, body) : named;
  await deliver(exchange, faultOf(deviations.fault, states.memory, `${protocol}/${name}\u0000${user}`), async () =>
    deformAnswer(await answerOf(states, exchange, endpoint, { text, deviations }), deviations.quirks),
  );
}

async function answerOf(
  { agents, url }: AgentStates,
  { request, response, serial, rpcId }: Exchange,
  { route, name }: Endpoint,
  { text, deviations }: { readonly text: string | undefined; readonly deviations: AgentDeviations },
): Promise<Answer> {
  const place: CardPlace = { origin: url, path: name === "" ? "/a2a" : `/a2a/${encodeURIComponent(name)}` };
  const sharedFields = { headers: request.headers, text, deviations, response, serial };
  try {
    if (route === "a2a_card" || route === "a2a_keys") {
      if (request.method !== "GET") throw notAllowed("GET");
      return route === "a2a_card" ? answerCard(place, deviations.quirks) : answerKeys();
    }
    if (request.method !== "POST") throw notAllowed("POST");
    if (deviations.quirks.has("leak")) throw leakingError(request.headers.authorization, url);
    const mcp: McpCall = { ...sharedFields, state: agents.mcp };
    const a2a: A2aCall = { ...sharedFields, state: agents.a2a, place };
    return await (route === "mcp" ? answerMcp(mcp) : answerA2a(a2a));
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return errorAnswer((deviations.quirks.has("other-id") ? "another" : rpcId) as RpcId, error);
  }
}

const notAllowed = (allow: string): RpcError =>
  new RpcError(-32_000, "Method not allowed.", { status: 405, headers: ["allow", allow], id: null });

/** Returns an error that quotes data of the request, as some servers do. */
const leakingError = (credential: string | undefined, url: string): RpcError =>
  new RpcError(-32_603, `${url} refuses ${credential ?? "a request without a credential"}.`, {
    status: 500,
    data: { authorization: credential ?? null },
  });

function faultOf(fault: Fault, memory: Memory, key: string): Fault {
  if (fault.kind !== "flaky") return fault;
  return memory.countFailure(key, fault.failures)
    ? { kind: "status", status: 503, retryAfterSeconds: undefined }
    : { kind: "none" };
}

/**
 * Returns the fault that the name of the tool, or the first word of the message, selects. Unknown names are not faults
 * here.
 */
function deviationsIn(protocol: Protocol, { params }: JsonObject): AgentDeviations {
  const facts = objectOf(params) ?? EMPTY_OBJECT;
  const [part] = objectsOf(objectOf(facts["message"])?.["parts"]);
  const firstWord =
    stringOf(protocol === "mcp" ? facts["name"] : part?.["text"])
      ?.trim()
      .split(/\s/, 1)[0] ?? "";
  return deviationsOf(protocol, firstWord) ?? { fault: { kind: "none" }, quirks: new Set() };
}

/** Returns the call, such as `tools/call search` or `SendMessage`; empty if nothing is called. */
function callOf(protocol: Protocol, { method, params }: JsonObject): string {
  if (typeof method !== "string") return "";
  const name = protocol === "mcp" ? stringOf(objectOf(params)?.["name"]) : undefined;
  return name === undefined ? method : `${method} ${name}`;
}

function bodyOf(text: string | undefined): JsonObject {
  try {
    return objectOf(parseJson(text ?? "")) ?? EMPTY_OBJECT;
  } catch {
    return EMPTY_OBJECT;
  }
}

function decodeName(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
