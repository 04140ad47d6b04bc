/**
 * Implements the lists and sets extensions. Sources: cel-go, `ext/lists.go` and `ext/sets.go`. Lists are immutable: new ones
 * are created, and charged by the length of what is read and created.
 */

import { isList, type List, typeName, type Value } from "./cel-values.ts";
import { compare, includes, scalarKey } from "./equality.ts";
import { COST_FAULT, Fault, INDEX_MISSING, NO_OVERLOAD } from "./evaluation-faults.ts";
import { charge, chargeText, type Frame, type Run } from "./evaluation-frame.ts";

const BAD_SLICE = new Fault("other", "the slice is outside the list");
const BAD_DEPTH = new Fault("other", "the depth must not be negative");

const range: Run = (frame, count) => {
  if (typeof count !== "bigint") return NO_OVERLOAD;
  const length = count > 0n ? Number(count) : 0;
  if (!charge(frame, length)) return COST_FAULT;
  const items: Value[] = [];
  for (let at = 0; at < length; at++) items.push(BigInt(at));
  return items;
};

const slice: Run = (frame, list, from, to) => {
  if (!isList(list) || typeof from !== "bigint" || typeof to !== "bigint") return NO_OVERLOAD;
  if (from < 0n || to < from || to > BigInt(list.length)) return BAD_SLICE;
  return charge(frame, Number(to - from)) ? list.slice(Number(from), Number(to)) : COST_FAULT;
};

function flatten(frame: Frame, list: List, depth: number, into: Value[]): Fault | undefined {
  if (!charge(frame, list.length)) return COST_FAULT;
  for (const item of list) {
    if (!isList(item) || depth === 0) into.push(item);
    else {
      const fault = flatten(frame, item, depth - 1, into);
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
}

function flat(frame: Frame, list: Value, depth: bigint): Value | Fault {
  if (!isList(list)) return NO_OVERLOAD;
  if (depth < 0n) return BAD_DEPTH;
  const items: Value[] = [];
  return flatten(frame, list, Number(depth), items) ?? items;
}

/** Returns the first of each group of equal values, in order. */
const distinct: Run = (frame, list) => {
  if (!isList(list)) return NO_OVERLOAD;
  const keys = new Set<string>();
  const items: Value[] = [];
  /** Values without a key, which are compared one by one. */
  const distinctValues: Value[] = [];
  for (const item of list) {
    if (!charge(frame, 1)) return COST_FAULT;
    const key = scalarKey(item);
    if (key === undefined) {
      const known = includes(frame, distinctValues, item);
      if (known instanceof Fault) return known;
      if (known) continue;
      distinctValues.push(item);
    } else if (keys.has(key)) continue;
    else keys.add(key);
    items.push(item);
  }
  return items;
};

/** Sorts items by their keys, ascending and stable. All keys must be of one type. */
export function sorted(frame: Frame, items: List, keys: List): Value | Fault {
  const type = keys[0] === undefined ? undefined : typeName(keys[0]);
  if (keys.some((key) => typeName(key) !== type)) return NO_OVERLOAD;
  if (!charge(frame, Math.ceil(keys.length * Math.log2(keys.length + 1)))) return COST_FAULT;
  let fault: Fault | undefined;
  const order = items.map((_, index) => index);
  order.sort((a, b) => {
    const result = compare(frame, keys[a] ?? null, keys[b] ?? null);
    if (!(result instanceof Fault)) return result;
    fault ??= result;
    return 0;
  });
  return fault ?? order.map((index) => items[index] ?? null);
}

const reverse: Run = (frame, value) => {
  if (typeof value === "string") {
    return chargeText(frame, value.length) ? Array.from(value).reverse().join("") : COST_FAULT;
  }
  if (!isList(value)) return NO_OVERLOAD;
  return charge(frame, value.length) ? value.toReversed() : COST_FAULT;
};

/** Returns whether `list` contains all, or any, of `wanted`. */
function containsElements(frame: Frame, list: Value, wanted: Value, how: "all" | "any"): boolean | Fault {
  if (!isList(list) || !isList(wanted)) return NO_OVERLOAD;
  for (const item of wanted) {
    const found = includes(frame, list, item);
    if (found instanceof Fault) return found;
    if (found === (how === "any")) return found;
  }
  return how === "all";
}

const equivalent: Run = (frame, a, b) => {
  const forth = containsElements(frame, a, b, "all");
  return forth === true ? containsElements(frame, b, a, "all") : forth;
};

const end =
  (which: 0 | -1): Run =>
  (_, list) => {
    if (!isList(list)) return NO_OVERLOAD;
    const item = list.at(which);
    return item === undefined ? INDEX_MISSING : item;
  };

export const LIST_FUNCTIONS: Readonly<Record<string, Run>> = {
  "lists.range": range,
  slice,
  flatten: (frame, list) => flat(frame, list, 1n),
  "flatten/2": (frame, list, depth) => (typeof depth === "bigint" ? flat(frame, list, depth) : NO_OVERLOAD),
  distinct,
  sort: (frame, list) => (isList(list) ? sorted(frame, list, list) : NO_OVERLOAD),
  reverse,
  first: end(0),
  last: end(-1),
  "sets.contains": (frame, list, wanted) => containsElements(frame, list, wanted, "all"),
  "sets.intersects": (frame, list, wanted) => containsElements(frame, list, wanted, "any"),
  "sets.equivalent": equivalent,
};
