/**
 * Vocabulary that describes bodies, parameters and answers of the admin API, once.
 *
 * A description is a JSON Schema (2020-12) that carries its TypeScript type: the server validates by the schema, the OpenAPI
 * document contains it, `TypeOf` reads the type. Formats and `x-` keywords are those that the server supports: `duration` (Go
 * style, zero or more), `positive-duration`, `duration-or-empty`, `date-time` (RFC 3339, UTC), `x-max-duration` (a duration).
 */

declare const type: unique symbol;

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Schema<T> {
  readonly [type]?: T;
  readonly json: JsonSchema;
}

/** A key that may be absent. */
export interface Optional<T> extends Schema<T> {
  readonly isOptional: true;
}

export type TypeOf<S> = S extends Schema<infer T> ? T : never;

type Keys = Readonly<Record<string, Schema<unknown>>>;
type OptionalOf<K extends Keys> = { [N in keyof K]: K[N] extends Optional<unknown> ? N : never }[keyof K];

export type ObjectOf<K extends Keys> = {
  readonly [N in Exclude<keyof K, OptionalOf<K>>]: TypeOf<K[N]>;
} & {
  readonly [N in OptionalOf<K>]?: TypeOf<K[N]>;
};

export interface TextLimits {
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: "duration" | "positive-duration" | "duration-or-empty" | "date-time";
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
}

export const integer = (description: string, limits: NumberLimits = {}): Schema<number> => ({
  json: { type: "integer", description, ...limits },
});

export const number = (description: string, limits: NumberLimits = {}): Schema<number> => ({
  json: { type: "number", description, ...limits },
});

export const flag = (description: string): Schema<boolean> => ({ json: { type: "boolean", description } });

/** Returns a schema of any JSON value. */
export const any = (description: string): Schema<unknown> => ({ json: { description } });

/** Allows null for a missing value. */
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

export const map = <T>(
  description: string,
  values: Schema<T>,
  { keyPattern, maxProperties }: MapLimits,
): Schema<Readonly<Record<string, T>>> => ({
  json: {
    type: "object",
    description,
    additionalProperties: values.json,
    propertyNames: { type: "string", pattern: keyPattern },
    maxProperties,
  },
});

export interface ObjectSchema<K extends Keys = Keys> extends Schema<ObjectOf<K>> {
  readonly keys: K;
}

/** Returns a schema of an object with these keys and no others. */
export const object = <const K extends Keys>(description: string, keys: K): ObjectSchema<K> => {
  const required = Object.keys(keys).filter((name) => !isOptional(keys[name]));
  return {
    keys,
    json: {
      type: "object",
      description,
      properties: Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, key.json])),
      additionalProperties: false,
      ...(required.length > 0 && { required }),
    },
  };
};

export const optional = <T>(schema: Schema<T>): Optional<T> => ({ json: schema.json, isOptional: true });

function isOptional(schema: Schema<unknown> | undefined): boolean {
  return schema !== undefined && "isOptional" in schema;
}
