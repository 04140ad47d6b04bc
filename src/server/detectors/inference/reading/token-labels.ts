/** Reads the findings of a token classifier (`nlp`). Source: guardrails reference, 3.1. */

import type { Tokens } from "../text/text-tokens.ts";
import type { TokenWindow } from "../text/token-windows.ts";
import { type Aggregation, type Entity, entitiesOf, type Tag, tagsOf } from "./entities.ts";
import { farthestFromCuts, joined } from "./join-entities.ts";
import { rounded } from "./scores.ts";
import type { ModelFinding, Output, Reader } from "./types.ts";

export interface TokenLabelsSpec {
  readonly type: "nlp";
  /** Labels of the model, in index order. */
  readonly labels: readonly string[];
  /**
   * Reported names by label without its prefix, or with it for aggregation `none`. Labels that are absent are not
   * reported.
   */
  readonly names: Readonly<Record<string, string>>;
  readonly aggregation: Aggregation;
}

export function createTokenLabels({ labels, names, aggregation }: TokenLabelsSpec): Reader {
  const tags = tagsOf(labels);
  const named = new Map(Object.entries(names));
  const nameOf = (label: number): string | undefined =>
    named.get(aggregation === "none" ? (labels[label] as string) : (tags[label] as Tag).name);
  return {
    outputForm: "tokens",
    width: labels.length,
    open(text, tokens: Tokens, windows: readonly TokenWindow[]) {
      const byWindow: (readonly Entity[])[] = windows.map(() => []);
      return {
        addWindow(window, output: Output) {
          byWindow[window] = entitiesOf(tokens, windows[window] as TokenWindow, output, tags, aggregation);
        },
        finish() {
          const found =
            aggregation === "none" ? farthestFromCuts(byWindow, windows) : joined(byWindow, windows, tags, tokens);
          return found.flatMap(({ first, last, label, score }): readonly ModelFinding[] => {
            const name = nameOf(label);
            const { start, end } = trimmed(text, tokens.starts[first] as number, tokens.ends[last] as number);
            return name === undefined || end <= start ? [] : [{ start, end, label: name, score: rounded(score) }];
          });
        },
      };
    },
  };
}

const SPACE = /\s/;

/** Trims white space, since tokens of some tokenizers begin with the white space before them. */
function trimmed(text: string, from: number, to: number): { readonly start: number; readonly end: number } {
  let [start, end] = [from, to];
  while (start < end && SPACE.test(text[start] as string)) start += 1;
  while (end > start && SPACE.test(text[end - 1] as string)) end -= 1;
  return { start, end };
}
