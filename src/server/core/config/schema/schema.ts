/**
 * Vocabulary of the node file and the deployment document: that of `base/schema.ts`, objects whose keys may be absent unless
 * they are `required`, and marks.
 *
 * A valid key whose function this version lacks is wrapped in `notYet`, which refuses it wherever it is present; remove the
 * wrapper when the function is built.
 *
 * Marks define which references a text may contain: without a mark only `${VAR}`; with `x-references: none` none; with
 * `x-references: any`, `x-references: header` and `x-secret` also secrets and files.
 */

import {
  type Format as AnyFormat,
  type Keys,
  type KeysWithPresence,
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

/** Returns a schema of a Go-style duration such as `250ms`, `1h30m`. It stays a text here and is parsed where it is compiled. */
export const duration = (description: string): Schema<string> => text(description, { format: "duration" });

/** Same as `duration`, for limits that zero would turn off. */
export const positiveDuration = (description: string): Schema<string> =>
  text(description, { format: "positive-duration" });

/** Same as `duration`, for a key whose negative values have a meaning. */
export const signedDuration = (description: string): Schema<string> => text(description, { format: "signed-duration" });

/** Returns the schema of a name that others refer to; it is the same on every node and contains no reference. */
export const withoutReferences = (schema: Schema<string>): Schema<string> => ({
  json: { ...schema.json, "x-references": "none" },
});

/**
 * Returns the schema of a value that may come from a secret without being one: an address, a header's value, or a companion of a
 * credential.
 */
export const mayBeSecret = <T>(schema: Schema<T>): Schema<T> => ({
  json: { ...schema.json, "x-references": "any" },
});

/**
 * Returns the schema of a credential. It is trimmed on load, and refused if it contains a character that headers cannot carry.
 * No problem contains its value, and a literal one gets a warning in a document that is passed around.
 */
export const secret = (schema: Schema<string>): Schema<string> => ({ json: { ...schema.json, "x-secret": true } });

/** Same as `mayBeSecret`, for header values: trimmed at load, and refused with characters that headers cannot carry. */
export const headerValue = <T>(schema: Schema<T>): Schema<T> => ({
  json: { ...schema.json, "x-references": "header" },
});

/**
 * Returns the schema of key material that is taken unchanged, including white space: PEM, and secrets from which keys are
 * derived.
 */
export const verbatimSecret = (schema: Schema<string>): Schema<string> => ({
  json: { ...schema.json, "x-secret": "verbatim" },
});

/** Returns the schema of a credential that must be a reference: a literal one is refused. */
export const referenceOnly = (schema: Schema<string>): Schema<string> => ({
  json: { ...schema.json, "x-secret": "reference" },
});

/** Returns a schema that treats an empty text as an absent key, as document 3 defines. */
export const orEmpty = <T>(schema: Schema<T>): Schema<T> => ({ json: { ...schema.json, "x-empty": true } });

/**
 * Adds examples that editors and the reference show. Texts state theirs among their limits; objects and lists without any get
 * derived examples.
 */
export const example = <T>(schema: Schema<T>, ...values: readonly unknown[]): Schema<T> => ({
  json: { ...schema.json, examples: values },
});

interface ObjectRules {
  /** Groups of keys of which at most one may be present. */
  readonly exclusive?: readonly (readonly string[])[];
  /** Groups of keys of which exactly one must be present. */
  readonly oneOf?: readonly (readonly string[])[];
  /** Groups of keys that are present together or not at all. */
  readonly together?: readonly (readonly string[])[];
  /** Example objects for editors and the reference. */
  readonly examples?: readonly object[];
}

/**
 * Returns a schema of an object with exactly these keys, which may be absent unless they are `required`; a member `name`
 * contains no references. Rules are annotations (`x-exclusive`, `x-one-of`, `x-together`), which our validator reads to report a
 * violation as a sentence, and which are plain JSON Schema when printed.
 */
export const object = <const K extends Keys>(
  description: string,
  keys: K,
  { exclusive, oneOf, together, examples }: ObjectRules = {},
): Schema<ObjectOf<K, Exclude<keyof K, KeysWithPresence<K, "required" | "default">>>> => {
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
 * document's digest, so a key whose default was added later uses this.
 */
export const assumed = <T>(schema: Schema<T>, value: T): Schema<T> => ({
  json: { ...schema.json, "x-assumed": value },
});

/** Marks a key that this version does not support: if present, it is refused as `not supported by this version`. */
export const notYet = <S extends Schema<unknown>>(schema: S): S => ({
  ...schema,
  json: { ...schema.json, "x-not-yet": true },
});
