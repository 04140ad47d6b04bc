/** Returns JSON of the value with the keys of its objects in order: the same for the same content. */
export const canonicalText = (value: unknown): string => JSON.stringify(value, ordered) ?? "";

const ordered = (_key: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
