/** Detectors with the tiny models of the reference values. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { DetectorConfig } from "../../../../src/server/core/config/index.ts";
import type { Detection, Detector } from "../../../../src/server/core/guardrails/index.ts";
import {
  type BuiltModelDetector,
  createModelDetector,
  createSessions,
  isModelType,
  type Sessions,
} from "../../../../src/server/detectors/inference/index.ts";
import { createEndpoints } from "../../../../src/server/detectors/wire/index.ts";
import { peer } from "../../../peers/index.ts";
import { LABELS, writeAssets } from "../../../reference/inference/assets.ts";
import { scannedOf } from "../scanned.ts";

const runtime = await peer("onnxruntime-node");
const tokenizers = await peer("tokenizers");

/** For `{ skip: missing }`. */
export const missing = runtime.missing || tokenizers.missing;

const libraries: object = missing
  ? {}
  : { library: dirname(dirname(runtime.path)), tokenizer_library: dirname(tokenizers.path) };

export { scannedOf };

/** A folder of models that is removed when the test file ends. */
export async function assetsFor(file: { after(end: () => Promise<void>): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-inference-"));
  file.after(() => rm(folder, { recursive: true, force: true }));
  await writeAssets(folder);
  return folder;
}

type Type = "nlp" | "classify" | "embed";
type Own<T extends Type> = NonNullable<DetectorConfig[T]>;

/** Adds the defaults of the schema, and the small BERT tokenizer. */
export function configOf<T extends Type>(
  type: T,
  folder: string,
  own: { readonly [Key in keyof Own<T>]?: Own<T>[Key] | undefined } = {},
  common = {},
): DetectorConfig {
  const defaults: Record<Type, object> = {
    nlp: { labels: LABELS, aggregation: "max", stride: 14, category: "pii" },
    classify: { labels: ["SAFE", "INJECTION", "JAILBREAK"], category: "injection" },
    embed: { topics: [], background: [], temperature: 0.05, pooling: "mean", category: "topic" },
  };
  const object = {
    model: join(folder, "word-piece", `${type}.onnx`),
    tokenizer: join(folder, "word-piece", "tokenizer.json"),
    strip_marks: "arabic",
    max_tokens: 512,
    threads: 1,
    ...libraries,
    ...defaults[type],
    ...own,
  };
  return { type, [type]: object, ...common } as unknown as DetectorConfig;
}

const endpoints = createEndpoints();

export const build = (
  config: DetectorConfig,
  sessions: Sessions = createSessions(),
  views: Parameters<typeof createModelDetector>[3]["views"] = new Map(),
): BuiltModelDetector => {
  if (!isModelType(config.type)) throw new Error(`${config.type} has no model`);
  return createModelDetector(config, config.type, config.name ?? config.type, { sessions, endpoints, views });
};

/** Throws if the configuration is refused or the model is unusable. */
export async function opened(config: DetectorConfig, sessions?: Sessions): Promise<Detector> {
  const built = build(config, sessions);
  if (built.kind === "refused") throw new Error(JSON.stringify(built.problems));
  const problems = await built.prepare(AbortSignal.timeout(60_000));
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return built.detector;
}

export const detect = async (detector: Detector, texts: readonly string[]): Promise<Detection> =>
  await detector.detect(
    texts.map((text) => scannedOf(text)),
    [],
    AbortSignal.timeout(180_000),
  );
