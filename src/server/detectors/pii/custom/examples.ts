/**
 * Runs the examples of a custom recognizer when the document is loaded. With a validator, each matched value is altered one
 * digit at a time and must then not match. Messages contain no text of an example.
 */

import type { Finding } from "../../../core/guardrails/index.ts";
import type { Engine } from "../engines.ts";
import { compileScan, type Scan } from "../pii-scan.ts";
import type { Recognizer } from "../types.ts";
import type { CustomRecognizer } from "./validators.ts";

interface ExampleProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

const MAX_EXAMPLES = 100;
const LONGEST_EXAMPLE = 4096;
const MAX_ALTERED = 64;

export function exampleProblems(
  { examples = [], validator }: CustomRecognizer,
  recognizer: Recognizer,
  engine: Engine,
): readonly ExampleProblem[] {
  if (examples.length > MAX_EXAMPLES) {
    return [{ path: ["examples"], message: `${examples.length} examples, at most ${MAX_EXAMPLES}` }];
  }
  if (examples.length === 0) return [];
  const scan = compileScan([recognizer], { engine, usesContext: false });
  return examples.flatMap(({ text, finds }, at) => {
    const path = ["examples", at];
    if (text.length > LONGEST_EXAMPLE) {
      return [{ path: [...path, "text"], message: `${text.length} characters, at most ${LONGEST_EXAMPLE}` }];
    }
    const found = scan(text);
    const wrong = found.findIndex((finding, place) => textOf(text, finding) !== finds[place]);
    if (found.length !== finds.length || wrong >= 0) {
      const first = wrong >= 0 ? wrong : Math.min(found.length, finds.length);
      const message = `${found.length} found where \`finds\` has ${finds.length}; the first that differs is number ${first + 1}`;
      return [{ path, message }];
    }
    if (validator === undefined) return [];
    const altered = found.flatMap((finding, place) => alteredProblem(scan, text, finding, place) ?? []);
    return altered.map((message) => ({ path, message }));
  });
}

function alteredProblem(scan: Scan, text: string, { start, end }: Finding, place: number): string | undefined {
  let tried = 0;
  for (let at = start; at < end && tried < MAX_ALTERED; at++) {
    if (!/[0-9]/.test(text[at]!)) continue;
    tried += 1;
    const digit = (Number(text[at]) + 1) % 10;
    const altered = `${text.slice(0, at)}${digit}${text.slice(at + 1)}`;
    if (!scan(altered).some((finding) => finding.start === start && finding.end === end)) continue;
    return `value ${place + 1} is still found when its digit ${tried} is altered: the validator does not check it`;
  }
  return undefined;
}

function textOf(text: string, { start, end }: Finding): string {
  return text.slice(start, end);
}
