/**
 * A simulator that closes at the end of a test, and the official SDKs set up for it: no retries and no outside access.
 */

import { connect } from "node:net";
import type { TestContext } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import AnthropicClassic from "anthropic-sdk-classic";
import OpenAI from "openai";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../src/simulator/index.ts";

for (const name of Object.keys(process.env)) {
  if (/^(OPENAI|ANTHROPIC)_/.test(name)) delete process.env[name];
}

export async function simulator(t: TestContext, options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const started = await startSimulator({ host: "127.0.0.1", port: 0, ...options });
  t.after(() => started.close());
  return started;
}

export function openai({ url }: Simulator, apiKey = "test-key"): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0, logLevel: "off" });
}

export function anthropic({ url }: Simulator, apiKey = "test-key"): Anthropic {
  return new Anthropic({ baseURL: url, apiKey, maxRetries: 0, logLevel: "off" });
}

/** Sends `x-api-key` and the older version header. */
export function anthropicClassic({ url }: Simulator, apiKey = "test-key"): AnthropicClassic {
  return new AnthropicClassic({ baseURL: url, apiKey, maxRetries: 0, logLevel: "off" });
}

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** Everything that a raw client receives until the server ends the connection. */
export function rawExchange({ port }: Simulator, request: string): Promise<string> {
  return new Promise((done, fail) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(request));
    let received = "";
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => {
      received += text;
    });
    socket.on("error", fail);
    socket.on("close", () => done(received));
  });
}

export function rawPost(path: string, body: unknown): string {
  const text = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\r\nhost: sim\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

/** Waits for a condition that depends on another socket's I/O; on failure the test's own timeout applies. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((done) => setImmediate(done));
}

/** Waits until every request has ended: a client may have its answer before the server has counted it. */
export function settled(of: Simulator): Promise<void> {
  return until(() => {
    const { answered, aborted, dropped, requests } = of.counts();
    return answered + aborted + dropped === requests;
  });
}
