/** Detector threads keep no process alive: verbs end when their work is done, and a gateway when it is stopped. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { chat, mint, say, startGoverned } from "../governance/support/governed.ts";
import { writeFiles } from "../support/config.ts";
import { ONE_PROCESS, runProgram } from "../support/gateway.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { eventually, within } from "../support/wait.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const LONG = `${"an order of nothing special. ".repeat(2_000)}${CARD}`;
const GUARDRAILS = {
  detectors: [{ type: "pii", prefilter: "pure" }],
  rules: [{ name: "mask-cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"' }],
};

const { node, gateway } = await startGoverned(file, {
  env: ONE_PROCESS,
  deployment: { guardrails: { ...GUARDRAILS, cache_entries: 0 } },
});

const folder = mkdtempSync(join(tmpdir(), "guardrail-threads-"));
after(() => rmSync(folder, { recursive: true }));
const at = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const provider = { name: "sim", dialect: "compat", base_url: "http://127.0.0.1:9/v1", api_key: "none" };
const deployment = at("d.yaml", JSON.stringify({ providers: [provider], guardrails: GUARDRAILS }));
const cases = at("c.jsonl", `${JSON.stringify({ text: LONG, spans: [] })}\n`);

const verbs: Readonly<Record<string, readonly [args: readonly string[], input?: string]>> = {
  eval: [["guardrails", "eval", "-config", deployment, cases]],
  inspect: [["guardrails", "inspect", "-config", deployment, "-"], LONG],
  check: [["check", "-config", (await writeFiles(file, { guardrails: GUARDRAILS }, {})).nodePath]],
};
for (const [verb, [args, input]] of Object.entries(verbs)) {
  test(`${verb} ends when its work is done`, async () => {
    const program = runProgram(file, { args, ...(input !== undefined && { input }) });
    const end = await within(verb, program.ended, 30_000);
    assert.deepEqual(end, { status: 0, signal: null }, program.stderr());
  });
}

test("a gateway has an inspection thread from its start, and stops with it while it inspects", async () => {
  const key = await mint(node, "guarded");
  const metrics = await eventually("the thread", async () => {
    const read = await idle(gateway);
    return sumOf(read, "gateway_detector_pool_threads") > 0 && read;
  });
  assert.equal(sumOf(metrics, "gateway_detector_pool_threads"), 1);
  const body = chat({ messages: [{ role: "user", content: LONG.repeat(200) }] });
  const reading = say(gateway, { key, body }).catch(() => undefined);
  await eventually(
    "the text is read",
    async () => sumOf(await readMetrics(gateway), "gateway_detector_pool_queue_units") > 0,
  );
  gateway.signal("SIGTERM");
  // The drain time and no longer: a request waiting for the text is cut off, and the thread ends with it.
  assert.deepEqual(await within("the end", gateway.ended, 30_000), { status: 0, signal: null });
  await reading;
});
