/** Metadata of a key as one line: `team=core,env=prod`, or a JSON object of texts if a value contains a comma. */

const MAX_PAIRS = 64;

type MetadataText =
  | { readonly kind: "metadata"; readonly metadata: Readonly<Record<string, string>> }
  | { readonly kind: "invalid"; readonly problem: string };

export function metadataOf(text: string): MetadataText {
  if (text.trimStart().startsWith("{")) return fromJson(text);
  const pairs = text.split(",").map((pair) => pair.trim());
  if (pairs.length === 1 && pairs[0] === "") return { kind: "metadata", metadata: {} };
  if (pairs.length > MAX_PAIRS) return { kind: "invalid", problem: `a key has at most ${MAX_PAIRS} metadata entries` };
  const found = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, at)).trim();
    if (name === "") return { kind: "invalid", problem: "metadata is written as team=core,env=prod" };
    if (found.has(name)) return { kind: "invalid", problem: `metadata names ${name} twice` };
    found.set(name, pair.slice(at + 1).trim());
  }
  return { kind: "metadata", metadata: Object.fromEntries(found) };
}

function fromJson(text: string): MetadataText {
  const problem = 'metadata in JSON is an object of texts: {"team":"core, ops"}';
  try {
    const value: unknown = JSON.parse(text);
    const entries = Object.entries(value as object);
    if (entries.length > MAX_PAIRS)
      return { kind: "invalid", problem: `a key has at most ${MAX_PAIRS} metadata entries` };
    const isTexts = entries.every(([name, it]) => name !== "" && typeof it === "string");
    return isTexts ? { kind: "metadata", metadata: Object.fromEntries(entries) } : { kind: "invalid", problem };
  } catch {
    return { kind: "invalid", problem };
  }
}
