/** Returns the value as JSON with sorted object keys, so that equal content gives equal texts. */
export const canonicalText = (value: unknown): string => JSON.stringify(value, sortKeys) ?? "";

const sortKeys = (_key: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
