/**
 * Results of `tools/list`: what a shared cache may keep, and which tools a caller may see. Source: mcp reference, 5 and 11;
 * design decisions, sections 7 and 11.
 */
import { applySplices, type JsonNode, memberOf, parseJsonTree, type Splice, stringIn } from "../../dialects/index.ts";

export interface SharingTerms {
  /** Lifetime in milliseconds, above 0. */
  readonly ttlMs: number;
}

/** Maximum lifetime of a list that a server can ask for, in milliseconds. */
const MAX_TTL_MS = 24 * 3_600_000;

/** Returns how long a list may be shared, or `undefined` if it must not be. `message` is the JSON text of the response. */
export function sharingTermsOf(message: string): SharingTerms | undefined {
  const result = memberOf(parseJsonTree(message), "result");
  const resultText = (name: string): string | undefined => stringIn(message, memberOf(result, name));
  const ttl = memberOf(result, "ttlMs");
  if (ttl?.kind !== "scalar" || resultText("resultType") !== "complete" || resultText("cacheScope") !== "public")
    return undefined;
  const written = message.slice(ttl.start, ttl.end);
  const ttlMs = /^[0-9]{1,15}$/.test(written) ? Math.min(Number(written), MAX_TTL_MS) : 0;
  return ttlMs > 0 ? { ttlMs } : undefined;
}

/** Returns a cached response as the answer to another request. `id` is JSON text; `ttlMs` is the remaining lifetime. */
export function answerFromCache(message: string, id: string, ttlMs: number): string {
  const root = parseJsonTree(message);
  const result = memberOf(root, "result");
  const replacements = [
    [memberOf(root, "id"), id],
    [memberOf(result, "ttlMs"), String(Math.max(0, Math.floor(ttlMs)))],
  ] as const;
  const splices = replacements.flatMap(([node, text]): Splice[] =>
    node === undefined ? [] : [{ start: node.start, end: node.end, text }],
  );
  return applySplices(message, splices);
}

/** Removes tools that `isVisible` rejects; a filtered list is not shared. Returns the same text if nothing is removed. */
export function filterTools(message: string, isVisible: (name: string) => boolean): string {
  const result = memberOf(parseJsonTree(message), "result");
  const tools = memberOf(result, "tools");
  if (result?.kind !== "object" || tools?.kind !== "array") return message;
  const visibleTools = tools.items.filter((tool) => {
    // A tool without a name cannot be called. If a tool has two names, clients may take either, so both must be
    // allowed.
    const names = tool.kind === "object" ? tool.members.filter(({ name }) => name === "name") : [];
    return names.length > 0 && names.every(({ value }) => isVisible(stringIn(message, value) ?? ""));
  });
  if (visibleTools.length === tools.items.length) return message;
  const texts = visibleTools.map(({ start, end }) => message.slice(start, end));
  const splices: Splice[] = [{ start: tools.start, end: tools.end, text: `[${texts.join(",")}]` }];
  splices.push(privateScope(result));
  return applySplices(message, splices);
}

function privateScope(result: Extract<JsonNode, { kind: "object" }>): Splice {
  const scope = memberOf(result, "cacheScope");
  if (scope !== undefined) return { start: scope.start, end: scope.end, text: '"private"' };
  const at = result.start + 1;
  return { start: at, end: at, text: `"cacheScope":"private"${result.members.length > 0 ? "," : ""}` };
}
