/**
 * Builds the entities of one window from the scores of its tokens: words, then groups of words. Follows Hugging Face
 * transformers (`TokenClassificationPipeline`), and also supports schemes that mark ends. Source: guardrails reference,
 * 3.1.
 */

import type { Tokens } from "../text/text-tokens.ts";
import type { TokenWindow } from "../text/token-windows.ts";
import { argmax, softmax } from "./scores.ts";
import type { Output } from "./types.ts";

export type Aggregation = "none" | "simple" | "first" | "average" | "max";

/** Label of the model, split into its parts. */
export interface Tag {
  /** Label without the prefix of the scheme; empty for none (`O`). */
  readonly name: string;
  /** True for `B`, and for `S` and `U`, which mark a whole entity. */
  readonly begins: boolean;
  /** True for `E`, `L`, `S`, `U`: the next token belongs to another entity. */
  readonly ends: boolean;
}

/** Entity as token indices within the whole text; `last` is inclusive. */
export interface Entity {
  readonly first: number;
  readonly last: number;
  /** Index of its first label. */
  readonly label: number;
  readonly score: number;
}

/**
 * Splits labels. A label without a prefix continues an entity. `B-` and `I-` are always prefixes; other letters are if
 * there is a label with `B-` or `I-` and the same name.
 */
export function tagsOf(labels: readonly string[]): readonly Tag[] {
  const known = new Set(labels);
  return labels.map((label) => {
    if (label === "O") return { name: "", begins: false, ends: false };
    const prefix = /^([BIESLU])-(.+)$/s.exec(label);
    const [, letter = "", name = label] = prefix ?? [];
    const isScheme = "BI".includes(letter) || known.has(`B-${name}`) || known.has(`I-${name}`);
    if (prefix === null || !isScheme) return { name: label, begins: false, ends: false };
    return { name, begins: "BSU".includes(letter), ends: "ESLU".includes(letter) };
  });
}

/** Returns the entities of a window, without tokens that belong to none. */
export function entitiesOf(
  tokens: Tokens,
  { from, to }: TokenWindow,
  { data, at, width, rowsBeforeText }: Output,
  tags: readonly Tag[],
  aggregation: Aggregation,
): readonly Entity[] {
  const usesWords = aggregation !== "none" && aggregation !== "simple";
  const scores = new Float64Array(width);
  const sums = new Float64Array(width);
  const units: Entity[] = [];
  let first = from;
  let label = 0;
  let score = 0;
  let size = 0;
  const close = (last: number): void => {
    if (size === 0) return;
    if (aggregation === "average") {
      for (let i = 0; i < width; i++) sums[i] = (sums[i] as number) / size;
      label = argmax(sums, width);
      score = sums[label] as number;
    }
    units.push({ first, last, label, score });
  };
  for (let token = from; token < to; token++) {
    softmax(data, at + (rowsBeforeText + token - from) * width, width, scores);
    const best = argmax(scores, width);
    if (!usesWords || tokens.begins[token] === 1 || token === from) {
      close(token - 1);
      [first, label, score, size] = [token, best, scores[best] as number, 0];
      sums.fill(0);
    } else if (aggregation === "max" && (scores[best] as number) > score) {
      [label, score] = [best, scores[best] as number];
    }
    size += 1;
    if (aggregation === "average")
      for (let i = 0; i < width; i++) sums[i] = (sums[i] as number) + (scores[i] as number);
  }
  close(to - 1);
  const found = aggregation === "none" ? units : grouped(units, tags);
  return found.filter((one) => tags[one.label]?.name !== "");
}

function grouped(units: readonly Entity[], tags: readonly Tag[]): readonly Entity[] {
  const groups: Entity[] = [];
  let open: { first: number; last: number; label: number; sum: number; size: number } | undefined;
  let before: Tag | undefined;
  const close = (): void => {
    if (open !== undefined) groups.push({ ...open, score: open.sum / open.size });
  };
  for (const { first, last, label, score } of units) {
    const tag = tags[label] as Tag;
    if (open !== undefined && before?.name === tag.name && !tag.begins && !before.ends) {
      open.last = last;
      open.sum += score;
      open.size += 1;
    } else {
      close();
      open = { first, last, label, sum: score, size: 1 };
    }
    before = tag;
  }
  close();
  return groups;
}
