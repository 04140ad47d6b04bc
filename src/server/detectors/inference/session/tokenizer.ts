/** Loads a `tokenizer.json`. */

import { readFile } from "node:fs/promises";
import type { Encoder, WordRule } from "../text/text-tokens.ts";
import type { TokenizerPackage } from "./packages.ts";

export interface Tokenizer {
  readonly encoder: Encoder;
  readonly rule: WordRule;
}

/** Loads a tokenizer. Rejects with the problem of the file. */
export async function openTokenizer({ Tokenizer }: TokenizerPackage, path: string): Promise<Tokenizer> {
  const json = await readFile(path, "utf8");
  const loaded = Tokenizer.fromString(json);
  // Texts are encoded whole, and split into windows here.
  loaded.disableTruncation();
  loaded.disablePadding();
  return { encoder: loaded, rule: ruleOf(JSON.parse(json)) };
}

/** Returns how the model in the file forms words: some kinds name the unknown token by text, others by id. */
function ruleOf(file: {
  readonly model?: {
    readonly continuing_subword_prefix?: string | null;
    readonly unk_token?: string | null;
    readonly unk_id?: number | null;
    readonly vocab?: Readonly<Record<string, number>>;
  };
}): WordRule {
  const { continuing_subword_prefix: prefix, unk_token: token, unk_id: id, vocab } = file.model ?? {};
  const ofToken = typeof token === "string" ? vocab?.[token] : undefined;
  return { continuingPrefix: prefix ?? "", unknownId: id ?? ofToken ?? -1 };
}
