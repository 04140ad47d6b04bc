/**
 * A rehearsal is right or silent. Rehearsing the active configuration gives the recorded decision of each request, and
 * rehearsing another one gives the decision of a second gateway with that configuration, unless the outcome is
 * "unknown".
 *
 * `GATEWAY_REHEARSED` sets the number of requests of each test (2,000, or a tenth of that in a short run),
 * `GATEWAY_SEED` the first seed.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import type { RehearsalResult } from "../../../src/admin-api/index.ts";
import { randomRuns } from "../../support/random-length.ts";
import { createOne, type TestNode } from "../config/support/nodes.ts";
import type { Document } from "../support/config.ts";
import type { Gateway } from "../support/gateway.ts";
import { simulated } from "../support/simulated.ts";
import { type Recorded, reply, scriptedUpstream } from "../support/upstream.ts";
import { mint, PROVIDER_KEY, say, simProvider } from "./support/governed.ts";
import {
  changed,
  KEYS,
  PROFILES,
  type RandomRequest,
  random,
  randomConfiguration,
  randomRequest,
} from "./support/random-configuration.ts";

const REQUESTS = Number(process.env["GATEWAY_REHEARSED"] ?? randomRuns(2_000));
const SEED = Number(process.env["GATEWAY_SEED"] ?? 1);
const LIMIT = { timeout: 120_000 + 600 * REQUESTS };
/** Pairs per configuration. The answer names at most fifty examples. */
const PAIRS_OF_ONE = 50;
/** Requests per configuration. Long runs send more to each, since changing it takes most of the time. */
const OF_ONE = REQUESTS > 10_000 ? 500 : 50;

const file = { after };
const simulator = await simulated(file, { requireKey: PROVIDER_KEY });
const answering =
  (result: object) =>
  (socket: Parameters<typeof reply>[0], { body }: Recorded) => {
    const { id } = JSON.parse(body.toString()) as { readonly id: unknown };
    const headers = ["content-type: application/json"];
    reply(socket, { headers, body: JSON.stringify({ jsonrpc: "2.0", id, result }) });
  };
const tools = await scriptedUpstream(file, answering({ resultType: "complete", content: [], tools: [] }));
const agent = await scriptedUpstream(file, answering({ message: { messageId: "m-2", role: "ROLE_AGENT", parts: [] } }));
const urls = { tools: tools.url, agent: agent.url };

interface Side {
  readonly node: TestNode;
  readonly gateway: Gateway;
  readonly keys: ReadonlyMap<string, string>;
}

/** Keys outlive configurations, so profiles have the same names in all of them. */
async function openSide(): Promise<Side> {
  const node = await createOne(file);
  const launched = node.start();
  const first = {
    auth: { virtual_keys: true },
    providers: [simProvider("a", simulator)],
    profiles: PROFILES.map((name) => ({ name })),
  };
  await put(node, first);
  const gateway = await launched;
  const keys = new Map<string, string>();
  for (const name of KEYS) {
    const profile = name === "free" ? {} : { profile: name };
    keys.set(name, await mint(node, name, { ...profile, metadata: { team: name === "p2" ? "red" : "blue" } }));
  }
  return { node, gateway, keys };
}

async function put(node: TestNode, document: Document): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await node.client.call("put_source", { params: { name: "default" }, body: JSON.stringify(document) });
      return;
    } catch (error) {
      if (attempt >= 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

interface Seen {
  readonly id: string;
  readonly request: RandomRequest;
  /** Code of the gateway's refusal; empty if it was forwarded. */
  readonly code: string;
  readonly provider: string;
  readonly guardrails: string;
}

const FORWARDED = /^(?:upstream_.*|)$/;

async function ask({ gateway, keys }: Side, request: RandomRequest, id: string): Promise<Seen> {
  const { path, body, headers } = request;
  const answer = await say(gateway, {
    key: keys.get(request.key),
    path,
    body,
    headers: { ...headers, "x-request-id": id },
  });
  assert.equal(answer.headers.get("x-gateway-request-id"), id);
  return {
    id,
    request,
    code: codeOf(answer.text),
    provider: answer.headers.get("x-gateway-provider") ?? "",
    guardrails: answer.headers.get("x-gateway-guardrails") ?? "",
  };
}

/** Parses a refusal in any protocol. */
function codeOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: Readonly<Record<string, unknown>> };
    const data = error?.["data"] as
      | { readonly code?: string }
      | readonly { readonly metadata?: { readonly code?: string } }[]
      | undefined;
    const code = Array.isArray(data)
      ? data[0]?.metadata?.code
      : ((data as { code?: string } | undefined)?.code ?? error?.["code"]);
    return typeof code === "string" ? code : "";
  } catch {
    return "";
  }
}

const isRefused = ({ code }: Seen): boolean => !FORWARDED.test(code);

/** Returns the changed outcome in a rehearsal's terms; "same" if there is no change. */
function difference(before: Seen, after: Seen): string {
  if (isRefused(before)) return isRefused(after) ? "same" : "served";
  if (isRefused(after)) return "refused";
  if (before.provider !== after.provider) return "other_provider";
  return sorted(before.guardrails) === sorted(after.guardrails) ? "same" : "other_guardrail";
}

const sorted = (acted: string): string => acted.split(", ").sort().join(", ");

/** Rehearses the requests since `begun`, again if a loaded machine did not judge all of them within the time limit. */
async function rehearse(node: TestNode, begun: number, document?: Document): Promise<RehearsalResult> {
  for (let attempt = 0; ; attempt++) {
    const since = `${Date.now() - begun}ms`;
    const result = await node.client.call("rehearse", {
      body: { since, ...(document !== undefined && { document: JSON.stringify(document) }) },
    });
    if (result.left === 0 || attempt === 20) return result;
  }
}

const left = await openSide();

test(`rehearsing the active configuration gives the recorded decisions (${REQUESTS} requests)`, LIMIT, async () => {
  const reasons = new Map<string, number>();
  let unknown = 0;
  let judged = 0;
  for (let round = 0; judged < REQUESTS; round++) {
    const at = random(SEED + round);
    const document = renamed(randomConfiguration(at, simulator, urls), round);
    await put(left.node, document);
    const begun = Date.now();
    const seen: Seen[] = [];
    const requests = Array.from({ length: OF_ONE }, () => randomRequest(at));
    for (const request of requests) seen.push(await ask(left, request, randomUUID()));
    const result = await rehearse(left.node, begun);
    const { examples, ...counted } = result;
    const found = examples?.map(({ id }) => seen.find((it) => it.id === id));
    const about = `seed ${SEED + round}: ${JSON.stringify(document)}\n${JSON.stringify([counted, found])}`;
    assert.deepEqual(result.changes, [], about);
    // Requests of the first moment may precede the requested time.
    assert.ok(result.requests > 0 && result.requests <= seen.length, about);
    for (const { reason, requests: count } of result.reasons) add(reasons, reason, count);
    judged += result.requests;
    unknown += result.unknown;
  }
  console.log(`in force: ${judged} requests, ${unknown} unknown, 0 different`, [...reasons]);
});

test(
  `rehearsing another configuration gives the decisions of a second gateway (${REQUESTS} pairs)`,
  LIMIT,
  async () => {
    const right = await openSide();
    const reasons = new Map<string, number>();
    let pairs = 0;
    const counts: Record<string, number> = {
      same: 0,
      refused: 0,
      served: 0,
      other_provider: 0,
      other_guardrail: 0,
      unknown: 0,
    };
    for (let round = 0; pairs < REQUESTS; round++) {
      const at = random(SEED + 1_000_000 + round);
      const document = randomConfiguration(at, simulator, urls);
      const proposed = changed(at, document, randomConfiguration(at, simulator, urls));
      // A renamed budget starts from zero.
      const [mine, theirs] = [renamed(document, -round), renamed(proposed, -round)];
      await put(left.node, mine);
      await put(right.node, theirs);
      const begun = Date.now();
      const differing = new Map<string, string>();
      const sentAt = new Map<string, number>();
      const both = new Map<string, readonly Seen[]>();
      for (let i = 0; i < PAIRS_OF_ONE; i++) {
        const request = randomRequest(at);
        const id = randomUUID();
        sentAt.set(id, Date.now());
        const before = await ask(left, request, id);
        const after = await ask(right, request, id);
        both.set(id, [before, after]);
        const found = difference(before, after);
        if (found !== "same") differing.set(id, found);
      }
      const result = await rehearse(left.node, begun, theirs);
      const { examples, ...counted } = result;
      const about = (ids: readonly string[]) =>
        `seed ${SEED + 1_000_000 + round}:\n${JSON.stringify(mine)}\n${JSON.stringify(theirs)}\n${JSON.stringify(counted)}\n${ids
          .map((id) => JSON.stringify([differing.get(id), sentAt.get(id), ...(both.get(id) ?? [])]))
          .join("\n")}`;
      for (const { id, outcome } of examples ?? []) {
        assert.equal(outcome, differing.get(id) ?? "same", about([id]));
      }
      const reportedIds = new Set(examples?.map(({ id }) => id));
      const untold = [...differing.keys()].filter(
        (id) => !reportedIds.has(id) && (sentAt.get(id) ?? 0) > Date.parse(result.since) + 2,
      );
      assert.ok(untold.length <= result.unknown, about(untold));
      for (const { reason, requests } of result.reasons) add(reasons, reason, requests);
      pairs += result.requests;
      for (const kind of Object.keys(counts))
        counts[kind] = (counts[kind] ?? 0) + Number(result[kind as keyof RehearsalResult]);
    }
    console.log(`pairs: ${pairs}, ${JSON.stringify(counts)}`, [...reasons]);
  },
);

function add(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}

function renamed(document: Document, round: number): Document {
  const name = (text: unknown): unknown => (text === undefined ? undefined : `${String(text)}-${round}`);
  const of = (key: string): readonly Document[] => (document[key] as readonly Document[] | undefined) ?? [];
  return {
    ...document,
    budgets: of("budgets").map((budget) => ({ ...budget, name: name(budget["name"]) })),
    profiles: of("profiles").map(({ budget, ...profile }) =>
      budget === undefined ? profile : { ...profile, budget: name(budget) },
    ),
  };
}
