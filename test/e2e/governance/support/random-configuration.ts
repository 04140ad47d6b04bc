/** Random configurations and requests over all traffic types, for rehearsals. The same seed gives the same ones. */
import type { Simulator } from "../../../../src/simulator/index.ts";
import type { Document } from "../../support/config.ts";
import { simProvider } from "./governed.ts";

interface Random {
  /** Integer from 0, below `limit`. */
  below(limit: number): number;
  one<Item>(items: readonly Item[]): Item;
  some<Item>(items: readonly Item[]): readonly Item[];
  chance(ratio: number): boolean;
}

/** mulberry32. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    one: (items) => items[below(items.length)] as (typeof items)[number],
    some: (items) => items.filter(() => next() < 0.5),
    chance: (ratio) => next() < ratio,
  };
}

export const PROFILES = ["p0", "p1", "p2", "p3"] as const;
/** Key names by profile; the last has none. */
export const KEYS = [...PROFILES, "free"] as const;
const MODELS = ["sim-1", "sim-2", "sim-2-preview", "alias-a", "other-1", "unrouted"] as const;

const CONDITIONS: Readonly<Record<string, readonly string[]>> = {
  llm: [
    'model.endsWith("-preview")',
    'model == "sim-2"',
    'upstream_model == "sim-1"',
    'provider == "b"',
    'key.name == "p1"',
    'key.metadata.team == "red"',
    '"tier" in provider.metadata && provider.metadata.tier == "gold"',
    'provider.metadata.tier == "gold"',
    'route == "embeddings"',
    'route.startsWith("chat") && key.name != "p0"',
  ],
  mcp: [
    'server == "tools"',
    'method == "tools/list"',
    'name == "rm"',
    'method == "tools/call" && has(args.path)',
    'name == "rm" && args.force == true',
    'key.name == "p2"',
  ],
  a2a: ['peer == "helper"', 'role == "ROLE_USER"', "size(parts) > 1", 'method == "SendMessage" && key.name == "p3"'],
};

const ROUTES = ["sim-*", "sim-1", "sim-2", "sim-2*", "other-*", "alias-*"] as const;

function rules(at: Random, prefix: string): readonly Document[] {
  return Array.from({ length: at.below(4) }, (_, index) => {
    const hop = at.one(["llm", "llm", "mcp", "a2a"]);
    return {
      name: `${prefix}${index}`,
      at: [hop],
      condition: at.one(CONDITIONS[hop] ?? []),
      action: at.one(["deny", "deny", "allow"]),
      ...(at.chance(0.3) && { on_error: "fail_open" }),
    };
  });
}

const GUARDRAIL_RULES: readonly Document[] = [
  { name: "no-cards", action: "deny", when: 'annotations.exists(a, a.type == "pii/CREDIT_CARD")' },
  { name: "mask-mails", action: "redact", select: 'a.type == "pii/EMAIL_ADDRESS"' },
  { name: "note-mails", action: "annotate", when: 'annotations.exists(a, a.type == "pii/EMAIL_ADDRESS")' },
  { name: "scores", action: "deny", when: 'annotations.exists(a, a.score > 0.99 && a.type == "pii/EMAIL_ADDRESS")' },
  { name: "key-p1", action: "deny", when: 'key.name == "p1" && size(annotations) > 0' },
];

export function randomConfiguration(at: Random, simulator: Simulator, urls: Urls): Document {
  const providers = at.some(["a", "b", "c"]).map((name): Document & { readonly name: string } => ({
    ...simProvider(name, simulator),
    name,
    models: at.some(ROUTES),
    ...(at.chance(0.4) && { model_aliases: { "alias-a": at.one(["sim-1", "sim-2"]) } }),
    ...(at.chance(0.5) && { metadata: { tier: at.one(["gold", "iron"]) } }),
  }));
  const names = providers.map(({ name }) => name);
  const listed = providers.map((provider) => {
    const to = names.filter((name) => name !== provider.name);
    return to.length > 0 && at.chance(0.3) ? { ...provider, failover: { to: [at.one(to)] } } : provider;
  });
  const budgets = at.some(["few", "many"]).map((name) => ({
    name,
    limit: name === "few" ? 3 + at.below(40) : 200 + at.below(4_000),
    window: "24h",
    ...(at.chance(0.5) && { shared: true }),
    ...(name === "few" && { cost: { type: "CEL", cel: "1" } }),
  }));
  const profiles = PROFILES.map((name) => ({
    name,
    ...(at.chance(0.3) && { allowed_models: [...new Set([at.one(MODELS), at.one(ROUTES)])] }),
    ...(at.chance(0.15) && { require_caps: [at.one(["tools", "vision", "embeddings"])] }),
    ...(budgets.length > 0 && at.chance(0.4) && { budget: at.one(budgets).name }),
    ...(at.chance(0.3) && { access_rules: rules(at, "own") }),
  }));
  const guardrails = {
    detectors: [{ type: "pii", name: "finder", prefilter: "pure", entities: ["EMAIL_ADDRESS", "CREDIT_CARD"] }],
    rules: at.some(GUARDRAIL_RULES),
  };
  return {
    auth: { virtual_keys: true },
    providers: listed,
    ...(names.length > 0 && at.chance(0.4) && { default_provider: at.one(names) }),
    mcp: at.chance(0.8) ? [{ name: "tools", url: `${urls.tools}/rpc`, cost_per_call: at.below(3) }] : [],
    a2a: at.chance(0.8) ? [{ name: "helper", url: `${urls.agent}/rpc`, cost_per_call: at.below(3) }] : [],
    access_rules: rules(at, "all"),
    budgets,
    profiles,
    ...(at.chance(0.4) && { guardrails }),
  };
}

interface Urls {
  readonly tools: string;
  readonly agent: string;
}

/** One typical change of a configuration, or a whole other one. */
export function changed(at: Random, document: Document, other: Document): Document {
  if (at.chance(0.3)) return other;
  const key = at.one(["access_rules", "profiles", "providers", "guardrails", "budgets", "default_provider"]);
  if (key !== "budgets") return valid({ ...document, [key]: other[key] });
  const budgets = (document["budgets"] as readonly Document[]).map((budget) => ({
    ...budget,
    limit: Math.max(1, Math.floor(Number(budget["limit"]) / 2)),
  }));
  return { ...document, budgets };
}

/** Drops references to missing entries. */
function valid(document: Document): Document {
  const names = (key: string): ReadonlySet<unknown> =>
    new Set(((document[key] as readonly Document[] | undefined) ?? []).map(({ name }) => name));
  const [providers, budgets] = [names("providers"), names("budgets")];
  const made: Record<string, unknown> = { ...document };
  if (made["default_provider"] !== undefined && !providers.has(made["default_provider"]))
    delete made["default_provider"];
  made["profiles"] = ((document["profiles"] as readonly Document[]) ?? []).map(({ budget, ...profile }) =>
    budgets.has(budget) ? { ...profile, budget } : profile,
  );
  made["providers"] = ((document["providers"] as readonly Document[]) ?? []).map(({ failover, ...provider }) => {
    const to = ((failover as Document | undefined)?.["to"] as readonly string[] | undefined) ?? [];
    return to.every((name) => providers.has(name)) && to.length > 0 ? { ...provider, failover } : provider;
  });
  for (const [key, value] of Object.entries(made)) if (value === undefined) delete made[key];
  return made;
}

export interface RandomRequest {
  readonly key: (typeof KEYS)[number];
  readonly path: string;
  readonly body: Document;
  readonly headers: Readonly<Record<string, string>>;
}

const TEXTS = [
  "hello there",
  "write to ann@example.com",
  "card 4111 1111 1111 1111",
  "bob@example.org and 4111111111111111",
];

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

export function randomRequest(at: Random): RandomRequest {
  const key = at.one(KEYS);
  const content = at.one(TEXTS);
  const kind = at.below(10);
  if (kind < 5) {
    const body = {
      model: at.one(MODELS),
      messages: [{ role: "user", content }],
      ...(at.chance(0.8) && { max_tokens: 16 + at.below(64) }),
      ...(at.chance(0.2) && { stream: true }),
    };
    return { key, path: "/v1/chat/completions", body, headers: {} };
  }
  if (kind === 5) return { key, path: "/v1/embeddings", body: { model: at.one(MODELS), input: content }, headers: {} };
  if (kind === 6) {
    const body = { model: at.one(MODELS), max_tokens: 16, messages: [{ role: "user", content }] };
    return { key, path: "/v1/messages", body, headers: { "anthropic-version": "2023-06-01" } };
  }
  if (kind < 9) {
    const isList = at.chance(0.3);
    const method = isList ? "tools/list" : "tools/call";
    const name = at.one(["rm", "search"]);
    const args = { ...(at.chance(0.5) && { path: "/" }), ...(at.chance(0.5) && { force: at.chance(0.5) }) };
    const params = isList ? { _meta: META } : { name, arguments: args, _meta: META };
    return {
      key,
      path: "/mcp/tools",
      body: { jsonrpc: "2.0", id: 1, method, params },
      headers: {
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...(!isList && { "mcp-name": name }),
      },
    };
  }
  const parts = Array.from({ length: 1 + at.below(2) }, () => ({ text: content }));
  const message = { messageId: "m-1", role: "ROLE_USER", parts };
  const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
  return { key, path: "/a2a/helper", body, headers: { "a2a-version": "1.0" } };
}
