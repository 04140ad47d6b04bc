/**
 * `node --import tsx test/bench/models.ts`: cost of model detectors per KB of text, compared with the same graph,
 * windows and tokenizer under ONNX Runtime in Python, alternating; and the memory of a session. It needs the peers
 * `onnxruntime-node`, `tokenizers`, `sentence-encoder` and `python-models`.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSessions } from "../../src/server/detectors/inference/index.ts";
import { peer } from "../peers/index.ts";
import { bertFrom } from "../reference/inference/bert.ts";
import { configOf, detect, missing, opened } from "../server/detectors/inference/support.ts";

const MAX_TOKENS = 256;
const ROUNDS = 3;

const encoder = await peer("sentence-encoder");
const python = await peer("python-models");
const reason = missing || encoder.missing || python.missing;
if (reason) throw new Error(reason);

const cases = JSON.parse(
  await readFile(new URL("../reference/inference/encoder-cases.json", import.meta.url), "utf8"),
) as { readonly texts: readonly string[]; readonly topics: never; readonly background: never };
/** A short message, a page, a long document. */
const texts = [1, 12, 100].map((times) => `${cases.texts.join(" ")} `.repeat(times));
const kb = texts.reduce((sum, { length }) => sum + length, 0) / 1_024;

const folder = await mkdtemp(join(tmpdir(), "gateway-bench-"));
const tokenizer = join(dirname(encoder.path), "tokenizer.json");
const script = fileURLToPath(new URL("models.py", import.meta.url));
const labels = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"];
const own = {
  nlp: { labels },
  classify: { labels },
  embed: { topics: cases.topics, background: cases.background },
};
await writeFile(join(folder, "texts.json"), JSON.stringify(texts));
for (const type of ["nlp", "classify", "embed"] as const) {
  const model = join(folder, `${type}.onnx`);
  await writeFile(model, await bertFrom(encoder.path, type));
  const stride = type === "nlp" ? 14 : MAX_TOKENS / 8;
  const config = configOf(type, "", { ...own[type], model, tokenizer, max_tokens: MAX_TOKENS, stride });
  const before = process.memoryUsage().rss;
  const detector = await opened(config, createSessions({ idleMs: 3_600_000 }));
  const loaded = process.memoryUsage().rss - before;
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    await detect(detector, texts);
    ours.push((performance.now() - began) / kb);
    const args = [script, model, tokenizer, join(folder, "texts.json"), String(MAX_TOKENS), String(stride), type];
    const { stdout, stderr, status } = spawnSync(python.path, args, { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    theirs.push((Number(stdout) * 1_000) / kb);
  }
  const used = process.memoryUsage().rss - before;
  const [mine, reference] = [Math.min(...ours), Math.min(...theirs)];
  const words = [
    `${type.padEnd(8)} ${mine.toFixed(2)} ms a KB`,
    `${reference.toFixed(2)} in Python`,
    `${(mine / reference).toFixed(2)} times`,
    `${(loaded / 2 ** 20).toFixed(0)} MiB loaded, ${(used / 2 ** 20).toFixed(0)} MiB after ${kb.toFixed(0)} KB`,
  ];
  process.stdout.write(`${words.join("; ")}\n`);
}
await rm(folder, { recursive: true });
