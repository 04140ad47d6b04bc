/**
 * Packs findings for sending between threads: as numbers, with the properties that many findings share sent once.
 * Copying sixteen thousand findings as objects takes the receiver longer than everything else that it does for the
 * text.
 */
import type { Detection, Finding } from "../../../core/guardrails/index.ts";

type Common = Omit<Finding, "start" | "end">;

export interface PackedDetection {
  /** Number of findings of each text. */
  readonly counts: Uint32Array<ArrayBuffer>;
  /** Start, end and index into `common` of each finding, one text after another. */
  readonly places: Uint32Array<ArrayBuffer>;
  readonly common: readonly Common[];
}

export function pack(detection: Detection): PackedDetection {
  const indices = new Map<string, number>();
  const common: Common[] = [];
  const places = new Uint32Array(3 * detection.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const findings of detection) {
    for (const { start, end, category, label, score, recognizer, trace } of findings) {
      const own: Common = { category, label, score, recognizer, trace };
      const key = keyOf(own);
      let index = indices.get(key);
      if (index === undefined) {
        index = common.push(own) - 1;
        indices.set(key, index);
      }
      places[at++] = start;
      places[at++] = end;
      places[at++] = index;
    }
  }
  return { counts: Uint32Array.from(detection, ({ length }) => length), places, common };
}

function keyOf({ category, label, score, recognizer, trace }: Common): string {
  const own = `${category}\0${label}\0${score}\0${recognizer}`;
  if (trace === undefined) return own;
  const { pattern, scoreBase, validated, contextWord, scoreContext } = trace;
  return `${own}\0${pattern}\0${scoreBase}\0${validated}\0${contextWord ?? ""}\0${scoreContext}`;
}

export function unpack({ counts, places, common }: PackedDetection): Detection {
  let at = 0;
  return Array.from(counts, (count) =>
    Array.from({ length: count }, (): Finding => {
      const [start, end, index] = [places[at] as number, places[at + 1] as number, places[at + 2] as number];
      at += 3;
      const { category, label, score, recognizer, trace } = common[index] as Common;
      return { start, end, category, label, score, recognizer, trace };
    }),
  );
}
