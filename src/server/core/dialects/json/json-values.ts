/** Readers of JSON whose shape is unchecked. */

export type Values = Readonly<Record<string, unknown>>;

const NO_VALUES: readonly unknown[] = [];

/** Returns the parsed text, or `undefined` if it is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the object, or `undefined` if the value is not an object. */
export function objectOf(value: unknown): Values | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Values) : undefined;
}

/** Returns the list; empty if the value is not an array. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : NO_VALUES;
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
