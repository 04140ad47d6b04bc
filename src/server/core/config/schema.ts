/**
 * The vocabulary in which the node file and the deployment document are described, once.
 *
 * A description is a JSON Schema (2020-12) that carries its TypeScript type along: validation runs the schema,
 * `-config-schema` prints it, `TypeOf` reads the type. A key that is valid but whose function this version lacks is
 * wrapped in `notYet`, which refuses it wherever it is present; building the function means taking the wrapper off.
 *
 * Which references a text may hold is marked: without a mark `${VAR}` alone; `x-references: none` none; `x-references:
 * any`, `x-references: header` and `x-secret` secrets and files as well.
 */

declare const type: unique symbol;

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Schema<T> {
  readonly [type]?: T;
  readonly json: JsonSchema;
}

/** Marks how a key may be absent: it may not (`required`), it is filled in (`default`), or it stays away. */
type Presence = "required" | "default" | "optional";

export interface Key<T, P extends Presence = Presence> extends Schema<T> {
  readonly presence: P;
}

export type TypeOf<S> = S extends Schema<infer T> ? T : never;

type Keys = Readonly<Record<string, Schema<unknown>>>;
type Present<K extends Keys> = {
  [N in keyof K]: K[N] extends Key<unknown, "required"> | Key<unknown, "default"> ? N : never;
}[keyof K];
type ObjectOf<K extends Keys> = {
  readonly [N in Present<K>]: TypeOf<K[N]>;
} & {
  readonly [N in Exclude<keyof K, Present<K>>]?: TypeOf<K[N]>;
};

/**
 * `duration` (Go style, zero or more; `positive-duration` more than zero; `signed-duration` may be negative), `address` (`host:port` or `:port`), `url`
 * (absolute http or https, without a user), `date` (`YYYY-MM-DD`). `-or-empty` allows the empty text, which then means
 * the same as leaving the key out; `address-or-none` allows the word `none`.
 */
export type Format =
  | "duration"
  | "positive-duration"
  | "signed-duration"
  | "duration-or-empty"
  | "address"
  | "address-or-empty"
  | "address-or-none"
  | "url"
  | "url-or-empty"
  | "date";

export interface TextLimits {
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  /** Format of the text; the formats and their parsers are in `formats.ts`. */
  readonly format?: Format;
  readonly examples?: readonly string[];
}

export interface NumberLimits {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

export const text = (description: string, limits: TextLimits = {}): Schema<string> => ({
  json: { type: "string", description, ...limits },
});

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

/** A credential, trimmed at load and refused with a character that no header carries: its value is in no problem, and written literally where it travels it is warned of. */
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

export const choice = <const V extends readonly string[]>(description: string, values: V): Schema<V[number]> => ({
  json: { type: "string", description, enum: values },
});

export const integer = (description: string, limits: NumberLimits = {}): Schema<number> => ({
  json: { type: "integer", description, ...limits },
});

export const number = (description: string, limits: NumberLimits = {}): Schema<number> => ({
  json: { type: "number", description, ...limits },
});

export const flag = (description: string): Schema<boolean> => ({ json: { type: "boolean", description } });

/** Any JSON value, kept as it is. */
export const anything = (description: string): Schema<unknown> => ({ json: { description } });

export interface ListLimits {
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
}

/** Adds values that editors and the reference show. Texts take theirs as a limit, and objects and lists without any get derived ones. */
export const example = <T>(schema: Schema<T>, ...values: readonly unknown[]): Schema<T> => ({
  json: { ...schema.json, examples: values },
});

export const list = <T>(description: string, items: Schema<T>, limits: ListLimits = {}): Schema<readonly T[]> => ({
  json: { type: "array", description, items: items.json, ...limits },
});

export const map = <T>(description: string, values: Schema<T>): Schema<Readonly<Record<string, T>>> => ({
  json: { type: "object", description, additionalProperties: values.json },
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
 * An object with exactly these keys; a member `name` contains no references. Rules are annotations (`x-exclusive`, `x-one-of`,
 * `x-together`), which our validator reads so that a violation becomes a sentence, and plain JSON Schema when printed.
 */
export const object = <const K extends Keys>(
  description: string,
  keys: K,
  rules: ObjectRules = {},
): Schema<ObjectOf<K>> => {
  const required = Object.keys(keys).filter((name) => presenceOf(keys[name]) === "required");
  return {
    json: {
      type: "object",
      description,
      properties: Object.fromEntries(
        Object.entries(keys).map(([name, key]) => [
          name,
          name === "name" ? { ...key.json, "x-references": "none" } : key.json,
        ]),
      ),
      additionalProperties: false,
      ...(rules.examples && { examples: rules.examples }),
      ...(required.length > 0 && { required }),
      ...(rules.exclusive && { "x-exclusive": rules.exclusive }),
      ...(rules.oneOf && { "x-one-of": rules.oneOf }),
      ...(rules.together && { "x-together": rules.together }),
    },
  };
};

export const required = <T>(schema: Schema<T>): Key<T, "required"> => ({ ...schema, presence: "required" });

/** Present in the result whether written or not. */
export const withDefault = <T>(schema: Schema<T>, value: T): Key<T, "default"> => ({
  json: { ...schema.json, default: value },
  presence: "default",
});

/**
 * Same as `withDefault`, but the default is not written into the document: readers apply it. A written default is part of the
 * document's digest, so a key that got its default later uses this.
 */
export const assumed = <T>(schema: Schema<T>, value: T): Schema<T> => ({
  json: { ...schema.json, "x-assumed": value },
});

/** A key of the contract that this version cannot honour: present, it is refused as `not supported by this version`. */
export const notYet = <S extends Schema<unknown>>(schema: S): S => ({
  ...schema,
  json: { ...schema.json, "x-not-yet": true },
});

function presenceOf(schema: Schema<unknown> | undefined): Presence {
  return schema !== undefined && "presence" in schema ? (schema as Key<unknown>).presence : "optional";
}
