/** Threads have the same findings as without them: in the development data if present, and in random texts. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import type { DetectorInput } from "../../../../../src/server/core/guardrails/index.ts";
import { createPiiDetector } from "../../../../../src/server/detectors/index.ts";
import { createScanPool } from "../../../../../src/server/detectors/pii/index.ts";
import { configOf } from "../configs.ts";
import { randomTexts } from "../random-texts.ts";

const DATA = new URL("../../../../../../shared/data/guardrails/", import.meta.url);

const pool = createScanPool({ threads: 2 });
after(() => pool.close());
const built = createPiiDetector(configOf({}), "pii", true, pool);
assert.ok(built.kind === "detector");
const { detector } = built;
const { signal } = new AbortController();

/** Returns the number of findings. */
async function isEqual(texts: readonly string[], reason: string): Promise<number> {
  const scanned = texts.map(
    (text): DetectorInput => ({
      segment: { kind: "user", text, ref: "", turn: 0, isReadOnly: false },
      windows: undefined,
    }),
  );
  const apart = detector.detect(scanned, [], signal);
  assert.ok(apart instanceof Promise, reason);
  const here = detector.detectSync?.(scanned) ?? [];
  assert.deepEqual(await apart, here, reason);
  return here.reduce((sum, { length }) => sum + length, 0);
}

test("both engines agree on random texts, alone and joined", async () => {
  const seed = Number(process.env["GATEWAY_SEED"] ?? 20_263);
  const texts = randomTexts(3_000, seed);
  assert.ok((await isEqual(texts, `seed ${seed}`)) > 1_000);
  await isEqual([texts.join("\n"), "", "\ud800", texts.slice(0, 100).join("\0")], `seed ${seed}`);
});

test("both engines agree on the development data, text by text and each file as one text", {
  skip: !existsSync(DATA),
}, async () => {
  let found = 0;
  for (const name of readdirSync(DATA)) {
    if (!/\.(jsonl|conll|b64)$/.test(name)) continue;
    const raw = readFileSync(new URL(name, DATA), "utf8");
    const lines = (name.endsWith(".b64") ? Buffer.from(raw, "base64").toString("utf8") : raw).split("\n");
    found += await isEqual(lines, name);
    await isEqual([lines.join("\n")], name);
  }
  assert.ok(found > 500, `${found}`);
});
