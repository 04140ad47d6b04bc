/** The simulated provider in this process, and the official SDKs pointed at it or at a gateway. */
import Anthropic from "@anthropic-ai/sdk";
import AnthropicClassic from "anthropic-sdk-classic";
import OpenAI from "openai";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../../src/simulator/index.ts";
import { atEnd, type Owner } from "./wait.ts";

// The SDKs read their settings from here, and a developer's own must not influence the tests.
for (const name of Object.keys(process.env)) {
  if (/^(OPENAI|ANTHROPIC)_/.test(name)) delete process.env[name];
}

export async function simulated(owner: Owner, options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = await startSimulator({ host: "127.0.0.1", port: 0, ...options });
  atEnd(owner, () => simulator.close());
  return simulator;
}

/** Status and headers of one HTTP answer to an SDK, with names in lower case. */
export interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Clients {
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  /** The older SDK with `x-api-key` and the older version header, under the newer one's types. */
  readonly classic: Anthropic;
  /** Every answer so far, of all three. */
  readonly seen: readonly Seen[];
}

/** Clients of a server with both dialects at `url`; they do not retry unless a call says so. */
export function clientsOf(url: string, apiKey = "test-key"): Clients {
  const seen: Seen[] = [];
  const watched: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    seen.push({ status: response.status, headers: Object.fromEntries(response.headers) });
    return response;
  };
  const common = { apiKey, maxRetries: 0, logLevel: "off", fetch: watched } as const;
  return {
    openai: new OpenAI({ ...common, baseURL: `${url}/v1` }),
    anthropic: new Anthropic({ ...common, baseURL: url }),
    classic: new AnthropicClassic({ ...common, baseURL: url }) as unknown as Anthropic,
    seen,
  };
}
