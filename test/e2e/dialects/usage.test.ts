/**
 * Usage across dialects: the number in the client's SDK, in the metrics and in the budget is the same, streamed or not.
 * Source: design decisions, section 6 (`InputToken`); lessons P13 and P35.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Usage } from "../../../src/server/core/dialects/usage/usage.ts";
import { mint, PROVIDER_KEY, startGoverned } from "../governance/support/governed.ts";
import { idle, type Series, sumOf } from "../support/metrics.ts";
import { clientsOf } from "../support/simulated.ts";
import { eventually } from "../support/wait.ts";
import { tellByAnthropic } from "./support/anthropic.ts";
import type { RequestByClient } from "./support/cell.ts";
import { QUESTION_REQUEST } from "./support/features/question.ts";
import { tellByOpenai } from "./support/openai.ts";
import { aliases, aliasOf, surface, UPSTREAMS } from "./support/rig.ts";
import { CLIENTS, type ClientName, FORMS, type Form } from "./support/sdk-answer.ts";

const MODEL = "sim-small";
const SLOW = "sim-slow-stream-30s";
const { node, gateway } = await startGoverned(
  { after },
  {
    deployment: ({ url }) => ({
      catalog_overlays: UPSTREAMS.map((dialect) => surface({ name: dialect, dialect, url })),
      providers: UPSTREAMS.map((preset) => ({
        preset,
        api_key: PROVIDER_KEY,
        model_aliases: aliases(preset, [MODEL, SLOW]),
      })),
      budgets: [{ name: "all", cost: { type: "TotalToken" }, limit: 100_000_000, window: "week" }],
      profiles: [{ name: "metered", budget: "all" }],
    }),
  },
);

const PARAMETERS = { type: "object" as const, properties: { city: { type: "string" } } };
const { openai: chat, anthropic: message } = QUESTION_REQUEST;
let prefixes = 0;

/** Each scenario has a count of its own; a repeated request caches its prefix once. */
const SCENARIOS: Readonly<Record<string, () => RequestByClient>> = {
  text: () => QUESTION_REQUEST,
  "a tool call": () => ({
    openai: { ...chat, tools: [{ type: "function", function: { name: "get_weather", parameters: PARAMETERS } }] },
    anthropic: { ...message, tools: [{ name: "get_weather", input_schema: PARAMETERS }] },
  }),
  thinking: () => ({
    openai: { ...chat, reasoning_effort: "high" },
    anthropic: { ...message, thinking: { type: "enabled", budget_tokens: 2_000 } },
  }),
  "a cached prefix": () => {
    prefixes += 1;
    const text = `Rule ${String(prefixes).padStart(4, "0")}: ${"obey ".repeat(2_000)}`;
    return {
      openai: {
        messages: [
          { role: "system", content: [{ type: "text", text, prompt_cache_breakpoint: { mode: "explicit" } }] },
          ...chat.messages,
        ],
      },
      anthropic: { ...message, system: [{ type: "text", text, cache_control: { type: "ephemeral" } }] },
    };
  },
};

const KINDS = {
  inputTokens: "input",
  outputTokens: "output",
  cachedInputTokens: "cached_input",
  cacheCreationInputTokens: "cache_creation_input",
  reasoningTokens: "reasoning",
} as const satisfies Partial<Record<keyof Usage, string>>;

const countsIn = (series: Series, provider: string): readonly number[] =>
  Object.values(KINDS).map((kind) => sumOf(series, "gateway_tokens_total", { provider, kind }));

async function charged(key: string): Promise<number> {
  const { items } = await node.client.call("list_budgets");
  return items.filter((row) => row.key === key).reduce((sum, row) => sum + Number(row.used), 0);
}

interface UsageCase {
  readonly client: ClientName;
  readonly provider: string;
  readonly form: Form;
  readonly request: RequestByClient;
}

let callers = 0;

/** Returns the usage that the SDK reads, after asserting that metrics and charge equal it. */
async function usageOf({ client, provider, form, request }: UsageCase): Promise<Usage> {
  callers += 1;
  const name = `caller-${callers}`;
  const clients = clientsOf(gateway.url, await mint(node, name, { profile: "metered" }));
  const model = aliasOf(provider, MODEL);
  const before = countsIn(await idle(gateway), provider);
  const { usage } =
    client === "openai"
      ? await tellByOpenai(clients.openai, { form, model, params: request.openai, wantsUsage: true })
      : await tellByAnthropic(clients.anthropic, { form, model, params: request.anthropic });
  assert.ok(usage);
  const counts = countsIn(await idle(gateway), provider).map((count, at) => count - (before[at] ?? 0));
  const found = Object.keys(KINDS).map((kind) => usage[kind as keyof typeof KINDS]);
  assert.deepEqual(counts, found, "the metrics say what the client reads");
  const cost = await eventually("the charge", async () => (await charged(name)) || undefined);
  assert.equal(cost, usage.totalTokens, "the budget is charged what the client reads");
  return usage;
}

for (const client of CLIENTS) {
  for (const provider of UPSTREAMS) {
    for (const [scenario, make] of Object.entries(SCENARIOS)) {
      test(`${scenario}, by the ${client} client of a ${provider} provider: one usage, streamed or not`, async () => {
        const found: (readonly Usage[])[] = [];
        for (const form of FORMS) {
          const request = make();
          const twice = scenario === "a cached prefix" ? 2 : 1;
          const usages: Usage[] = [];
          while (usages.length < twice) usages.push(await usageOf({ client, provider, form, request }));
          found.push(usages);
        }
        const [first = []] = found;
        for (const usages of found) assert.deepEqual(usages, first);
        if (scenario === "thinking") assert.ok((first[0]?.reasoningTokens ?? 0) > 0);
        if (scenario !== "a cached prefix") return;
        const [written, read] = first;
        assert.ok(written !== undefined && read !== undefined && written.cacheCreationInputTokens > 0);
        assert.equal(read.cachedInputTokens, written.cacheCreationInputTokens);
      });
    }
  }
}

test("a compat client that does not ask for usage in its stream is charged and sees none", async () => {
  for (const provider of UPSTREAMS) {
    const name = `silent-${provider}`;
    const { openai } = clientsOf(gateway.url, await mint(node, name, { profile: "metered" }));
    const before = countsIn(await idle(gateway), provider);
    for (const form of ["raw", "helper"] as const) {
      const result = await tellByOpenai(openai, { form, model: aliasOf(provider, MODEL), params: chat });
      assert.equal(result.usage, undefined);
    }
    const [input = 0, output = 0] = countsIn(await idle(gateway), provider).map((it, at) => it - (before[at] ?? 0));
    assert.ok(input > 0 && output > 0);
    assert.equal(await eventually("the charge", async () => (await charged(name)) || undefined), input + output);
  }
});

test("a client that disconnects during a translated stream is charged", async () => {
  const charge = (name: string) => eventually("the charge", async () => (await charged(name)) || undefined);
  const openai = clientsOf(gateway.url, await mint(node, "leaving-openai", { profile: "metered" })).openai;
  const chunks = await openai.chat.completions.create({ ...chat, model: aliasOf("messages", SLOW), stream: true });
  for await (const _ of chunks) chunks.controller.abort();
  assert.ok((await charge("leaving-openai")) > 0);
  const { anthropic } = clientsOf(gateway.url, await mint(node, "leaving-anthropic", { profile: "metered" }));
  const params = { ...message, max_tokens: 100, model: aliasOf("compat", SLOW), stream: true as const };
  const events = await anthropic.messages.create(params);
  for await (const _ of events) events.controller.abort();
  assert.ok((await charge("leaving-anthropic")) > 0);
});
