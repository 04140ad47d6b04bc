/** Segment kinds, entity types and namespaces that detectors and guardrail rules share. */

import { choice, list, type Schema, text } from "../../schema/schema.ts";
import { filledAs } from "../terms.ts";

const WRITABLE_KINDS = ["system", "user", "assistant", "tool_args", "tool_result", "output"] as const;

/** All segment kinds. `header` and `query` can be read and denied, but never rewritten. */
const SEGMENT_KINDS = [...WRITABLE_KINDS, "header", "query"] as const;

export const segmentKinds = (description: string): Schema<readonly (typeof SEGMENT_KINDS)[number][]> =>
  list(
    description,
    choice("One kind of segment. It says who wrote the text, or which part of a request it is.", SEGMENT_KINDS),
    {
      minItems: 1,
      uniqueItems: true,
    },
  );

/** Returns a schema of kinds without `header` and `query`, for rewriting rules and for the context that a judge receives. */
export const writableKinds = (description: string): Schema<readonly (typeof WRITABLE_KINDS)[number][]> =>
  list(description, choice("One kind of segment that can be rewritten.", WRITABLE_KINDS), {
    uniqueItems: true,
  });

export const category = (description: string, example: string): Schema<string> =>
  text(description, { pattern: "^[a-z0-9_.-]*$", examples: [example] });

export const entityTypes = (description: string): Schema<readonly string[]> =>
  list(description, filledAs("One entity type, without its category.", "CREDIT_CARD"), { uniqueItems: true });
