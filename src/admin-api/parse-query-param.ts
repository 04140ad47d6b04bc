/**
 * Parses a parameter for a statement's `?`, as `-p` and the query workbench accept it. A number in the spelling of
 * JSON, and `true`, `false` and `null`, get their JSON type, so that a column of numbers is compared with a number.
 * Everything else is text, including `05`, `1e3` and integers that a double cannot represent. Double quotes force a
 * text: `"5"`.
 */

type QueryParam = string | number | boolean | null;

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
