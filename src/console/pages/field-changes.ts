/**
 * Field-by-field changes of two documents' objects: a gateway reports which objects differ, not how. Both documents are masked
 * first, so that no value is a credential. Objects from other sources, and documents that do not parse, have no details.
 */

import { safeText } from "./shown-line.ts";

export interface FieldChange {
  /** Path below the object; empty for the object itself. */
  readonly field: string;
  readonly from: string;
  readonly to: string;
}

/** Maximum number of fields of one object; the caller counts the others. */
export const MAX_FIELDS = 12;
/** Maximum length of a value, in UTF-16 units. */
const MAX_VALUE = 60;
const MAX_DEPTH = 12;

/** Returns a function from the path of a changed object to its changes. `before` and `after` are parsed, masked documents. */
export const fieldChanges =
  (before: unknown, after: unknown) =>
  (path: string): readonly FieldChange[] => {
    const [one, other] = [before, after].map((root) => objectAt(root, path));
    return one === undefined || other === undefined ? [] : changesOf(one, other, "", 0).slice(0, MAX_FIELDS + 1);
  };

/** Resolves a path in the gateway's format: keys, and the names of list entries, which may contain dots. */
function objectAt(root: unknown, path: string): unknown {
  if (path === "") return root;
  if (Array.isArray(root)) {
    const named = root.find((it) => isObject(it) && NAMES.some((key) => path === it[key]));
    if (named !== undefined) return named;
    const start = root.find((it) => isObject(it) && NAMES.some((key) => path.startsWith(`${String(it[key])}.`)));
    const name = NAMES.map((key) => (isObject(start) ? start[key] : undefined)).find((it) => typeof it === "string");
    return name === undefined ? undefined : objectAt(start, path.slice(name.length + 1));
  }
  if (!isObject(root)) return undefined;
  const key = Object.keys(root).find((it) => path === it || path.startsWith(`${it}.`));
  return key === undefined ? undefined : objectAt(root[key], path.slice(key.length + 1));
}

const NAMES = ["name", "id", "kind"] as const;

function changesOf(from: unknown, to: unknown, field: string, depth: number): readonly FieldChange[] {
  if (depth < MAX_DEPTH && isObject(from) && isObject(to)) {
    const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])];
    return keys.flatMap((key) => changesOf(from[key], to[key], field === "" ? key : `${field}.${key}`, depth + 1));
  }
  const [one, other] = [from, to].map((value) => JSON.stringify(value));
  return one === other ? [] : [{ field, from: shortJson(one), to: shortJson(other) }];
}

/** Shortens the JSON of a value. `undefined` means that there is no value. */
function shortJson(json: string | undefined): string {
  if (json === undefined) return "(none)";
  return safeText(json.length <= MAX_VALUE ? json : `${json.slice(0, MAX_VALUE)}…`);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
