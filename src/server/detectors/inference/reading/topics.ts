/**
 * Reads the findings of an embedding model (`embed`): the topic with the nearest examples, if it is nearer than the
 * other topics and ordinary traffic. Source: guardrails reference, 3.3.
 */

import type { Tokens } from "../text/text-tokens.ts";
import type { TokenWindow } from "../text/token-windows.ts";
import { hull } from "./label-spans.ts";
import { rounded, sigmoid } from "./scores.ts";
import type { Output, Reader } from "./types.ts";

export interface TopicsSpec {
  readonly type: "embed";
  readonly topics: readonly { readonly name: string; readonly examples: readonly string[] }[];
  readonly background: readonly string[];
  readonly temperature: number;
  readonly pooling: Pooling;
  /** Topics that are reported. The others still compete with them. */
  readonly reported: readonly string[];
  /** Minimum score of a finding. */
  readonly floor: number;
}

type Pooling = "mean" | "cls";

/** Returns a vector of unit length, or a zero vector if the output is zero. */
export function vectorOf({ data, at, rows, width, usedRows }: Output, pooling: Pooling): Float64Array {
  const vector = new Float64Array(width);
  const pooled = rows === 1 || pooling === "cls" ? 1 : usedRows;
  for (let row = 0; row < pooled; row++) {
    for (let i = 0; i < width; i++) vector[i] = (vector[i] as number) + (data[at + row * width + i] as number);
  }
  let square = 0;
  for (const value of vector) square += value * value;
  const length = Math.sqrt(square);
  if (length > 0) for (let i = 0; i < width; i++) vector[i] = (vector[i] as number) / length;
  return vector;
}

/** Vectors of the windows of each example; long examples have several. */
interface Embedded {
  readonly topics: readonly (readonly Float64Array[])[];
  readonly background: readonly Float64Array[];
}

function nearest(vector: Float64Array, examples: readonly Float64Array[]): number {
  let best = Number.NEGATIVE_INFINITY;
  for (const example of examples) {
    let dot = 0;
    for (let i = 0; i < vector.length; i++) dot += (vector[i] as number) * (example[i] as number);
    best = Math.max(best, dot);
  }
  return best;
}

interface Lead {
  /** Index of the nearest topic. */
  readonly topic: number;
  /** Score from 0 to 1: above one half only if the topic is nearer than the other topics and ordinary traffic. */
  readonly score: number;
}

function leadOf(vector: Float64Array, { topics, background }: Embedded, temperature: number): Lead {
  let [best, topic, second] = [Number.NEGATIVE_INFINITY, 0, Number.NEGATIVE_INFINITY];
  topics.forEach((examples, at) => {
    const score = nearest(vector, examples);
    if (score > best) [best, topic, second] = [score, at, best];
    else second = Math.max(second, score);
  });
  const lead = best - Math.max(nearest(vector, background), second);
  return { topic, score: rounded(sigmoid(lead / temperature)) };
}

export function createTopics(
  { topics, temperature, pooling, reported, floor }: TopicsSpec,
  embedded: Embedded,
): Reader {
  const asked = new Set(reported);
  return {
    outputForm: "either",
    width: embedded.background[0]?.length,
    open(_text, tokens: Tokens, windows: readonly TokenWindow[]) {
      const leads: (Lead | undefined)[] = windows.map(() => undefined);
      return {
        addWindow(window, output: Output) {
          leads[window] = leadOf(vectorOf(output, pooling), embedded, temperature);
        },
        finish() {
          let window = -1;
          leads.forEach((lead, at) => {
            if (lead !== undefined && lead.score > (leads[window]?.score ?? -1)) window = at;
          });
          const { score = 0, topic = 0 } = leads[window] ?? {};
          const label = topics[topic]?.name ?? "";
          if (window < 0 || score < floor || !asked.has(label)) return [];
          return [{ ...hull(tokens, windows, window, window), label, score }];
        },
      };
    },
  };
}
