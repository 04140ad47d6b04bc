/**
 * Vocabulary of the node file and the deployment document: that of `base/schema.ts`, objects whose keys may be absent unless
 * they are `required`, and marks.
 *
 * A key that is valid but whose function this version lacks is wrapped in `notYet`, which refuses it wherever it is present;
 * building the function means taking the wrapper off.
 *
 * Which references a text may hold is marked: without a mark `${VAR}` alone; `x-references: none` none; `x-references:
 * any`, `x-references: header` and `x-secret` secrets and files as well.
 */

import {
  type Format as AnyFormat,
  type Keys,
  type Marked,
  type ObjectOf,
  objectJson,
  type Schema,
  text,
} from "../../../../base/index.ts";

export {
  anything,
  choice,
  flag,
  integer,
  type JsonSchema,
  list,
  map,
  number,
  required,
  type Schema,
  type TextLimits,
  type TypeOf,
  text,
  withDefault,
} from "../../../../base/index.ts";

export type Format = Exclude<AnyFormat, "date-time">;

/** A Go-style duration such as `250ms`, `1h30m`; kept as text here and parsed where it is compiled. */
export const duration = (description: string): Schema<string> => text(description, { format: "duration" });

/** Same as `duration`, for limits that zero would turn off. */
export const positiveDuration = (description: string): Schema<string> =>
  text(description, { format: "positive-duration" });

/** Same as `duration`, for a key whose negative values have a meaning. */
export const signedDuration = (description: string): Schema<string> => text(description, { format: "signed-duration" });

/** A name that others refer to; it is the same on every node and contains no reference. */
export const withoutReferences = (schema: Schema<string>): Schema<string> => ({
  json: { ...schema.json, "x-references": "none" },
});

/** An address, a header's value, or something that accompanies a credential: it may come from a secret without being one. */
export const mayBeSecret = <T>(schema: Schema<T>): Schema<T> => ({
  json: { ...schema.json, "x-references": "any" },
});

/**
 * A credential: trimmed at load, and refused with a character that no header carries. No problem contains its value, and one
 * that is written literally in a document that travels gets a warning.
 */
export const secret = (schema: Schema<string>): Schema<string> => ({ json: { ...schema.json, "x-secret": true } });

/** Same as `mayBeSecret`, for header values: trimmed at load, and refused with characters that headers cannot carry. */
export const headerValue = <T>(schema: Schema<T>): Schema<T> => ({
  json: { ...schema.json, "x-references": "header" },
});

/** Key material that is taken as it is, white space included: PEM, and what other keys are derived from. */
export const verbatimSecret = (schema: Schema<string>): Schema<string> => ({
  json: { ...schema.json, "x-secret": "verbatim" },
});

/** A credential that must be a reference: a literal one is refused. */
export const referenceOnly = (schema: Schema<string>): Schema<string> => ({
  json: { ...schema.json, "x-secret": "reference" },
});

/** The empty text means that the key is absent: document 3 gives it that meaning. */
export const orEmpty = <T>(schema: Schema<T>): Schema<T> => ({ json: { ...schema.json, "x-empty": true } });

/** Adds values that editors and the reference show. Texts take theirs as a limit, and objects and lists without any get derived ones. */
export const example = <T>(schema: Schema<T>, ...values: readonly unknown[]): Schema<T> => ({
  json: { ...schema.json, examples: values },
});

export interface ObjectRules {
  /** Groups of keys of which at most one may be present. */
  readonly exclusive?: readonly (readonly string[])[];
  /** Groups of keys of which exactly one must be present. */
  readonly oneOf?: readonly (readonly string[])[];
  /** Groups of keys that are present together or not at all. */
  readonly together?: readonly (readonly string[])[];
  /** Whole values for editors and the reference. */
  readonly examples?: readonly object[];
}

/**
 * Returns a schema of an object with exactly these keys, which may be absent unless they are `required`; a member `name` contains
 * no references. Rules are annotations (`x-exclusive`, `x-one-of`, `x-together`), which our validator reads so that a violation
 * becomes a sentence, and plain JSON Schema when printed.
 */
export const object = <const K extends Keys>(
  description: string,
  keys: K,
  { exclusive, oneOf, together, examples }: ObjectRules = {},
): Schema<ObjectOf<K, Exclude<keyof K, Marked<K, "required" | "default">>>> => {
  const { name } = keys;
  const described =
    name === undefined ? keys : { ...keys, name: { ...name, ...withoutReferences(name as Schema<string>) } };
  return {
    json: {
      ...objectJson(description, described, (presence) => presence === "required"),
      ...(examples && { examples }),
      ...(exclusive && { "x-exclusive": exclusive }),
      ...(oneOf && { "x-one-of": oneOf }),
      ...(together && { "x-together": together }),
    },
  };
};

/**
 * Same as `withDefault`, but the default is not written into the document: readers apply it. A written default is part of the
 * document's digest, so a key that got its default later uses this.
 */
export const assumed = <T>(schema: Schema<T>, value: T): Schema<T> => ({
  json: { ...schema.json, "x-assumed": value },
});

/** A key of the contract that this version cannot honor: present, it is refused as `not supported by this version`. */
export const notYet = <S extends Schema<unknown>>(schema: S): S => ({
  ...schema,
  json: { ...schema.json, "x-not-yet": true },
});
