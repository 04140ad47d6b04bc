/**
 * Compiles the checked tree to closures. Source: CEL language definition, "Evaluation".
 *
 * A closure returns a value or a fault and throws nothing. `&&`, `||`, `all` and `exists` absorb a fault if the other operands
 * decide. An exhausted budget is not absorbed, since the frame's negative count overrides every result. Faults and other
 * constants are created at compile time, so that evaluating a rule allocates little.
 */

import { functionOf } from "./cel-functions.ts";
import { CelMap, isMap, isValue, type MapKey, mapGet, mapKey, type Value } from "./cel-values.ts";
import { loopEvaluator } from "./compile-macros.ts";
import { Fault, NO_OVERLOAD } from "./evaluation-faults.ts";
import type { Evaluate, Run } from "./evaluation-frame.ts";
import { literalTexts, type Node } from "./expression-tree.ts";
import { compilePattern, matchCompiled } from "./patterns.ts";

const BAD_KEY = new Fault("type", "the value cannot be a key of a map");
const SAME_KEY = new Fault("other", "the map has a key twice");
const NOT_BOOL = new Fault("type", "the value is not a bool");

export function evaluatorOf(node: Node): Evaluate {
  switch (node.kind) {
    case "literal": {
      const { value } = node;
      return () => value;
    }
    case "variable":
      return variable(node.name);
    case "local": {
      const { slot } = node;
      return (frame) => frame.locals[slot] ?? null;
    }
    case "select":
      return keyed(evaluatorOf(node.operand), node.field, nameOf(node.operand));
    case "has":
      return presence(evaluatorOf(node.operand), node.field, node.operand.type.kind === "record");
    case "and":
      return logic(evaluatorOf(node.left), evaluatorOf(node.right), false);
    case "or":
      return logic(evaluatorOf(node.left), evaluatorOf(node.right), true);
    case "choice":
      return choice(evaluatorOf(node.condition), evaluatorOf(node.whenTrue), evaluatorOf(node.whenFalse));
    case "call":
      return call(node);
    case "list":
      return list(node.items.map(evaluatorOf));
    case "map":
      return map(node.entries.map(({ key, value }) => ({ key: evaluatorOf(key), value: evaluatorOf(value) })));
    case "loop":
      return loopEvaluator(node, evaluatorOf);
  }
}

function variable(name: string): Evaluate {
  const missing = new Fault("missing_key", `\`${name}\` has no value here`);
  const foreign = new Fault("type", `\`${name}\` has no value that CEL supports`);
  return (frame) => {
    const value = frame.variables[name];
    if (value === undefined) return missing;
    return isValue(value) ? value : foreign;
  };
}

/** Returns the name of a value in messages: a variable or a path of fields; `undefined` if it has none. */
function nameOf(node: Node): string | undefined {
  if (node.kind === "variable") return node.name;
  if (node.kind !== "select") return undefined;
  const above = nameOf(node.operand);
  return above && `${above}.${node.field}`;
}

const missingKey = (name: string | undefined, key: string): Fault =>
  new Fault("missing_key", `${name === undefined ? "the map" : `\`${name}\``} has no key ${JSON.stringify(key)}`);

/** Compiles a `has` check. A field of a record is not set if it is empty. */
function presence(operand: Evaluate, field: string, isRecord: boolean): Evaluate {
  return (frame) => {
    const value = operand(frame);
    if (value instanceof Fault) return value;
    if (!isMap(value)) return NO_OVERLOAD;
    const found = mapGet(value, field);
    if (!isRecord || found === undefined) return found !== undefined;
    return found !== "" && !(isMap(found) && isEmpty(found));
  };
}

const isEmpty = (map: Parameters<typeof mapGet>[0]): boolean =>
  map instanceof CelMap ? map.entries.size === 0 : Object.keys(map).length === 0;

/** Compiles `&&` or `||`. `decisive` is the value by which either side decides alone: false for `&&`, true for `||`. */
function logic(left: Evaluate, right: Evaluate, decisive: boolean): Evaluate {
  return (frame) => {
    const first = left(frame);
    if (first === decisive) return decisive;
    const second = right(frame);
    if (second === decisive) return decisive;
    if (first instanceof Fault) return first;
    if (second instanceof Fault) return second;
    return typeof first === "boolean" && typeof second === "boolean" ? !decisive : NOT_BOOL;
  };
}

function choice(condition: Evaluate, whenTrue: Evaluate, whenFalse: Evaluate): Evaluate {
  return (frame) => {
    const value = condition(frame);
    if (value === true) return whenTrue(frame);
    if (value === false) return whenFalse(frame);
    return value instanceof Fault ? value : NOT_BOOL;
  };
}

function call(node: Node & { kind: "call" }): Evaluate {
  const special = specialCall(node);
  if (special !== undefined) return special;
  const run = functionOf(node.name, node.args.length);
  const [a, b, c, d] = node.args.map(evaluatorOf);
  if (run === undefined || a === undefined) return () => NO_OVERLOAD;
  if (b === undefined) return unary(run, a);
  if (c === undefined) return binary(run, a, b);
  return (frame) => {
    const first = a(frame);
    if (first instanceof Fault) return first;
    const second = b(frame);
    if (second instanceof Fault) return second;
    const third = c(frame);
    if (third instanceof Fault) return third;
    const fourth = d === undefined ? null : d(frame);
    return fourth instanceof Fault ? fourth : run(frame, first, second, third, fourth);
  };
}

const unary =
  (run: Run, a: Evaluate): Evaluate =>
  (frame) => {
    const value = a(frame);
    return value instanceof Fault ? value : run(frame, value, null, null, null);
  };

const binary =
  (run: Run, a: Evaluate, b: Evaluate): Evaluate =>
  (frame) => {
    const first = a(frame);
    if (first instanceof Fault) return first;
    const second = b(frame);
    return second instanceof Fault ? second : run(frame, first, second, null, null);
  };

/** Compiles calls with a constant argument to faster closures: comparison with a text, a list of texts, a key, a pattern. */
function specialCall({ name, args }: Node & { kind: "call" }): Evaluate | undefined {
  const [first, second] = args;
  if (first === undefined || second === undefined) return undefined;
  const known = second.kind === "literal" ? second.value : undefined;
  switch (name) {
    case "_==_":
    case "_!=_":
      return typeof known === "string" ? equalsText(evaluatorOf(first), known, name === "_==_") : undefined;
    case "@in": {
      const texts = literalTexts(second);
      return texts && inTexts(evaluatorOf(first), new Set(texts));
    }
    case "_[_]":
      return typeof known === "string" ? keyed(evaluatorOf(first), known, nameOf(first)) : undefined;
    case "matches":
      return typeof known === "string" ? matching(evaluatorOf(first), known) : undefined;
    default:
      return undefined;
  }
}

const equalsText =
  (operand: Evaluate, text: string, wanted: boolean): Evaluate =>
  (frame) => {
    const value = operand(frame);
    return value instanceof Fault ? value : (value === text) === wanted;
  };

const inTexts =
  (operand: Evaluate, texts: ReadonlySet<Value>): Evaluate =>
  (frame) => {
    const value = operand(frame);
    return value instanceof Fault ? value : texts.has(value);
  };

function keyed(operand: Evaluate, key: string, name: string | undefined): Evaluate {
  const missing = missingKey(name, key);
  return (frame) => {
    const value = operand(frame);
    if (value instanceof Fault) return value;
    if (!isMap(value)) return NO_OVERLOAD;
    const found = mapGet(value, key);
    return found === undefined ? missing : found;
  };
}

function matching(operand: Evaluate, pattern: string): Evaluate {
  const compiled = compilePattern(pattern);
  return (frame) => {
    const value = operand(frame);
    return value instanceof Fault ? value : matchCompiled(frame, value, compiled);
  };
}

function list(items: readonly Evaluate[]): Evaluate {
  return (frame) => {
    const values: Value[] = [];
    for (const item of items) {
      const value = item(frame);
      if (value instanceof Fault) return value;
      values.push(value);
    }
    return values;
  };
}

function map(entries: readonly { readonly key: Evaluate; readonly value: Evaluate }[]): Evaluate {
  return (frame) => {
    const made = new Map<MapKey, { readonly key: Value; readonly value: Value }>();
    for (const entry of entries) {
      const key = entry.key(frame);
      if (key instanceof Fault) return key;
      const canonical = typeof key === "number" ? undefined : mapKey(key);
      if (canonical === undefined) return BAD_KEY;
      if (made.has(canonical)) return SAME_KEY;
      const value = entry.value(frame);
      if (value instanceof Fault) return value;
      made.set(canonical, { key, value });
    }
    return new CelMap(made);
  };
}
