/** A governed gateway with providers of either dialect whose answers a test scripts, and those answers. */
import { type Answer, chat, mint, say, startGoverned } from "../../governance/support/governed.ts";
import { readMetrics, sumOf } from "../../support/metrics.ts";
import { endChunks, reply, type Script, scriptedUpstream, startEvents, writeChunk } from "../../support/upstream.ts";
import type { Owner } from "../../support/wait.ts";

const KEY = "key-of-the-providers";
const compat = { dialect: "compat", api_key: KEY };
export const MESSAGES = "/v1/messages";

export async function startProviders(owner: Owner) {
  const oc = await scriptedUpstream(owner);
  const am = await scriptedUpstream(owner);
  const spare = await scriptedUpstream(owner);
  const { node, gateway } = await startGoverned(owner, {
    env: { GATEWAY_STREAM_HEARTBEAT: "300ms" },
    deployment: {
      default_provider: "oc",
      providers: [
        { name: "oc", ...compat, base_url: `${oc.url}/v1`, models: ["oc-*"] },
        { name: "am", dialect: "messages", api_key: KEY, base_url: am.url, models: ["am-*"] },
        { name: "chat-alone", preset: "deepseek", api_key: KEY, base_url: `${oc.url}/v1`, models: ["chat-1"] },
        { preset: "gemini", api_key: KEY, base_url: `${oc.url}/v1`, models: ["gemini-*"] },
        {
          name: "moving",
          ...compat,
          base_url: `${oc.url}/v1`,
          models: ["moving"],
          failover: { to: ["spare"], when: ["5xx", 429] },
        },
        { name: "spare", ...compat, base_url: `${spare.url}/v1`, models: ["spare"] },
        {
          name: "slow",
          ...compat,
          base_url: `${oc.url}/v1`,
          models: ["slow"],
          first_byte_timeout: "200ms",
          retry: { attempts: 1, when: ["timeout"], backoff: "10ms" },
        },
        { name: "closed", ...compat, base_url: "http://127.0.0.1:1/v1", models: ["closed"] },
      ],
      mcp: [{ name: "tools", url: `${oc.url}/mcp` }],
      a2a: [{ name: "agent", url: `${oc.url}/a2a` }],
      profiles: [{ name: "metered", budget: "much" }],
      budgets: [{ name: "much", limit: 1_000_000_000 }],
    },
  });
  const key = await mint(node, "one", { profile: "metered" });
  const ask = (model: string, facts: object = {}, path?: string): Promise<Answer> =>
    say(gateway, { key, body: chat({ model, ...facts }), ...(path !== undefined && { path }) });
  /** Returns the budget units that the work is charged. */
  const spent = async (work: () => Promise<unknown>): Promise<number> => {
    const total = async (): Promise<number> =>
      sumOf(await readMetrics(gateway), "gateway_budget_units_total", { budget: "much" });
    const before = await total();
    await work();
    return (await total()) - before;
  };
  return {
    ...{ oc, am, spare, node, gateway, key, ask, spent },
    /** Calls the compat provider as a messages client. */
    asMessages: (facts: object = {}): Promise<Answer> => ask("oc-1", facts, MESSAGES),
  };
}

export const json = (value: unknown, ...headers: readonly string[]): Script => {
  return (socket) =>
    reply(socket, { headers: ["Content-Type: application/json", ...headers], body: JSON.stringify(value) });
};
export const stream =
  (...events: readonly string[]): Script =>
  (socket) => {
    startEvents(socket);
    for (const event of events) writeChunk(socket, event);
    endChunks(socket);
  };
export const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
export const completion = (message: object, more: object = {}) => ({
  id: "c",
  object: "chat.completion",
  model: "oc-1",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  ...more,
});
export const GOOD = completion({ content: "fine" });
