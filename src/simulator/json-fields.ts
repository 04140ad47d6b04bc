/**
 * Lenient readers of JSON bodies: a field that is absent or of another type reads as `undefined`. Other code refuses
 * invalid requests: `rules/` for chat and messages, and each route for the others.
 */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

export const EMPTY_OBJECT: JsonObject = {};

/** Parses JSON. Throws `SyntaxError` if `text` is not JSON. */
export function parseJson(text: string): Json {
  return JSON.parse(text) as Json;
}

export function objectOf(value: Json | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

export function arrayOf(value: Json | undefined): readonly Json[] | undefined {
  return Array.isArray(value) ? (value as readonly Json[]) : undefined;
}

/** Returns the objects among the entries of an array; empty if it is not an array. */
export function objectsOf(value: Json | undefined): readonly JsonObject[] {
  return (arrayOf(value) ?? []).map(objectOf).filter((entry) => entry !== undefined);
}

export function stringOf(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function integerOf(value: Json | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
}
