/** Gateways with authentication and the simulated provider, and requests to them. */
import assert from "node:assert/strict";
import type { Simulator, SimulatorOptions } from "../../../../src/simulator/index.ts";
import { createNodes, led, type TestNode } from "../../config/support/nodes.ts";
import type { Document } from "../../support/config.ts";
import type { Gateway } from "../../support/gateway.ts";
import { simulated } from "../../support/simulated.ts";
import type { Owner } from "../../support/wait.ts";

export const PROVIDER_KEY = "the-provider-key";

export interface Governed {
  readonly simulator: Simulator;
  readonly nodes: readonly GovernedNode[];
  /** The first node. */
  readonly node: TestNode;
  readonly gateway: Gateway;
}

export interface GovernedNode {
  readonly node: TestNode;
  readonly gateway: Gateway;
}

interface GovernedOptions {
  readonly ids?: readonly string[];
  /** Keys of the deployment document beside `auth` and the provider `sim`, which they may replace. */
  readonly deployment?: Document | ((simulator: Simulator) => Document);
  readonly auth?: Document;
  /** Settings of the provider. */
  readonly provider?: Document;
  readonly changes?: Document;
  readonly simulator?: Partial<SimulatorOptions>;
  /** Environment of the gateways. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function startGoverned(owner: Owner, options: GovernedOptions = {}): Promise<Governed> {
  const { ids = ["n1"], deployment = {}, auth = {}, provider = {}, changes = {}, env = {} } = options;
  const simulator = await simulated(owner, { requireKey: PROVIDER_KEY, ...options.simulator });
  const nodes = await createNodes(owner, {
    ids,
    changes,
    deployment: {
      auth: { virtual_keys: true, ...auth },
      providers: [{ ...simProvider("sim", simulator), ...provider }],
      ...(typeof deployment === "function" ? deployment(simulator) : deployment),
    },
  });
  const started = await Promise.all(nodes.map(async (node) => ({ node, gateway: await node.start(env) })));
  await Promise.all(nodes.map((node) => led(node)));
  const [first] = started;
  assert.ok(first);
  return { simulator, nodes: started, ...first };
}

/** The simulator as a compat provider. */
export const simProvider = (name: string, { url }: Simulator): Document => ({
  name,
  dialect: "compat",
  base_url: `${url}/v1`,
  api_key: PROVIDER_KEY,
});

/** Mints a key and returns its text. */
export async function mint(node: TestNode, name: string, facts: Document = {}): Promise<string> {
  const minted = await node.client.call("create_key", { body: { name, ...facts } });
  assert.ok(minted.key, "the text of a new key is answered");
  return minted.key;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Code of the gateway's own refusals. */
  readonly code: string | undefined;
}

interface Call {
  readonly key?: string | undefined;
  readonly path?: string;
  readonly method?: string;
  readonly body?: Document | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly limitMs?: number;
}

/** A chat completion unless `path` says otherwise. */
/** Limit for an answer; a connection being handed to a killed process is never answered. */
const LIMIT_MS = 30_000;

export async function say(gateway: Pick<Gateway, "url">, call: Call = {}): Promise<Answer> {
  const { key, path = "/v1/chat/completions", method = "POST", body = chat(), headers = {}, limitMs = LIMIT_MS } = call;
  const response = await fetch(gateway.url + path, {
    method,
    headers: {
      "content-type": "application/json",
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(method !== "GET" && method !== "HEAD" && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(limitMs),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, code: codeOf(text) };
}

export const chat = (facts: Document = {}): Document => ({
  model: "sim-1",
  max_tokens: 64,
  messages: [{ role: "user", content: "hello there" }],
  ...facts,
});

function codeOf(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly code?: string } };
    return error?.code;
  } catch {
    return undefined;
  }
}
