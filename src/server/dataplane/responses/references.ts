/**
 * Replaces references to items in a Responses request by the items, so that guardrails, rules, budgets and providers process them
 * as if the client had sent them. Source: design decisions, section 18 (`item_reference`).
 */
import { type JsonSource, Verbatim, writeJson } from "../../core/dialects/index.ts";
import { GENERATED_MARK, parseGeneratedId } from "./response-ids.ts";

const MARK = Buffer.from(GENERATED_MARK);

/** Maximum number of references in a request. No real client sends as many. */
const MAX_REFERENCES = 1_024;

/** Returns false if the body certainly contains no generated id. */
export function mayHaveReferences(body: Buffer): boolean {
  return body.includes(MARK);
}

/** Returns the generated ids that the request refers to, each once. `request`: parsed body. */
export function referencedIds(request: unknown): readonly string[] {
  const ids = new Set<string>();
  for (const item of itemsOf(request)) {
    const id = referenceOf(item);
    if (id !== undefined && parseGeneratedId(id) !== undefined) ids.add(id);
  }
  return [...ids].slice(0, MAX_REFERENCES);
}

/** Returns the body with references replaced by `items` (JSON text by id). */
export function replaceReferences({ value, exact }: JsonSource, items: ReadonlyMap<string, string>): Buffer {
  const input = itemsOf(value).map((item) => {
    const id = referenceOf(item);
    const found = id === undefined ? undefined : items.get(id);
    return found === undefined ? exact(item) : new Verbatim(found);
  });
  const members = Object.entries(value as object).map(([name, member]) => [
    name,
    name === "input" ? input : exact(member),
  ]);
  return Buffer.from(writeJson(Object.fromEntries(members)));
}

/** Returns the id of a reference. The AI SDK writes the type `item_reference`, which is optional in the published schema. */
function referenceOf(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return undefined;
  const { type = null, id, role } = item as { readonly type?: unknown; readonly id?: unknown; readonly role?: unknown };
  const isReference = type === "item_reference" || (type === null && role === undefined);
  return isReference && typeof id === "string" ? id : undefined;
}

function itemsOf(request: unknown): readonly unknown[] {
  if (typeof request !== "object" || request === null) return NO_ITEMS;
  const { input } = request as { readonly input?: unknown };
  return Array.isArray(input) ? input : NO_ITEMS;
}

const NO_ITEMS: readonly unknown[] = [];
