// tier: all
/**
 * Findings of models compared with Hugging Face transformers, tokenizers and ONNX Runtime in Python, for two hundred
 * texts in five scripts. Source of the values: `test/reference/inference/reference.py`.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Finding } from "../../../../src/server/core/guardrails/index.ts";
import { createSessions } from "../../../../src/server/detectors/inference/index.ts";
import { PREFIX, TEMPERATURE, VERDICTS } from "../../../reference/inference/assets.ts";
import { BACKGROUND, TOPICS, texts } from "../../../reference/inference/texts.ts";
import { assetsFor, configOf, detect, missing, opened } from "./support.ts";

type Expected = readonly [start: number, end: number, label: string, score: number];

const all = texts();
const values = JSON.parse(
  await readFile(new URL("../../../reference/inference/values.json", import.meta.url), "utf8"),
) as Readonly<Record<string, readonly (readonly Expected[])[]>>;
const folder = missing ? "" : await assetsFor({ after });
const sessions = createSessions({ idleMs: 60_000 });

/** Keys of `values` contain the relevant configuration. */
function configOfKey(key: string) {
  const [model = "", kind = "", tokens, shared, mode, prefix] = key.split(" ");
  const own = {
    model: join(folder, kind, `${model}.onnx`),
    tokenizer: join(folder, kind, "tokenizer.json"),
    max_tokens: Number(tokens),
    stride: Number(shared),
  };
  if (model === "nlp") return configOf("nlp", folder, { ...own, aggregation: mode as "max" });
  if (model === "classify") {
    const negative = mode === "sigmoid" ? { negative: [] } : {};
    return configOf("classify", folder, { ...own, labels: VERDICTS, activation: mode as "softmax", ...negative });
  }
  const more = prefix === undefined ? {} : { prefix: PREFIX };
  const shown = TOPICS.map(({ name, examples }) => ({ name, examples: [...examples] }));
  return configOf("embed", folder, {
    ...own,
    ...more,
    topics: shown,
    background: [...BACKGROUND],
    temperature: TEMPERATURE,
    pooling: mode as "mean",
  });
}

const ordered = (found: readonly Expected[]): readonly Expected[] =>
  [...found].sort(([a, b, x, s], [c, d, y, t]) => a - c || b - d || (x < y ? -1 : x > y ? 1 : s - t));

const expectedOf = ({ start, end, label, score }: Finding): Expected => [start, end, label, score];

const keys = Object.keys(values);

test("there are values for every strategy, tokenizer, pooling and overlap", () => {
  assert.equal(keys.length, 162);
  for (const part of ["none", "simple", "first", "average", "max", "sigmoid", "cls", "prefix", "pooled", "unigram"]) {
    assert.ok(keys.some((key) => key.includes(part)));
  }
});

for (const model of ["nlp", "classify", "embed", "pooled"]) {
  test(`\`${model}\` has the same findings as the reference`, { skip: missing, timeout: 120_000 }, async () => {
    for (const key of keys.filter((one) => one.startsWith(model))) {
      const wanted = values[key] ?? [];
      const some = wanted.length === all.length ? all : all.filter((_, at) => at % 7 === 0);
      const found = await detect(await opened(configOfKey(key), sessions), some);
      wanted.forEach((expected, at) => {
        const want = ordered(expected);
        const got = ordered((found[at] ?? []).map(expectedOf));
        const places = (list: readonly Expected[]) => list.map(([start, end, label]) => [start, end, label]);
        assert.deepEqual(places(got), places(want), `${key}: text ${at}`);
        got.forEach(([, , , score], one) => {
          assert.ok(Math.abs(score - (want[one]?.[3] ?? 0)) <= 1e-4, `${key}: text ${at}: ${score}`);
        });
        const starts = (found[at] ?? []).map(({ start }) => start);
        assert.deepEqual(
          starts,
          starts.toSorted((a, b) => a - b),
        );
      });
    }
  });
}
