/**
 * Truncates values to fit into a line of limited length: first long texts, then long lists and objects.
 *
 * A pipe accepts a line of at most `MAX_LINE_BYTES` in one piece even if other processes write to it: POSIX keeps
 * writes of up to `PIPE_BUF` bytes together, which is 4,096 on Linux. Truncated values end in `…`; truncation is
 * deterministic.
 */

/** Maximum length of a line in bytes of UTF-8, including the newline. */
export const MAX_LINE_BYTES = 4_096;

export type TruncatedValue =
  | null
  | boolean
  | number
  | string
  | readonly TruncatedValue[]
  | { readonly [name: string]: TruncatedValue };

interface Limits {
  /** Maximum UTF-16 code units of a text, before the `…`. */
  readonly text: number;
  /** Maximum items of a list or members of an object. */
  readonly members: number;
}

/** Maximum nesting; deeper values do not fit a readable line. */
const MAX_DEPTH = 8;
/** Maximum length of a member's name, in UTF-16 code units. */
const MAX_NAME_LENGTH = 100;

const LIMIT_STEPS: readonly Limits[] = [
  ...[4_000, 2_800, 2_000, 1_400, 1_000, 700, 500, 350, 250, 170, 120, 80, 50].map((text) => ({
    text,
    members: 2_000,
  })),
  ...[128, 64, 32, 16, 8, 4, 2].map((members) => ({ text: 50, members })),
  { text: 10, members: 2 },
];

/**
 * Tries smaller and smaller forms of `value` and returns the first result of `attempt` that is not `undefined`;
 * `undefined` if there is none. Values that JSON cannot represent become null, and half a surrogate pair becomes
 * U+FFFD.
 */
export function shrinkToFit<Result>(
  value: unknown,
  attempt: (smaller: TruncatedValue) => Result | undefined,
): Result | undefined {
  for (const limits of LIMIT_STEPS) {
    const result = attempt(truncate(value, limits, 0));
    if (result !== undefined) return result;
  }
  return undefined;
}

/** Returns the first `length` code units of a longer text, followed by `…`. Does not split a surrogate pair. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)}…`;
}

function truncate(value: unknown, limits: Limits, depth: number): TruncatedValue {
  if (typeof value === "string") return cutText(value, limits.text).toWellFormed();
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "boolean") return value;
  if (typeof value !== "object" || value === null) return null;
  if (depth >= MAX_DEPTH) return "…";
  if (Array.isArray(value)) {
    const items = value.slice(0, limits.members).map((item) => truncate(item, limits, depth + 1));
    return value.length > limits.members ? [...items, "…"] : items;
  }
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const kept = entries
    .slice(0, limits.members)
    .map(([name, each]) => [cutText(name, MAX_NAME_LENGTH).toWellFormed(), truncate(each, limits, depth + 1)] as const);
  return Object.fromEntries(
    entries.length > limits.members ? [...kept, ["…", entries.length - limits.members] as const] : kept,
  );
}
