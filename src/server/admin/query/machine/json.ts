/**
 * Reads JSON text: `->>` and the length of an array. Invalid JSON, or a missing member, gives NULL. The text of a member is
 * counted by the budget, since it takes memory of its own.
 */

import type { Value } from "../plan.ts";
import type { Budget } from "./budget.ts";
import { type Cell, parseNumber } from "./compare.ts";

function tryParse(text: Cell): unknown {
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns the value at a key of an object, or at an index of an array, from 0 or from -1 backwards. Texts are returned
 * unquoted.
 */
export function jsonText(budget: Budget, text: Cell, key: Cell): Value {
  if (key == null) return null;
  const container = tryParse(text);
  if (typeof container !== "object" || container === null) return null;
  const value = Array.isArray(container) ? itemOf(container, key) : memberOf(container, String(key));
  if (value === undefined || value === null) return null;
  const made = typeof value === "string" ? value : JSON.stringify(value);
  budget.countText(made.length);
  return made;
}

function itemOf(items: readonly unknown[], key: Exclude<Value, null>): unknown {
  const number = typeof key === "string" ? parseNumber(key) : Number(key);
  return number !== undefined && Number.isInteger(number) ? items.at(number) : undefined;
}

function memberOf(container: object, key: string): unknown {
  return Object.hasOwn(container, key) ? (container as Readonly<Record<string, unknown>>)[key] : undefined;
}

export function jsonLength(text: Cell): Value {
  const container = tryParse(text);
  return Array.isArray(container) ? container.length : null;
}
