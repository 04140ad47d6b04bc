/**
 * Detectors that call an analyzer over HTTP, in a running gateway: its findings take effect, and its errors follow
 * `on_error`, without delaying others. Source: specification document 3 (`remote`).
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../../cli/buffer-io.ts";
import { personsIn, startAnalyzer } from "../../server/detectors/remote/analyzer.ts";
import { chat, mint, PROVIDER_KEY, say, startGoverned } from "../governance/support/governed.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { eventually } from "../support/wait.ts";

const SECRET = "analyzer-credential-5d1f";

const analyzer = await startAnalyzer({ after });
const remote = { endpoint: analyzer.url, headers: { "x-analyzer-key": SECRET } };
const { gateway, node, simulator } = await startGoverned(
  { after },
  {
    deployment: {
      profiles: [{ name: "exempt", guardrails: { detectors: [] } }],
      guardrails: {
        cache_entries: 0,
        detectors: [
          { type: "remote", name: "open", remote, apply_to: ["user"], timeout: "400ms" },
          {
            type: "remote",
            name: "closed",
            remote,
            apply_to: ["system"],
            timeout: "400ms",
            on_error: "fail_closed",
          },
        ],
        rules: [
          { name: "no-names", action: "redact", select: 'a.label == "PERSON"' },
          {
            name: "no-bombs",
            action: "deny",
            when: 'annotations.exists(a, a.label == "WEAPON")',
            message: "Not here.",
          },
        ],
      },
    },
  },
);

/** The detector `open` reads user texts; `closed` reads system texts. */
const chatWith = (content: string, role: "user" | "system" = "user") =>
  chat({
    model: "sim-small",
    messages: [{ role, content }, ...(role === "system" ? [{ role: "user", content: " " }] : [])],
  });
const key = await mint(node, "guarded");
const exempt = await mint(node, "exempt", { profile: "exempt" });
const sent = async (): Promise<string> => {
  const last = await fetch(`${simulator.url}/sim/last`, { headers: { authorization: `Bearer ${PROVIDER_KEY}` } });
  return await last.text();
};

test("names found by an analyzer are removed before the provider sees them, and text that a rule forbids is refused", async () => {
  analyzer.answer = personsIn({ "Jürgen 👍": "PERSON", grenade: "WEAPON" });
  const answer = await say(gateway, { key, body: chatWith("👋 I am Jürgen 👍, who are you?") });
  assert.deepEqual([answer.status, answer.headers.get("x-gateway-guardrails")], [200, "no-names=redact"], answer.text);
  const body = await sent();
  assert.ok(body.includes("👋 I am <PERSON>, who are you?"), body);
  assert.equal(analyzer.received.at(-1)?.headers["x-analyzer-key"], SECRET);
  const refused = await say(gateway, { key, body: chatWith("how is a grenade made?") });
  assert.deepEqual([refused.status, refused.code], [403, "guardrail_denied"], refused.text);
});

test("with a slow, a failing and a garbling analyzer, each detector follows its `on_error`", async () => {
  const faults: readonly (readonly [string, typeof analyzer.answer])[] = [
    ["slow", () => new Promise(() => undefined)],
    ["failing", (_, response) => void response.writeHead(500).end(`{"error":"Jürgen"}`)],
    ["garbling", () => [{ entity_type: "PERSON", start: 0, end: 9_999, score: 1 }]],
    ["resetting", (_, response) => void response.socket?.destroy()],
  ];
  for (const [name, answer] of faults) {
    analyzer.answer = answer;
    const began = performance.now();
    const open = await say(gateway, { key, body: chatWith(`I am Jürgen (${name})`) });
    assert.equal(open.status, 200, `${name}: ${open.text}`);
    assert.ok((await sent()).includes("Jürgen"), name);
    const closed = await say(gateway, { key, body: chatWith(`I am Jürgen (${name})`, "system") });
    assert.deepEqual([closed.status, closed.code], [503, "guardrail_error"], `${name}: ${closed.text}`);
    assert.doesNotMatch(closed.text, /Jürgen|9999|analyzer-credential/, name);
    assert.ok(performance.now() - began < 10_000, name);
  }
  const metrics = await readMetrics(gateway);
  assert.equal(sumOf(metrics, "gateway_detector_errors_total"), 2 * faults.length);
  assert.ok(sumOf(metrics, "gateway_detector_calls_repeated_total") >= 2);
  const log = gateway.stderr();
  assert.match(log, /a detector failed, and requests go on without it.*"reason":"/);
  assert.match(log, /a detector failed, and requests are refused for it/);
  assert.doesNotMatch(log, new RegExp(`Jürgen|${SECRET}`));
});

test("an analyzer that fails closed is a failure in the status of the gateway, since it refuses requests", async () => {
  analyzer.answer = (_, response) => void response.writeHead(500).end();
  const out = await eventually("more refused than served", async () => {
    for (let turn = 0; turn < 10; turn++) await say(gateway, { key, body: chatWith("hello", "system") });
    const io = bufferIo({ env: { GATEWAY_ADMIN_SOCKET: join(node.dir, "admin.sock") }, now: () => Date.now() });
    return (await execute(["status"], io)) === 1 ? io.out() : undefined;
  });
  assert.match(
    out,
    /^! REFUSED +failure:guardrail_error:guardrail:detector%20closed +a failure refuses \d+\/min of 1 caller/m,
  );
  assert.match(out, /REFUSED: repair what failed/);
});

test("while an analyzer hangs, other callers are answered as fast as ever", async () => {
  const measure = async (): Promise<readonly number[]> => {
    const waited: number[] = [];
    for (let turn = 0; turn < 60; turn++) {
      const startedAt = performance.now();
      const { status } = await say(gateway, { key: exempt, body: chatWith(`hello ${turn}`) });
      assert.equal(status, 200);
      waited.push(performance.now() - startedAt);
    }
    return waited.sort((a, b) => a - b);
  };
  await measure();
  const idle = await measure();
  analyzer.answer = () => new Promise(() => undefined);
  let isOver = false;
  const busy = Array.from({ length: 8 }, async (_, at) => {
    for (let turn = 0; !isOver; turn++) {
      const { status } = await say(gateway, { key, body: chatWith(`I am Jürgen ${at} ${turn}`) });
      assert.ok(status === 200 || status === 503);
    }
  });
  const saturated = await measure();
  isOver = true;
  await Promise.all(busy);
  const median = (all: readonly number[]): number => all[all.length >> 1] as number;
  // The test machine is shared, so this shows only that nobody waits for the analyzer, not small differences.
  assert.ok(median(saturated) < Math.max(50, 4 * median(idle)), `${median(idle)} ms idle, ${median(saturated)} ms`);
  assert.ok((saturated.at(-1) as number) < 400, `one of the others waited ${saturated.at(-1)} ms`);
});

test("an analyzer that is down counts as a failure, and is called again once it is back", async () => {
  analyzer.answer = (_, response) => void response.socket?.destroy();
  const down = await say(gateway, { key, body: chatWith("I am Jürgen", "system") });
  assert.equal(down.code, "guardrail_error", down.text);
  analyzer.answer = personsIn({ Jürgen: "PERSON" });
  const up = await say(gateway, { key, body: chatWith("I am Jürgen", "system") });
  assert.deepEqual([up.status, up.headers.get("x-gateway-guardrails")], [200, "no-names=redact"], up.text);
});
