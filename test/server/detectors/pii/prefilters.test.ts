// tier: all
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import test from "node:test";
import { createPiiDetector } from "../../../../src/server/detectors/index.ts";
import { engineOf } from "../../../../src/server/detectors/pii/index.ts";
import { peer } from "../../../peers/index.ts";
import { childArgs } from "../../../support/child-program.ts";
import { configOf } from "./configs.ts";
import { randomTexts } from "./random-texts.ts";

const re2 = await peer("re2");

const CHILD = childArgs("./prefilters.ts", import.meta.url);

test("`native` and `pure` have the same findings", { skip: re2.missing, timeout: 120_000 }, () => {
  const seed = Number(process.env["GATEWAY_SEED"] ?? 20_261);
  const texts = randomTexts(4000, seed);
  const child = spawnSync(process.execPath, CHILD, {
    input: JSON.stringify(texts),
    env: { ...process.env, NODE_PATH: resolve(join(re2.path, "../../../..")), NODE_TEST_CONTEXT: undefined },
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  assert.equal(child.status, 0, child.stderr);
  const { different, findings } = JSON.parse(child.stdout) as { different: string[]; findings: number };
  assert.deepEqual(different, [], `seed ${seed}`);
  assert.ok(findings > 4000, `${findings}`);
});

test("without the package `native` is refused with the remedy", {
  skip: engineOf("native") !== undefined && "re2 is installed",
}, () => {
  const made = createPiiDetector(configOf({ prefilter: "native" }), "pii", true);
  assert.ok(made.kind === "refused");
  assert.deepEqual(
    made.problems.map(({ path }) => path),
    [["prefilter"]],
  );
  assert.match(made.problems[0]!.message, /npm install --no-save re2@1\.24\.0/);
});
