/**
 * Represents CEL values as JavaScript values: int is bigint, double is number, the others have classes.
 *
 * JSON values are used unchanged: an array is a list, a plain object a map with string keys, and a number a double, as the
 * language's JSON mapping specifies. So `args.n > 2` works and `args.n + 1` does not (`int(args.n) + 1` does). Only own
 * properties of an object are keys.
 */

import type { Type } from "./types.ts";

export class Uint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

/** Point in time, in nanoseconds since 1970-01-01T00:00:00Z. */
export class Timestamp {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Duration {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class TypeValue {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

export type MapKey = string | bigint | boolean;

/** Map created by an expression. Equal int and uint keys are one key, as equality specifies. */
export class CelMap {
  readonly entries: ReadonlyMap<MapKey, { readonly key: Value; readonly value: Value }>;
  constructor(entries: ReadonlyMap<MapKey, { readonly key: Value; readonly value: Value }>) {
    this.entries = entries;
  }
}

export type List = readonly Value[];
export interface Json {
  readonly [key: string]: Value;
}

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | List
  | CelMap
  | Json;

/** Returns whether a caller's value can be a CEL value. Nested values are not checked. */
export function isValue(value: unknown): value is Value {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "number":
    case "bigint":
    case "object":
      return true;
    default:
      return false;
  }
}

export const MAX_INT = 2n ** 63n - 1n;
export const MIN_INT = -(2n ** 63n);
export const MAX_UINT = 2n ** 64n - 1n;

export const isList = (value: Value): value is List => Array.isArray(value);

/** Returns whether the value is a JSON object: only objects without a class are. */
function isJson(value: Value): value is Json {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

export const isMap = (value: Value): value is CelMap | Json => isJson(value) || value instanceof CelMap;

function nameOfObject(value: object): string {
  if (Array.isArray(value)) return "list";
  if (value instanceof CelMap) return "map";
  if (value instanceof Uint) return "uint";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof Duration) return "google.protobuf.Duration";
  if (value instanceof TypeValue) return "type";
  if (value instanceof Uint8Array) return "bytes";
  return "map";
}

/** Returns the name of a value's type, as `type(x)` gives it. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "string":
      return "string";
    default:
      return value === null ? "null_type" : nameOfObject(value);
  }
}

/** Returns the canonical form of a map key; `undefined` for a value that cannot be one. */
export function mapKey(value: Value): MapKey | undefined {
  switch (typeof value) {
    case "string":
    case "bigint":
    case "boolean":
      return value;
    case "number":
      return Number.isInteger(value) ? BigInt(value) : undefined;
    default:
      return value instanceof Uint ? value.value : undefined;
  }
}

export function mapGet(map: CelMap | Json, key: Value): Value | undefined {
  if (map instanceof CelMap) {
    const canonical = mapKey(key);
    return canonical === undefined ? undefined : map.entries.get(canonical)?.value;
  }
  return typeof key === "string" && Object.hasOwn(map, key) ? map[key] : undefined;
}

export const mapSize = (map: CelMap | Json): number =>
  map instanceof CelMap ? map.entries.size : Object.keys(map).length;

export const mapKeys = (map: CelMap | Json): List =>
  map instanceof CelMap ? [...map.entries.values()].map(({ key }) => key) : Object.keys(map);

export const mapEntries = (map: CelMap | Json): readonly (readonly [key: Value, value: Value])[] =>
  map instanceof CelMap
    ? [...map.entries.values()].map(({ key, value }) => [key, value] as const)
    : Object.entries(map);

/** Returns whether a value belongs to a type, including nested values. Used by tests and by readers of variables. */
export function belongs(value: Value, type: Type): boolean {
  switch (type.kind) {
    case "dyn":
    case "param":
      return true;
    case "list":
      return isList(value) && value.every((item) => belongs(item, type.item));
    case "map":
      return (
        isMap(value) && mapEntries(value).every(([key, item]) => belongs(key, type.key) && belongs(item, type.value))
      );
    case "record":
      return (
        isMap(value) &&
        Object.entries(type.fields).every(([name, field]) => {
          const item = mapGet(value, name);
          return item !== undefined && belongs(item, field);
        })
      );
    case "type":
      return value instanceof TypeValue;
    case "null":
      return value === null;
    case "timestamp":
      return value instanceof Timestamp;
    case "duration":
      return value instanceof Duration;
    default:
      return typeName(value) === type.kind;
  }
}
