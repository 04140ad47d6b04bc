/**
 * Vocabulary for schemas of documents and messages: configuration, rule suites, and bodies, parameters and answers of
 * the admin API.
 *
 * A schema is a JSON Schema (2020-12) with its TypeScript type: validation uses the schema, published schemas and the
 * OpenAPI document contain it, and `TypeOf` returns the type. The validators implement formats and `x-` keywords.
 */

declare const type: unique symbol;

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Schema<T> {
  readonly [type]?: T;
  readonly json: JsonSchema;
}

/** Presence of a key: it must be present (`required`), has a default (`default`), or may be absent (`optional`). */
export type Presence = "required" | "default" | "optional";

export interface Key<T, P extends Presence = Presence> extends Schema<T> {
  readonly presence: P;
}

export type TypeOf<S> = S extends Schema<infer T> ? T : never;

export type Keys = Readonly<Record<string, Schema<unknown>>>;

/** Type of an object with the keys `K`, of which `A` may be absent. */
export type ObjectOf<K extends Keys, A extends keyof K> = {
  readonly [N in Exclude<keyof K, A>]: TypeOf<K[N]>;
} & {
  readonly [N in A]?: TypeOf<K[N]>;
};

/** Names of the keys of `K` that are marked with one of the presences `P`. */
export type KeysWithPresence<K extends Keys, P extends Presence> = {
  [N in keyof K]: K[N] extends Key<unknown, P> ? N : never;
}[keyof K];

/**
 * Formats of texts: `duration` (Go style, zero or more; `positive-duration` more than zero; `signed-duration` may be
 * negative), `address` (`host:port` or `:port`), `url` (absolute http or https, without a user), `date` (`YYYY-MM-DD`),
 * `date-time` (RFC 3339 in UTC, with milliseconds). `-or-empty` allows the empty text, which means the same as an
 * absent key; `address-or-none` allows the word `none`.
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
  | "date"
  | "date-time";

export interface TextLimits {
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: Format;
  /** Maximum duration, as a text such as `24h`. */
  readonly "x-max-duration"?: string;
  readonly examples?: readonly string[];
}

export const text = (description: string, limits: TextLimits = {}): Schema<string> => ({
  json: { type: "string", description, ...limits },
});

/** Returns a schema of RFC 3339 in UTC with milliseconds. */
export const time = (description: string): Schema<string> => text(description, { format: "date-time" });

export const choice = <const V extends readonly string[]>(description: string, values: V): Schema<V[number]> => ({
  json: { type: "string", description, enum: values },
});

export interface NumberLimits {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

export const integer = (description: string, limits: NumberLimits = {}): Schema<number> => ({
  json: { type: "integer", description, ...limits },
});

export const number = (description: string, limits: NumberLimits = {}): Schema<number> => ({
  json: { type: "number", description, ...limits },
});

export const flag = (description: string): Schema<boolean> => ({ json: { type: "boolean", description } });

/** Returns a schema of any JSON value. */
export const anything = (description: string): Schema<unknown> => ({ json: { description } });

/** Returns a schema that also allows null, for a missing value. */
export const nullable = <T>(schema: Schema<T>): Schema<T | null> => {
  const { enum: values, type: kind } = schema.json;
  return {
    json: { ...schema.json, type: [kind, "null"], ...(Array.isArray(values) && { enum: [...values, null] }) },
  };
};

export interface ListLimits {
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
}

export const list = <T>(description: string, items: Schema<T>, limits: ListLimits = {}): Schema<readonly T[]> => ({
  json: { type: "array", description, items: items.json, ...limits },
});

export interface MapLimits {
  readonly keyPattern: string;
  readonly maxProperties: number;
}

/** Returns a schema of an object with any keys. */
export const map = <T>(
  description: string,
  values: Schema<T>,
  limits?: MapLimits,
): Schema<Readonly<Record<string, T>>> => ({
  json: {
    type: "object",
    description,
    additionalProperties: values.json,
    ...(limits && {
      propertyNames: { type: "string", pattern: limits.keyPattern },
      maxProperties: limits.maxProperties,
    }),
  },
});

export interface ObjectSchema<K extends Keys = Keys> extends Schema<ObjectOf<K, KeysWithPresence<K, "optional">>> {
  readonly keys: K;
}

/** Returns a schema of an object with these keys and no others; all but the optional ones must be present. */
export const object = <const K extends Keys>(description: string, keys: K): ObjectSchema<K> => ({
  keys,
  json: objectJson(description, keys, (presence = "required") => presence === "required"),
});

/** Returns the JSON Schema of an object with these keys and no others. `isRequired` decides by the presence of a key. */
export function objectJson(
  description: string,
  keys: Keys,
  isRequired: (presence: Presence | undefined) => boolean,
): JsonSchema {
  const required = Object.entries(keys).flatMap(([name, key]) => (isRequired(presenceOf(key)) ? [name] : []));
  return {
    type: "object",
    description,
    properties: Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, key.json])),
    additionalProperties: false,
    ...(required.length > 0 && { required }),
  };
}

export const optional = <T>(schema: Schema<T>): Key<T, "optional"> => ({ ...schema, presence: "optional" });

export const required = <T>(schema: Schema<T>): Key<T, "required"> => ({ ...schema, presence: "required" });

/** Adds a default, so that the key is always present in the result. */
export const withDefault = <T>(schema: Schema<T>, value: T): Key<T, "default"> => ({
  json: { ...schema.json, default: value },
  presence: "default",
});

function presenceOf(schema: Schema<unknown>): Presence | undefined {
  return "presence" in schema ? (schema as Key<unknown>).presence : undefined;
}
