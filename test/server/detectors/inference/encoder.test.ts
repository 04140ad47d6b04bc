// tier: long
/**
 * A real sentence encoder: topics of texts compared with numpy. Source of the values:
 * `test/reference/inference/encoder.py`.
 */
import assert from "node:assert/strict";
import { access, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { peer } from "../../../peers/index.ts";
import { bertFrom } from "../../../reference/inference/bert.ts";
import { configOf, detect, missing, opened } from "./support.ts";

const encoder = await peer("sentence-encoder");
const skip = missing || encoder.missing;

const read = async (name: string): Promise<unknown> =>
  JSON.parse(await readFile(new URL(`../../../reference/inference/${name}`, import.meta.url), "utf8"));
const cases = (await read("encoder-cases.json")) as {
  readonly topics: readonly { readonly name: string; readonly examples: readonly string[] }[];
  readonly background: readonly string[];
  readonly texts: readonly string[];
};
const values = (await read("encoder-values.json")) as readonly (readonly [topic: string, score: number])[];

/** Stored beside the weights, in the peer cache. */
async function graphOf(safetensors: string): Promise<string> {
  const path = join(dirname(safetensors), "model.onnx");
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (isThere) return path;
  const folder = await mkdtemp(join(dirname(safetensors), "part-"));
  await writeFile(join(folder, "model.onnx"), await bertFrom(safetensors));
  await rename(join(folder, "model.onnx"), path);
  await rm(folder, { recursive: true });
  return path;
}

test("topics from a real sentence encoder match the reference", { skip, timeout: 120_000 }, async () => {
  const model = await graphOf(encoder.path);
  const tokenizer = join(dirname(encoder.path), "tokenizer.json");
  const { topics, background, texts } = cases;
  const own = { model, tokenizer, topics, background, temperature: 0.05 };
  const found = await detect(await opened(configOf("embed", "", own, { threshold: 0 })), texts);
  values.forEach(([topic, score], at) => {
    const [one] = found[at] ?? [];
    assert.equal(one?.label, topic, texts[at]);
    assert.ok(Math.abs((one?.score ?? 0) - score) <= 1e-4, `${texts[at]}: ${one?.score}, not ${score}`);
  });
  const reported = found.map(([one], at) => ((one?.score ?? 0) >= 0.5 && at < 7 ? (one?.label ?? "") : ""));
  assert.deepEqual(reported.slice(0, 6), ["medicine", "finance", "", "", "medicine", "finance"]);
});
