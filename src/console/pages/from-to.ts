/**
 * What the changed objects of two documents were and are, field by field: a gateway tells which objects differ, not how.
 * Both documents are read masked, so a value that may be a credential is never in what is told. What is composed of other
 * sources, or does not parse, is left without.
 */

import { shown } from "./shown.ts";

export interface FieldChange {
  /** Below the object; empty: the object itself. */
  readonly field: string;
  readonly from: string;
  readonly to: string;
}

/** Fields told of one object; the others are counted by whoever draws. */
export const MOST_FIELDS = 12;
/** UTF-16 units of a value that is told. */
const MOST_VALUE = 60;
const MOST_DEPTH = 12;

/** For each path of a changed object, what changed in it. `before`, `after`: documents that were parsed, masked. */
export const fieldChanges =
  (before: unknown, after: unknown) =>
  (path: string): readonly FieldChange[] => {
    const [one, other] = [before, after].map((root) => objectAt(root, path));
    return one === undefined || other === undefined ? [] : changesOf(one, other, "", 0).slice(0, MOST_FIELDS + 1);
  };

/** As gateways write paths: keys, and for entries of lists their names, which may hold dots themselves. */
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
  if (depth < MOST_DEPTH && isObject(from) && isObject(to)) {
    const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])];
    return keys.flatMap((key) => changesOf(from[key], to[key], field === "" ? key : `${field}.${key}`, depth + 1));
  }
  const [one, other] = [from, to].map((value) => JSON.stringify(value));
  return one === other ? [] : [{ field, from: told(one), to: told(other) }];
}

/** `json` undefined: there is none. */
function told(json: string | undefined): string {
  if (json === undefined) return "(none)";
  return shown(json.length <= MOST_VALUE ? json : `${json.slice(0, MOST_VALUE)}…`);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
