/** Objects of a deployment document that packs add: where they are, how they are named, and whether two are equal. */

import { isDeepStrictEqual } from "node:util";
import { differingFields } from "../config/index.ts";

export type Values = Readonly<Record<string, unknown>>;

export const LISTS = {
  detector: ["guardrails", "detectors"],
  "guardrail rule": ["guardrails", "rules"],
  "access rule": ["access_rules"],
} as const;

export type ListName = keyof typeof LISTS;

export const LIST_NAMES: readonly ListName[] = ["detector", "guardrail rule", "access rule"];

export interface Named {
  readonly list: ListName;
  readonly name: string;
  readonly value: Values;
  /** Index of the object in its list. */
  readonly at: number;
}

/** Returns all such objects as written, in list order. Entries that are not objects are skipped. */
export function namedIn(document: unknown): readonly Named[] {
  return LIST_NAMES.flatMap((list) => {
    const found = LISTS[list].reduce<unknown>((value, key) => (isValues(value) ? value[key] : undefined), document);
    return (Array.isArray(found) ? found : []).flatMap((value: unknown, at): readonly Named[] => {
      const name = isValues(value) ? (value["name"] ?? (list === "detector" ? value["type"] : undefined)) : undefined;
      return isValues(value) && typeof name === "string" ? [{ list, name, value, at }] : [];
    });
  });
}

export const findNamed = (all: readonly Named[], list: ListName, name: string): Named | undefined =>
  all.find((it) => it.list === list && it.name === name);

export function controlsOf({ controls }: Values): readonly string[] {
  return Array.isArray(controls) ? controls.filter((it) => typeof it === "string") : [];
}

/** Returns the fields that differ in meaning, ignoring names and controls. */
export function differing(list: ListName, one: Values, other: Values): readonly string[] {
  const withoutControls = ({ controls: _, name: __, ...rest }: Values): Values => rest;
  const [a, b] = [withoutControls(one), withoutControls(other)];
  return isDeepStrictEqual(a, b) ? [] : differingFields(LISTS[list], a, b);
}

export const isValues = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);
