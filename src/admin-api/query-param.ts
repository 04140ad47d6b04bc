/**
 * Values of a statement's `?`, as `-p` and the query workbench take them: texts, while a column of numbers is compared
 * with numbers. A value written as JSON writes a number, and `true`, `false` and `null`, are those. So is a text in double
 * quotes that text: `"5"`. Anything else is text as it stands, among it `05`, `1e3` and integers that a double does not
 * hold.
 */

export type QueryParam = string | number | boolean | null;

const WORDS: ReadonlyMap<string, QueryParam> = new Map<string, QueryParam>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

export function paramOf(text: string): QueryParam {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  const number = Number(text);
  if (Number.isFinite(number) && String(number) === text) return number;
  return quoted(text) ?? text;
}

function quoted(text: string): string | undefined {
  if (!/^".*"$/s.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
