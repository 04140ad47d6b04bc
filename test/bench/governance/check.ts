/**
 * Asserts that a governed gateway does govern before its cost is measured: one that lets everything through would have
 * the best figures.
 */

import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type AdminClient, createAdminClient } from "../../../src/admin-api/index.ts";
import type { Piece } from "../parts/children.ts";
import { CONFIG_MODEL, socketIn } from "../parts/configuration.ts";
import { waitForReadyLine } from "../parts/gateway.ts";
import { BUDGET } from "../parts/governed-deployment.ts";
import type { Prepared } from "../stage.ts";

/** Allows for a busy machine. */
const TIMEOUT_MS = 20_000;
const POLL_MS = 20;

/** Resolves when it serves and governs; rejects with the problem. Other modes are skipped. */
export async function checkGoverned({ gateway, shape }: Prepared, server: Piece): Promise<void> {
  if (gateway.home === undefined || shape.credentials === undefined) return;
  const { port } = server;
  await waitForReadyLine(server);
  const [key = ""] = (await readFile(shape.credentials, "latin1")).split("\n");
  await waitFor("a request with its key is answered", async () => (await post(port, CONFIG_MODEL, key)) === 200);
  expectStatus("a request without a key", [401], await post(port, CONFIG_MODEL));
  expectStatus("a request for a model that the profile lacks", [403, 404], await post(port, "p4-chat", key));
  if (gateway.mode === "guarded") {
    expectStatus("a request with a card number", [403], await post(port, CONFIG_MODEL, key, "pay 4111 1111 1111 1111"));
  }
  const client = createAdminClient({ address: { kind: "socket", path: socketIn(gateway.home) } });
  try {
    await waitFor("the budget has been charged", () => isCharged(client));
    if (gateway.mode === "guarded answers")
      await waitFor("a detector is to read answers", () => isReadingAnswers(client));
    if (gateway.mode === "recorded") await waitFor("the request has been recorded", () => isRecorded(client));
  } finally {
    client.close();
  }
}

async function isCharged(client: AdminClient): Promise<boolean> {
  const { items } = await client.call("list_budgets");
  return items.some(({ budget, used }) => budget === BUDGET && used > 0);
}

async function isRecorded(client: AdminClient): Promise<boolean> {
  const { items } = await client.call("list_audit_records", { query: { limit: 10 } });
  return items.some(({ event }) => event === "access.decision");
}

async function isReadingAnswers(client: AdminClient): Promise<boolean> {
  const { items } = await client.call("list_guardrails");
  return items.some(({ kind, kinds }) => kind === "detector" && kinds?.includes("output") === true);
}

async function waitFor(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`it is not so that ${what}`);
    await sleep(POLL_MS);
  }
}

function expectStatus(what: string, wanted: readonly number[], status: number): void {
  if (!wanted.includes(status)) throw new Error(`${what} was answered with ${status}`);
}

function post(port: number, model: string, key?: string, content = "hello"): Promise<number> {
  const headers = { "content-type": "application/json", ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  const options = { port, host: "127.0.0.1", method: "POST", path: "/v1/chat/completions", headers, agent: false };
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, signal: AbortSignal.timeout(TIMEOUT_MS) }, (answer) => {
      answer.resume();
      answer.once("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.once("error", reject);
    sent.end(JSON.stringify({ model, messages: [{ role: "user", content }] }));
  });
}
