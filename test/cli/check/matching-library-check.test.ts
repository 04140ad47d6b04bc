// tier: all
/**
 * `gateway check` and the native library of detectors: a missing one is reported with the install command, an existing
 * one is tested.
 */

import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { engineOf } from "../../../src/server/detectors/index.ts";
import { writeFiles } from "../../e2e/support/config.ts";
import { runProgram } from "../../e2e/support/gateway.ts";
import { within } from "../../e2e/support/wait.ts";
import { peer } from "../../peers/index.ts";

const document = (prefilter: string) => ({
  providers: [{ name: "p", dialect: "compat", base_url: "http://127.0.0.1:9/v1", api_key: "k" }],
  guardrails: {
    detectors: [{ type: "pii", prefilter, entities: ["CREDIT_CARD"] }],
    rules: [{ name: "cards", action: "redact" }],
  },
});

const owner = { after };
const re2 = await peer("re2");

async function check(prefilter: string, env: Readonly<Record<string, string>>, ...flags: readonly string[]) {
  const files = await writeFiles(owner, document(prefilter));
  const program = runProgram(owner, { args: ["check", "-config", files.nodePath, ...flags], env });
  await within("the end of the check", program.ended, 60_000);
  return program.stdout();
}

test("detectors and rules are counted, and an unused library is not loaded", async () => {
  const out = await check("pure", {}, "-offline");
  assert.match(out, /^ok {4}configuration: .*: 1 provider, 1 detector, 1 guardrail rule$/m);
  assert.doesNotMatch(out, /re2/);
});

test("`native` without its package is a failure that names the package", {
  skip: engineOf("native") && "re2 is there",
}, async () => {
  const out = await check("native", {}, "-offline");
  assert.match(
    out,
    /^fail {2}configuration: .*guardrails\.detectors\[0\]\.prefilter: .*npm install --no-save re2@1\.24\.0/m,
  );
});

test("`native` with the package is tested by a search", { skip: re2.missing }, async () => {
  const out = await check("native", { NODE_PATH: resolve(join(re2.path, "../../../..")) });
  assert.match(out, /^ok {4}library re2: loaded; it searches texts for pii$/m);
});
