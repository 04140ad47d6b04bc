/**
 * Reads the findings of a sequence classifier (`classify`): the best score of each label over the windows. Source:
 * guardrails reference, 3.2.
 */

import type { Tokens } from "../text/text-tokens.ts";
import type { TokenWindow } from "../text/token-windows.ts";
import { hull } from "./label-spans.ts";
import { rounded, sigmoid, softmax } from "./scores.ts";
import type { ModelFinding, Output, Reader } from "./types.ts";

export interface VerdictsSpec {
  readonly type: "classify";
  /**
   * Reported names by label of the model, in index order; null if the label means that nothing was found, or is not
   * selected.
   */
  readonly names: readonly (string | null)[];
  readonly activation: "softmax" | "sigmoid";
  /** Minimum score of a finding. */
  readonly floor: number;
}

export function createVerdicts({ names, activation, floor }: VerdictsSpec): Reader {
  return {
    outputForm: "text",
    width: names.length,
    open(_text, tokens: Tokens, windows: readonly TokenWindow[]) {
      const byWindow = windows.map(() => new Float64Array(names.length));
      return {
        addWindow(window, { data, at, width }: Output) {
          const scores = byWindow[window] as Float64Array;
          if (activation === "softmax") softmax(data, at, width, scores);
          else for (let label = 0; label < width; label++) scores[label] = sigmoid(data[at + label] as number);
        },
        finish() {
          const best = new Map<string, { score: number; first: number; last: number }>();
          byWindow.forEach((scores, window) => {
            names.forEach((name, label) => {
              const score = rounded(scores[label] as number);
              if (name === null || !(score >= floor)) return;
              const known = best.get(name);
              if (known === undefined) best.set(name, { score, first: window, last: window });
              else best.set(name, { score: Math.max(known.score, score), first: known.first, last: window });
            });
          });
          return Array.from(
            best,
            ([label, { score, first, last }]): ModelFinding => ({
              ...hull(tokens, windows, first, last),
              label,
              score,
            }),
          );
        },
      };
    },
  };
}
