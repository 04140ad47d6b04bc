/** What client libraries send by default, as it was recorded. Taken by `record.ts`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const CORPUS = new URL("../data/clients/", import.meta.url).pathname;

export interface RecordedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Those that say something to a dialect. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null: there was none. */
  readonly body: unknown;
}

export interface Corpus {
  readonly library: string;
  readonly package: string;
  readonly version: string;
  readonly language: string;
  /** By name, the requests of one run in their order: `plain`, `stream`, `tools`, `structured` and more. */
  readonly cases: Readonly<Record<string, readonly RecordedRequest[]>>;
}

export function readCorpus(): readonly Corpus[] {
  return readdirSync(CORPUS)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => JSON.parse(readFileSync(join(CORPUS, name), "utf8")) as Corpus);
}
