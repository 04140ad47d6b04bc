/** Recorded default requests of client libraries, taken by `record.ts`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const CORPUS = new URL("../data/clients/", import.meta.url).pathname;

export interface RecordedRequest {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  /** Headers with a meaning in a dialect. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null without a body. */
  readonly body: unknown;
}

export interface Corpus {
  readonly library: string;
  readonly package: string;
  readonly version: string;
  readonly language: string;
  /** Requests of one run in order, by name: `plain`, `stream`, `tools`, `structured` and more. */
  readonly cases: Readonly<Record<string, readonly RecordedRequest[]>>;
}

export function readCorpus(): readonly Corpus[] {
  return readdirSync(CORPUS)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => JSON.parse(readFileSync(join(CORPUS, name), "utf8")) as Corpus);
}
