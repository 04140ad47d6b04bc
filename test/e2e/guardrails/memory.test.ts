/** Memory for bodies with very many texts is counted: the gateway uses no more than its account. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Answer, chat, mint, say, startGoverned } from "../governance/support/governed.ts";
import type { Document } from "../support/config.ts";
import { memoryOf } from "../support/machine.ts";
import { idle } from "../support/metrics.ts";

const file = { after };
const MIB = 1 << 20;
/** Default size of the account. */
const ACCOUNT = 512 * MIB;
const MAX_TEXTS = 20_000;

const { node, gateway } = await startGoverned(file, {
  deployment: {
    guardrails: {
      detectors: [{ type: "pii", prefilter: "pure" }],
      rules: [{ name: "mask-cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"' }],
    },
  },
});
const key = await mint(node, "guarded");
const parts = (count: number): Document => {
  const content = Array.from({ length: count }, (_, at) => ({ type: "text", text: `part ${at}` }));
  return chat({ messages: [{ role: "user", content }] });
};
/** Leaves room for the texts of the chat itself. */
const MANY = MAX_TEXTS - 8;

interface Flood {
  readonly answers: readonly Answer[];
  /** Growth of resident memory, in bytes. */
  readonly grown: number;
}

/** Limit for each answer of a flood, whose texts are all inspected on one core. */
const FLOOD_LIMIT_MS = 150_000;

async function flood(count: number, body: Document): Promise<Flood> {
  const rss = (): number => memoryOf(gateway.pid, "VmRSS") ?? Number.NaN;
  const before = rss();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, rss());
  }, 5);
  const sent = Array.from({ length: count }, () => say(gateway, { key, body, limitMs: FLOOD_LIMIT_MS }));
  const answers = await Promise.all(sent).finally(() => clearInterval(timer));
  await idle(gateway);
  return { answers, grown: most - before };
}

await say(gateway, { key });

test("bodies with as many texts as are inspected at once fit the memory account", async (t) => {
  const { answers, grown } = await flood(24, parts(MANY));
  const statuses = answers.map(({ status }) => status);
  t.diagnostic(`${statuses.join()}: ${Math.round(grown / MIB)} MiB more`);
  for (const { status, text } of answers) assert.ok(status === 200 || status === 503, text);
  assert.ok(statuses.includes(200));
  assert.ok(grown < ACCOUNT, `it grew by ${grown} bytes`);
});

test("bodies with more texts are refused with the remedy, and leave nothing behind", async (t) => {
  const { answers, grown } = await flood(16, parts(99_990));
  const statuses = answers.map(({ status }) => status);
  t.diagnostic(`${statuses.join()}: ${Math.round(grown / MIB)} MiB more`);
  for (const { status, text } of answers) {
    if (status !== 503) assert.match(text, /more than [0-9]+ .*: send it in parts/);
    assert.ok(status === 400 || status === 503, text);
  }
  assert.ok(grown < ACCOUNT, `it grew by ${grown} bytes`);
  assert.equal((await say(gateway, { key, body: parts(MANY) })).status, 200);
});
