/**
 * The measured scenarios as data. A load scenario puts the same load on the bare proxy, on nginx and on the gateway in
 * turn; its target is the ratio of CPU time per request, gateway to bare proxy.
 */

import type { RequestShape } from "./child/requests.ts";
import {
  CHAT_MODEL,
  CONFIG_ALIAS,
  CONFIG_MODEL,
  type GatewayMode,
  MESSAGES_MODEL,
  SIGNED_MODEL,
} from "./parts/configuration.ts";
import type { ForeignName } from "./parts/foreign.ts";

export interface LoadScenario {
  readonly name: string;
  readonly about: string;
  readonly mode: GatewayMode;
  readonly shape: RequestShape;
  readonly connections: number;
  /** Requests per round and contender, so that each takes half a second to two seconds. */
  readonly requests: number;
  /** Requests on a single connection, for added latency. */
  readonly latencyRequests: number;
  /** Maximum ratio of gateway to bare proxy; `undefined` is reported and not judged. */
  readonly maxRatio: number | undefined;
  /**
   * Measured in the same rounds: `many keys` is the same gateway with many keys, which the requests use in random
   * order; `governed` is our gateway with governance and without guardrails.
   */
  readonly beside?: readonly ("many keys" | "governed")[];
  /** Measured in the same rounds: other gateways, which govern less or nothing. */
  readonly foreign?: readonly ForeignName[];
  /** Measured in the same rounds: another such gateway with this model, of the client's own dialect. */
  readonly bytesModel?: string;
  /** Maximum ratio of signing to a static key. */
  readonly maxSignedRatio?: number;
  /** Maximum ratio of translating to passing bytes. */
  readonly maxTranslatedRatio?: number;
  /** Maximum ratio of gateway to Portkey's, which governs nothing; `undefined` is reported and not judged. */
  readonly maxPortkeyShare?: number;
  /** Maximum ratio of gateway to the governed one without guardrails; `undefined` is reported and not judged. */
  readonly maxGuardedRatio?: number;
}

const MAX_GOVERNED_RATIO = 1.6;
const MAX_RECORDED_RATIO = 2.3;

const unary = { connections: 32, requests: 7_500, latencyRequests: 1_000 };
const stream = { connections: 16, requests: 600, latencyRequests: 100 };
const large = { connections: 8, requests: 500, latencyRequests: 200 };

export const LOAD_SCENARIOS: readonly LoadScenario[] = [
  {
    ...unary,
    name: "unary",
    about: "1 KB chat, flag mode",
    mode: "flag",
    shape: { kind: "unary", model: "bench-model" },
    maxRatio: 1.25,
  },
  {
    ...unary,
    name: "config",
    about: "1 KB chat, config mode, 20 providers, 50 aliases, metrics",
    mode: "config",
    shape: { kind: "unary", model: CONFIG_MODEL },
    maxRatio: 1.35,
  },
  {
    ...unary,
    name: "alias",
    about: "the same with an aliased model (body rewritten)",
    mode: "config",
    shape: { kind: "unary", model: CONFIG_ALIAS },
    maxRatio: undefined,
  },
  {
    ...stream,
    name: "stream",
    about: "100 chunks, flag mode",
    mode: "flag",
    shape: { kind: "stream", model: "bench-model" },
    maxRatio: 1.3,
  },
  {
    ...large,
    name: "large-request",
    about: "1 MiB request body, flag mode",
    mode: "flag",
    shape: { kind: "large-request", model: "bench-model" },
    maxRatio: 1.2,
  },
  {
    ...large,
    name: "large-answer",
    about: "1 MiB answer, flag mode",
    mode: "flag",
    shape: { kind: "large-answer", model: "bench-model" },
    maxRatio: 1.2,
  },
  {
    ...unary,
    name: "governed",
    about: "1 KB chat, config mode, key, profile, four rules that do not match, shared budget, metrics",
    mode: "governed",
    shape: { kind: "unary", model: CONFIG_MODEL },
    maxRatio: MAX_GOVERNED_RATIO,
    beside: ["many keys"],
    foreign: ["portkey", "litellm"],
    maxPortkeyShare: 0.1,
  },
  {
    ...stream,
    name: "governed-stream",
    about: "the same with 100 chunks",
    mode: "governed",
    shape: { kind: "stream", model: CONFIG_MODEL },
    maxRatio: MAX_GOVERNED_RATIO,
    foreign: ["portkey", "litellm"],
  },
  {
    ...unary,
    name: "mcp-call",
    about: "1 KB call of a tool of an MCP server, governed, two rules of its own that do not match",
    mode: "governed",
    shape: { kind: "mcp-call", model: CONFIG_MODEL },
    maxRatio: MAX_GOVERNED_RATIO,
  },
  {
    ...unary,
    name: "recorded",
    about: "as governed, and a rule decides: each request is recorded and signed",
    mode: "recorded",
    shape: { kind: "unary", model: CONFIG_MODEL },
    maxRatio: MAX_RECORDED_RATIO,
  },
  {
    ...stream,
    name: "recorded-stream",
    about: "the same with 100 chunks",
    mode: "recorded",
    shape: { kind: "stream", model: CONFIG_MODEL },
    maxRatio: MAX_RECORDED_RATIO,
  },
  {
    ...unary,
    name: "guarded",
    about: "as governed, 1 KB of prose that is new each time, one detector and four rules that do not match",
    mode: "guarded",
    shape: { kind: "unary", model: CONFIG_MODEL, turns: 1 },
    maxRatio: undefined,
    beside: ["governed"],
    maxGuardedRatio: 1.3,
  },
  {
    ...stream,
    name: "governed-stream-guarded",
    about: "100 chunks of prose, governed, one detector that reads answers and four rules that do not match",
    mode: "guarded answers",
    shape: { kind: "stream", model: CONFIG_MODEL },
    maxRatio: undefined,
    beside: ["governed"],
    maxGuardedRatio: 1.5,
  },
  {
    ...unary,
    requests: 6_000,
    latencyRequests: 1_000,
    name: "guarded-history",
    about: "the same with 20 turns of 1 KB, of which the newest is new each time",
    mode: "guarded",
    shape: { kind: "unary", model: CONFIG_MODEL, turns: 20 },
    maxRatio: undefined,
    beside: ["governed"],
  },
  {
    ...unary,
    name: "signed",
    about: "1 KB chat, config mode, each request signed, beside the same with a static key",
    mode: "config",
    shape: { kind: "unary", model: SIGNED_MODEL },
    maxRatio: undefined,
    bytesModel: CONFIG_MODEL,
    maxSignedRatio: 1.35,
  },
  ...(["compat", "messages"] as const).flatMap((dialect) => translatedFrom(dialect)),
  ...(["messages", "chat"] as const).flatMap((form) => responsesTo(form)),
];

/** An agent's turn of 2 KB by a client of the dialect, to a provider of the other. */
function translatedFrom(dialect: "compat" | "messages"): readonly LoadScenario[] {
  const [model, bytesModel] = dialect === "compat" ? [MESSAGES_MODEL, CONFIG_MODEL] : [CONFIG_MODEL, MESSAGES_MODEL];
  return translated(
    `translated-${dialect}`,
    `2 KB with tools from a ${dialect} client to a provider of the other dialect, config mode`,
    { model, dialect, bytesModel },
  );
}

/** The same turn as a responses request, to a provider with messages or chat completions alone. */
function responsesTo(form: "messages" | "chat"): readonly LoadScenario[] {
  return translated(`responses-${form}`, `2 KB with tools for a response, to a provider that has ${form} alone`, {
    model: form === "messages" ? MESSAGES_MODEL : CHAT_MODEL,
    dialect: "responses",
    bytesModel: CONFIG_MODEL,
  });
}

function translated(
  name: string,
  about: string,
  { model, dialect, bytesModel }: Required<Pick<RequestShape, "model" | "dialect">> & { readonly bytesModel: string },
): readonly LoadScenario[] {
  const turn = { model, dialect, hasTools: true } as const;
  const common = { mode: "config", maxRatio: undefined, bytesModel } as const;
  return [
    {
      ...unary,
      ...common,
      name,
      about,
      shape: { ...turn, kind: "unary" },
      maxTranslatedRatio: 1.5,
    },
    {
      ...stream,
      ...common,
      name: `${name}-stream`,
      about: "the same with 100 chunks",
      shape: { ...turn, kind: "stream" },
      maxTranslatedRatio: 2,
    },
  ];
}

export const MANY_KEYS = 100_000;
/** Maximum ratio of many keys to one if the rounds agree better than this; otherwise less than their spread. */
export const MAX_MANY_KEYS_RATIO = 1.05;
/** Latency added by the governed gateway to the median answer, at half of its saturation rate. */
export const MAX_HALF_LOAD_ADDED_US = 150;

export const MAX_VERSION_RATIO = 2.0;
export const MAX_READY_MS = 1_000;
export const RSS_REQUESTS = 300_000;
export const RSS_SAMPLE_EVERY = 50_000;
export const MAX_RSS_MIB = 130;
/** Maximum growth over the last 200,000 requests, 52 bytes per request; a heap varies. */
export const MAX_RSS_GROWTH_MIB = 10;

/** Maximum ratio of the time that TLS adds to a request of the gateway to the time it adds to one of the bare proxy. */
export const MAX_TLS_ADDED_RATIO = 1.05;

export const OTHER_SCENARIOS = ["tls", "half-load", "workers", "key-memory", "version", "ready", "rss"] as const;
