/**
 * Shapes of requests as data: rules for values, composed from a few constructors.
 *
 * A rule checks one value at one place and refuses it through a `Judge`. The dialects differ in their judges, which
 * format places and word refusals. The first fault is reported, in the order of the members in the request. Rules are
 * created once, when the module loads; a request only builds the names of places.
 */

import { type Json, type JsonObject, objectOf } from "../json-fields.ts";

export type Expected = "string" | "integer" | "number" | "boolean" | "array" | "object";

export type Violation =
  | { readonly kind: "unknown" }
  | { readonly kind: "missing" }
  | { readonly kind: "type"; readonly expected: Expected; readonly value: Json }
  | { readonly kind: "below" | "above"; readonly bound: number; readonly value: number; readonly isWhole: boolean }
  | {
      readonly kind: "short" | "long";
      readonly of: "string" | "array" | "object";
      readonly bound: number;
      readonly length: number;
    }
  | { readonly kind: "pattern"; readonly pattern: string }
  | { readonly kind: "choice"; readonly choices: readonly string[]; readonly value: Json }
  /** Fault in the member that determines the form of an object. */
  | {
      readonly kind: "tag";
      readonly tag: string;
      readonly choices: readonly string[];
      readonly value: Json | undefined;
    };

export interface Judge {
  member(at: string, name: string): string;
  entry(at: string, index: number): string;
  /** Returns the name of an object's place once its form is known. */
  form(at: string, tag: string): string;
  /** Refuses a value. Throws `Refused`. */
  refuse(at: string, violation: Violation): never;
}

export type Rule = (value: Json, at: string, judge: Judge) => void;

export type Fields = Readonly<Record<string, Rule>>;

export const anything: Rule = () => undefined;

export const flag: Rule = (value, at, judge) => {
  if (typeof value !== "boolean") judge.refuse(at, { kind: "type", expected: "boolean", value });
};

/** Rule of an object with any members. */
export const dictionary: Rule = (value, at, judge) => {
  if (objectOf(value) === undefined) judge.refuse(at, { kind: "type", expected: "object", value });
};

export function nullable(rule: Rule): Rule {
  return (value, at, judge) => {
    if (value !== null) rule(value, at, judge);
  };
}

interface TextBounds {
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: RegExp;
}

export function text({ min = 0, max = Number.POSITIVE_INFINITY, pattern }: TextBounds = {}): Rule {
  return (value, at, judge) => {
    if (typeof value !== "string") return judge.refuse(at, { kind: "type", expected: "string", value });
    const { length } = value;
    if (length < min) judge.refuse(at, { kind: "short", of: "string", bound: min, length });
    if (length > max) judge.refuse(at, { kind: "long", of: "string", bound: max, length });
    if (pattern !== undefined && !pattern.test(value)) judge.refuse(at, { kind: "pattern", pattern: pattern.source });
  };
}

export function whole(min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY): Rule {
  return (value, at, judge) => {
    if (typeof value !== "number" || !Number.isInteger(value)) {
      return judge.refuse(at, { kind: "type", expected: "integer", value });
    }
    if (value < min) judge.refuse(at, { kind: "below", bound: min, value, isWhole: true });
    if (value > max) judge.refuse(at, { kind: "above", bound: max, value, isWhole: true });
  };
}

export function decimal(min: number, max: number): Rule {
  return (value, at, judge) => {
    if (typeof value !== "number") return judge.refuse(at, { kind: "type", expected: "number", value });
    if (value < min) judge.refuse(at, { kind: "below", bound: min, value, isWhole: false });
    if (value > max) judge.refuse(at, { kind: "above", bound: max, value, isWhole: false });
  };
}

export function choice(...choices: readonly string[]): Rule {
  const known = new Set<Json>(choices);
  return (value, at, judge) => {
    if (typeof value !== "string") judge.refuse(at, { kind: "type", expected: "string", value });
    if (!known.has(value)) judge.refuse(at, { kind: "choice", choices, value });
  };
}

export function list(rule: Rule, { min = 0, max = Number.POSITIVE_INFINITY } = {}): Rule {
  return (value, at, judge) => {
    if (!Array.isArray(value)) return judge.refuse(at, { kind: "type", expected: "array", value });
    const { length } = value;
    if (length < min) judge.refuse(at, { kind: "short", of: "array", bound: min, length });
    if (length > max) judge.refuse(at, { kind: "long", of: "array", bound: max, length });
    for (let index = 0; index < length; index += 1) rule(value[index] as Json, judge.entry(at, index), judge);
  };
}

/** Returns the rule of an object with these members and no others; `required` are those that must be present. */
export function object(fields: Fields, required: readonly string[] = []): Rule {
  const rules = new Map(Object.entries(fields));
  return (value, at, judge) => {
    const read = objectOf(value);
    if (read === undefined) return judge.refuse(at, { kind: "type", expected: "object", value });
    for (const name in read) {
      const place = judge.member(at, name);
      const rule = rules.get(name);
      if (rule === undefined) judge.refuse(place, { kind: "unknown" });
      else rule(read[name] ?? null, place, judge);
    }
    for (const name of required) {
      if (!Object.hasOwn(read, name)) judge.refuse(judge.member(at, name), { kind: "missing" });
    }
  };
}

/** Returns the rule of an object whose member `tag` determines its form. */
export function taggedUnion(forms: Fields, tag = "type"): Rule {
  const rules = new Map(Object.entries(forms));
  const choices = [...rules.keys()];
  return (value, at, judge) => {
    const read = objectOf(value);
    if (read === undefined) return judge.refuse(at, { kind: "type", expected: "object", value });
    const name = Object.hasOwn(read, tag) ? read[tag] : undefined;
    const rule = typeof name === "string" ? rules.get(name) : undefined;
    if (rule === undefined) return judge.refuse(at, { kind: "tag", tag, choices, value: name });
    rule(value, judge.form(at, String(name)), judge);
  };
}

interface Kinds {
  readonly string?: Rule;
  readonly array?: Rule;
  readonly object?: Rule;
}

/** Returns the rule of a value that may have several types, each with its own rule. */
export function byType(kinds: Kinds): Rule {
  const expected: Expected = kinds.string !== undefined ? "string" : "array";
  return (value, at, judge) => {
    const rule =
      typeof value === "string" ? kinds.string : Array.isArray(value) ? kinds.array : objectOf(value) && kinds.object;
    if (rule === undefined) return judge.refuse(at, { kind: "type", expected, value });
    rule(value, at, judge);
  };
}

interface MapBounds {
  readonly max?: number;
  readonly maxKey?: number;
}

/** Returns the rule of an object whose members have any name and the same rule. */
export function mapOf(
  rule: Rule,
  { max = Number.POSITIVE_INFINITY, maxKey = Number.POSITIVE_INFINITY }: MapBounds = {},
): Rule {
  return (value, at, judge) => {
    const read = objectOf(value);
    if (read === undefined) return judge.refuse(at, { kind: "type", expected: "object", value });
    const names = Object.keys(read);
    if (names.length > max) judge.refuse(at, { kind: "long", of: "object", bound: max, length: names.length });
    for (const name of names) {
      if (name.length > maxKey) judge.refuse(at, { kind: "long", of: "string", bound: maxKey, length: name.length });
      rule(read[name] ?? null, judge.member(at, name), judge);
    }
  };
}

/** Returns a rule with an additional check of the object that satisfied it. */
export function withCheck(rule: Rule, check: (object: JsonObject, at: string, judge: Judge) => void): Rule {
  return (value, at, judge) => {
    rule(value, at, judge);
    check(value as JsonObject, at, judge);
  };
}

/** Returns the type of a value for a refusal, which never quotes the value. */
export function typeOf(value: Json | undefined): Expected | "null" {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "object" ? "object" : (typeof value as "string" | "boolean");
}
