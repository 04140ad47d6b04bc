import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { createPiiDetector } from "../../../../src/server/detectors/index.ts";
import { engineOf } from "../../../../src/server/detectors/pii/index.ts";
import { peer } from "../../../peers/index.ts";
import { configOf } from "./configs.ts";

const re2 = await peer("re2");

const CHILD = fileURLToPath(new URL("prefilters.ts", import.meta.url));

/** Parts that patterns are about, put together at random. */
const PARTS = (
  "badge 123 456 a ab abc abcd aab k K ſ \u212a é Ünï نسر 你好 😀 \n \r \u2028 \t \u00a0 - . : :: / _ @ 2024-01-02t10:20:30z 10.0.0.1 " +
  "fe80::1 256.1.1.1 12:30 x@example.com https://a.example/x key= token: secret password sk- AKIA eyJ 4111 1111 ٣٤ 𝟗 \u200b = \" ' 0x ab"
).split(" ");

function randomTexts(count: number, seed: number): string[] {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + next(14) }, () => PARTS[next(PARTS.length)]! + (next(2) === 0 ? " " : "")).join(""),
  );
}

test("`native` and `pure` find the same", { skip: re2.missing, timeout: 120_000 }, () => {
  const seed = Number(process.env["GATEWAY_SEED"] ?? 20_261);
  const texts = randomTexts(4000, seed);
  const child = spawnSync(process.execPath, ["--import", "tsx", CHILD], {
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

test("without the package, `native` is refused with what to do", {
  skip: engineOf("native") !== undefined && "re2 is installed",
}, () => {
  const made = createPiiDetector(configOf({ prefilter: "native" }), "pii", true);
  assert.ok(made.kind === "refused");
  assert.deepEqual(
    made.problems.map(({ path }) => path),
    [["prefilter"]],
  );
  assert.match(made.problems[0]!.message, /npm install re2@1\.24\.0/);
});
