/**
 * Differences between two deployments, object by object: which provider, budget, rule or section was added, removed or changed,
 * and in which fields. Values are compared by meaning: key order, quoting, comments, explicit defaults and `1h` instead of `60m`
 * make no difference. The order of a list counts if its first match decides.
 *
 * Results contain paths and names, but no values. Both documents are compared as written (`asWritten`), so that a comparison
 * cannot reveal the value of a reference.
 */

import { parseDuration } from "../../../base/index.ts";
import { type Deployment, deploymentSchema, NAMED_LISTS, type NamedList } from "./deployment/index.ts";
import { formatPath, type Path } from "./problem.ts";
import { fillDefaults } from "./schema/defaults.ts";
import type { JsonSchema } from "./schema/schema.ts";
import { schemaBelow } from "./schema/schema-below.ts";

export interface Difference {
  readonly kind: "added" | "removed" | "changed";
  /** Path with the object's name in place of its index: `providers.main`, `guardrails.rules.no-keys`, `max_body_bytes`. */
  readonly path: string;
  /** Changed fields of an object, such as `pool.subsets`; `order` if a list has the same entries in another order. */
  readonly fields?: readonly string[];
}

/** Returns the differences of two deployments; `undefined` means that there is no deployment. */
export function differencesOf(before: Deployment | undefined, after: Deployment | undefined): readonly Difference[] {
  return sections([], deploymentSchema.json, before ?? {}, after ?? {});
}

/**
 * Returns the fields in which two entries of the named list at `at` differ. Defaults are filled in, and the order of sets is
 * ignored. A field is a path such as `pool.subsets`.
 */
export function differingFields(at: Path, one: unknown, other: unknown): readonly string[] {
  const item = schemaBelow(at.reduce<JsonSchema>(schemaBelow, deploymentSchema.json), 0);
  const [a, b] = [one, other].map((entry) => {
    const whole = structuredClone(entry);
    fillDefaults(item, whole);
    return withSetsSorted(item, whole);
  });
  return fieldsOf(item, a, b);
}

function withSetsSorted(schema: JsonSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    return schema["uniqueItems"] === true
      ? value.toSorted()
      : value.map((it, at) => withSetsSorted(schemaBelow(schema, at), it));
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, it]) => [key, withSetsSorted(schemaBelow(schema, key), it)]),
  );
}

type Values = Readonly<Record<string, unknown>>;

/** Compares the keys of an object that contains named lists; each key counts as an object. `version` does not. */
function sections(path: Path, schema: JsonSchema, before: Values, after: Values): readonly Difference[] {
  const keys = keysOf(before, after).filter((key) => path.length > 0 || key !== "version");
  const fields: string[] = [];
  const found = keys.flatMap((key): readonly Difference[] => {
    const here = [...path, key];
    const [one, other, inner] = [before[key], after[key], schemaBelow(schema, key)];
    const list = NAMED_LISTS.find((it) => formatPath(it.path) === formatPath(here));
    if (list !== undefined) return listed(list, inner, one, other);
    if (isSame(inner, one, other)) return [];
    if (path.length > 0) {
      fields.push(...fieldsOf(inner, one, other, [key]));
      return [];
    }
    if (one === undefined || other === undefined) {
      return [
        { kind: one === undefined ? "added" : "removed", path: formatPath(here) },
        ...within(here, inner, one, other),
      ];
    }
    return isObject(one) && isObject(other) && holdsLists(here)
      ? sections(here, inner, one, other)
      : [changed(here, fieldsOf(inner, one, other))];
  });
  return fields.length === 0 ? found : [changed(path, fields), ...found];
}

/** Returns the differences of named objects in a section that was added or removed with them. */
const within = (path: Path, schema: JsonSchema, before: unknown, after: unknown): readonly Difference[] =>
  NAMED_LISTS.filter((list) => list.path.length > path.length && list.path[0] === path[0]).flatMap((list) => {
    const key = String(list.path[path.length]);
    return listed(
      list,
      schemaBelow(schema, key),
      isObject(before) ? before[key] : [],
      isObject(after) ? after[key] : [],
    );
  });

const holdsLists = (path: Path): boolean =>
  NAMED_LISTS.some((list) => list.path.length > 1 && list.path[0] === path[0]);

function changed(path: Path, fields: readonly string[]): Difference {
  return { kind: "changed", path: formatPath(path), ...(fields.length > 0 && { fields }) };
}

function listed(list: NamedList, schema: JsonSchema, before: unknown, after: unknown): readonly Difference[] {
  const [one, other] = [byName(list, before), byName(list, after)];
  const item = schemaBelow(schema, 0);
  const found = [...new Set([...one.keys(), ...other.keys()])].flatMap((name): readonly Difference[] => {
    const path = [...list.path, name];
    const [old, fresh] = [one.get(name), other.get(name)];
    if (old === undefined || fresh === undefined) {
      return [{ kind: old === undefined ? "added" : "removed", path: formatPath(path) }];
    }
    return isSame(item, old, fresh) ? [] : [changed(path, fieldsOf(item, old, fresh))];
  });
  const kept = [...one.keys()].filter((name) => other.has(name));
  const order = [...other.keys()].filter((name) => one.has(name));
  return !list.isOrdered || kept.every((name, at) => name === order[at])
    ? found
    : [changed(list.path, ["order"]), ...found];
}

/** Returns the entries by name. An entry without a name, or with a repeated one, gets a number. */
function byName({ names: [keys = []] }: NamedList, list: unknown): ReadonlyMap<string, unknown> {
  const entries = new Map<string, unknown>();
  for (const entry of Array.isArray(list) ? list : []) {
    const name = keys.map((key) => (isObject(entry) ? entry[key] : undefined)).find((it) => typeof it === "string");
    let free = String(name ?? "");
    for (let count = 2; entries.has(free); count++) free = `${String(name ?? "")}#${count}`;
    entries.set(free, entry);
  }
  return entries;
}

/** Returns the paths of the differences, down to the deepest object; a list is compared as a whole. */
function fieldsOf(schema: JsonSchema, before: unknown, after: unknown, path: Path = []): readonly string[] {
  if (isSame(schema, before, after)) return [];
  if (!isObject(before) || !isObject(after)) return path.length === 0 ? [] : [formatPath(path)];
  return keysOf(before, after).flatMap((key) =>
    fieldsOf(schemaBelow(schema, key), before[key], after[key], [...path, key]),
  );
}

function isSame(schema: JsonSchema, before: unknown, after: unknown): boolean {
  if (Object.is(before, after)) return true;
  if (typeof before === "string" && typeof after === "string") {
    const isDuration = DURATIONS.has(String(schema["format"])) && parseDuration(before) !== undefined;
    return isDuration && parseDuration(before) === parseDuration(after);
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const items = schemaBelow(schema, 0);
    return before.length === after.length && before.every((item, at) => isSame(items, item, after[at]));
  }
  return (
    isObject(before) &&
    isObject(after) &&
    keysOf(before, after).every((key) => isSame(schemaBelow(schema, key), before[key], after[key]))
  );
}

const DURATIONS: ReadonlySet<string> = new Set(["duration", "signed-duration", "duration-or-empty"]);

const keysOf = (one: Values, other: Values): readonly string[] => [
  ...new Set([...Object.keys(one), ...Object.keys(other)]),
];

const isObject = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);
