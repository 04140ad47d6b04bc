/** Inputs of the reference values (models, texts and configurations), written to a folder. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { embedder, sequenceClassifier, tokenClassifier } from "./graphs.ts";
import { BACKGROUND, TOPICS, texts } from "./texts.ts";
import { byteLevel, type TinyTokenizer, unigram, wordPiece } from "./tokenizers.ts";

export const LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "ORG"] as const;
export const VERDICTS = ["SAFE", "INJECTION", "JAILBREAK"] as const;
const AGGREGATIONS = ["none", "simple", "first", "average", "max"] as const;
/** The first is longer than every text; the others are small, with every kind of overlap. */
const WINDOWS = [
  { maxTokens: 512, stride: 14 },
  { maxTokens: 16, stride: 4 },
  { maxTokens: 11, stride: 7 },
  { maxTokens: 10, stride: 1 },
  { maxTokens: 12, stride: 0 },
] as const;
export const PREFIX = "query: ";
export const TEMPERATURE = 0.05;

const KINDS = { "word-piece": wordPiece, "byte-level": byteLevel, unigram } as const;

/** Writes one folder below `folder` for each kind of tokenizer. */
export async function writeAssets(folder: string): Promise<void> {
  const all = texts();
  const made = Object.entries(KINDS).map(([kind, make]) => [kind, make([...all, PREFIX])] as const);
  for (const [at, [kind, tokenizer]] of made.entries()) await writeModels(join(folder, kind), tokenizer, 100 * at);
  const facts = made.map(([kind, { continuingPrefix }]) => [kind, { continuingPrefix }]);
  await writeFile(
    join(folder, "assets.json"),
    JSON.stringify({
      texts: all,
      kinds: Object.fromEntries(facts),
      labels: LABELS,
      verdicts: VERDICTS,
      aggregations: AGGREGATIONS,
      windows: WINDOWS,
      topics: TOPICS,
      background: BACKGROUND,
      prefix: PREFIX,
      temperature: TEMPERATURE,
    }),
  );
}

async function writeModels(folder: string, { json, vocabulary }: TinyTokenizer, seed: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files: readonly (readonly [string, string | Uint8Array])[] = [
    ["tokenizer.json", json],
    ["nlp.onnx", tokenClassifier(vocabulary, LABELS.length, seed + 1)],
    ["classify.onnx", sequenceClassifier(vocabulary, VERDICTS.length, seed + 2)],
    ["embed.onnx", embedder(vocabulary, seed + 3)],
    ["pooled.onnx", embedder(vocabulary, seed + 4, true)],
  ];
  for (const [name, content] of files) await writeFile(join(folder, name), content);
}
