/**
 * Builders for rows of the recognizer tables.
 *
 * A check digit of ten or eleven values fits every tenth number by chance, and many countries have numbers of the same
 * length. So if neither letters, grouping nor a date make a shape specific, a matching check is no proof: the score is
 * kept, and only context raises it above one half (`keeps`). More specific shapes are proven (`proves`).
 */

import type { Recognizer, ShapeCheck, ShapePattern } from "../types.ts";

type Validate = ShapeCheck;
type Check = (value: string) => boolean;

/** Score of a number that matches a one-digit check by chance: below one half alone, above it beside a context word. */
export const BY_CONTEXT = 0.4;

export function national(
  name: string,
  entity: string,
  context: readonly string[],
  ...patterns: readonly ShapePattern[]
): Recognizer {
  return { name: `${name}Recognizer`, entity, category: "pii", patterns, context };
}

/** Returns a shape pattern. `shapes` are separated by spaces. */
export function shape(
  name: string,
  score: number,
  shapes: string,
  validate?: Validate,
  more: Pick<ShapePattern, "separators" | "mayMixSeparators"> = {},
): ShapePattern {
  const row = { kind: "shape", name, score, shapes: shapes.split(" "), ...more } satisfies ShapePattern;
  return validate === undefined ? row : { ...row, validate };
}

/**
 * Returns shapes with `prefix` and from `least` to `most` characters of `suffix`'s kind: `upTo("L1d", 4, 6)` is
 * `L1d4 L1d5 L1d6`.
 */
export function upTo(prefix: string, least: number, most: number, suffix = ""): string {
  return Array.from({ length: most - least + 1 }, (_, more) => `${prefix}${least + more}${suffix}`).join(" ");
}

/** Returns a check that proves a match if it passes and rejects it if it fails. */
export function proves(check: Check): Validate {
  return (value) => check(value);
}

/** Returns a check that keeps the score if it passes and rejects the match if it fails. */
export function keeps(check: Check): Validate {
  return (value) => (check(value) ? undefined : false);
}

/** Returns a check that the value, without separators, matches `form`. */
export function like(form: RegExp): Validate {
  return formed((value) => form.test(value));
}

/** Returns the same as `keeps`, marked as a check that defines which values are possible (`isForm`), without a check digit. */
export function formed(check: Check): Validate {
  return Object.assign(keeps(check), { isForm: true });
}

/** Returns a check that requires capital letters, since in lower case it would match words: `in to 5`. */
export function capital(validate: Validate = () => undefined): Validate {
  const check: Validate = (value, written) => (written === written.toUpperCase() ? validate(value, written) : false);
  return Object.assign(check, { isForm: validate.isForm === true });
}
