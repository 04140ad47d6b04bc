/**
 * The libraries for the Responses API, unmodified and with their own defaults, at providers without it: each sees the
 * same as at a provider that has it, scenario by scenario. With GATEWAY_CLIENTS_ALL=1 also the next generation of the
 * AI SDK. Source: Responses reference, 10 and 12.
 */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Peer, peer } from "../../peers/index.ts";
import { outputOf } from "../agents/support/programs.ts";
import { CHANNELS, startResponding, TRANSLATED } from "./support/responding.ts";

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), "programs");
const LIMIT_MS = 150_000;

const isAll = process.env["GATEWAY_CLIENTS_ALL"] === "1";
const clients = await peer("responses-clients");
const next = isAll ? await peer("responses-ai-7") : { missing: "GATEWAY_CLIENTS_ALL is not 1", path: "" };
const { gateway, key } = await startResponding({ after });

interface Program {
  readonly name: string;
  readonly by?: Peer;
  /**
   * Number of scenarios, and those that the client ends with an error: equal failures everywhere would pass the
   * comparison too.
   */
  readonly scenarios: number;
  readonly raised: RegExp;
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  "the official SDK": {
    name: "responses-openai",
    scenarios: 59,
    raised: /^$/,
  },
  "the AI SDK": { name: "responses-ai", scenarios: 44, raised: /^$/ },
  "the AI SDK 7": {
    name: "responses-ai",
    by: next,
    scenarios: 44,
    raised: /^$/,
  },
  "OpenAI Agents": {
    name: "responses-agents",
    scenarios: 30,
    raised: /^(refusal|limit|sim-400)/,
  },
  LangChain: {
    name: "responses-langchain",
    scenarios: 34,
    raised: /^$/,
  },
};

for (const [title, { name, by = clients, scenarios, raised }] of Object.entries(PROGRAMS)) {
  test(`${title} sees the same over either kind of channel as at a provider with the route`, {
    skip: by.missing,
  }, async () => {
    const seen = await played(name, by.path);
    const at = (channel: string, scenario: string): unknown => seen.get(scenario)?.get(channel);
    const failures: string[] = [];
    for (const scenario of seen.keys()) {
      for (const channel of TRANSLATED) {
        assert.deepEqual(at(channel, scenario), at("native", scenario), `${scenario} at ${channel}`);
      }
      if (Object(at("chat", scenario))["raised"] !== undefined) failures.push(scenario);
    }
    assert.equal(seen.size, scenarios);
    assert.deepEqual(
      failures,
      [...seen.keys()].filter((scenario) => raised.test(scenario)),
    );
  });
}

/** Returns results by scenario and channel. */
async function played(program: string, path: string): Promise<ReadonlyMap<string, ReadonlyMap<string, unknown>>> {
  const args = [join(FOLDER, `${program}.mjs`), path, gateway.url, key, CHANNELS.join(",")];
  const seen = new Map<string, Map<string, unknown>>();
  for (const line of (await outputOf(process.execPath, args, { limitMs: LIMIT_MS })).trim().split("\n")) {
    const [channel, scenario, it] = JSON.parse(line) as [string, string, unknown];
    const channels = seen.get(scenario) ?? new Map<string, unknown>();
    seen.set(scenario, channels.set(channel, it));
  }
  return seen;
}
