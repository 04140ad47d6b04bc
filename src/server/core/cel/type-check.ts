/**
 * Type checker: resolves names, finds the functions that match each call, and gives every node a type.
 *
 * Source: CEL language definition, "Name Resolution" and "Gradual Type Checking". A dotted name is the longest declared
 * variable that it begins with; a loop variable hides declared ones. After a mistake it continues with `dyn` in place of what
 * could not be determined, so that all mistakes of an expression are reported together.
 */

import { closestName } from "../../../base/index.ts";
import { TypeValue, Uint, type Value } from "./cel-values.ts";
import { callText, hintFor, parametersText } from "./check-message.ts";
import { isOrdered, OVERLOADS, type Overload, TYPE_NAMES } from "./declarations.ts";
import type { Complaint, Macro, Node, Tree } from "./expression-tree.ts";
import {
  assign,
  type Bindings,
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  INT,
  joined,
  listOf,
  mapOf,
  NULL,
  param,
  resolved,
  STRING,
  substituted,
  TYPE,
  type Type,
  typeText,
  UINT,
} from "./types.ts";

/** Mistake found by the type checker. `unknown` names a variable that is not declared. */
export interface Mistake extends Complaint {
  readonly unknown?: string;
}

interface Checked {
  readonly node: Node;
  readonly type: Type;
  readonly mistakes: readonly Mistake[];
  /** Declared variables that are read, by whole name. */
  readonly reads: ReadonlySet<string>;
  /** Maximum depth of nested loops, which is the number of slots for loop variables. */
  readonly slots: number;
}

export type VariableTypes = Readonly<Record<string, Type>>;

interface Local {
  readonly name: string;
  readonly slot: number;
  readonly type: Type;
}

interface Checking {
  readonly variables: VariableTypes;
  readonly bindings: Bindings;
  readonly mistakes: Mistake[];
  readonly reads: Set<string>;
  fresh: number;
  slots: number;
}

export function check(tree: Tree, variables: VariableTypes): Checked {
  const checking: Checking = { variables, bindings: new Map(), mistakes: [], reads: new Set(), fresh: 0, slots: 0 };
  const node = visit(tree, checking, []);
  const type = substituted(node.type, checking.bindings, true);
  return { node, type, mistakes: checking.mistakes, reads: checking.reads, slots: checking.slots };
}

function visit(tree: Tree, checking: Checking, locals: readonly Local[]): Node {
  switch (tree.kind) {
    case "literal":
      return { kind: "literal", at: tree.at, type: literalType(tree.value), value: tree.value };
    case "name":
      return nameNode(tree, checking, locals);
    case "select":
    case "has":
      return selection(tree, checking, locals);
    case "call":
      return call(tree, checking, locals);
    case "list": {
      const items = tree.items.map((item) => visit(item, checking, locals));
      return { kind: "list", at: tree.at, type: listOf(common(items, checking)), items };
    }
    case "map": {
      const entries = tree.entries.map(({ key, value }) => ({
        key: visit(key, checking, locals),
        value: visit(value, checking, locals),
      }));
      for (const { key } of entries) requireKey(key, checking);
      const keys = common(
        entries.map(({ key }) => key),
        checking,
      );
      const values = common(
        entries.map(({ value }) => value),
        checking,
      );
      return { kind: "map", at: tree.at, type: mapOf(keys, values), entries };
    }
    case "loop":
      return loop(tree, checking, locals);
  }
}

function literalType(value: Value): Type {
  switch (typeof value) {
    case "boolean":
      return BOOL;
    case "bigint":
      return INT;
    case "number":
      return DOUBLE;
    case "string":
      return STRING;
    default:
      return value === null ? NULL : value instanceof Uint ? UINT : value instanceof TypeValue ? TYPE : BYTES;
  }
}

function freshType(checking: Checking): Type {
  checking.fresh++;
  return param(`#${checking.fresh}`);
}

function common(nodes: readonly Node[], checking: Checking): Type {
  const [first, ...rest] = nodes;
  if (first === undefined) return freshType(checking);
  return rest.reduce((type, node) => joined(type, node.type, checking.bindings), first.type);
}

function requireKey(key: Node, checking: Checking): void {
  const type = resolved(key.type, checking.bindings);
  if (!["string", "int", "uint", "bool", "dyn", "param"].includes(type.kind)) {
    mistake(checking, key.at, `a key of a map is a string, an int, a uint or a bool, not ${typeText(type)}`);
  }
}

function mistake(checking: Checking, at: number, message: string, unknown?: string): void {
  checking.mistakes.push({ at, message, ...(unknown === undefined ? {} : { unknown }) });
}

const unknownNode = (at: number): Node => ({ kind: "literal", at, type: DYN, value: null });

function nameNode(tree: Tree & { kind: "name" }, checking: Checking, locals: readonly Local[]): Node {
  const local = locals.findLast(({ name }) => name === tree.name);
  if (local !== undefined) return { kind: "local", at: tree.at, type: local.type, slot: local.slot };
  const declared = variable(tree.name, tree.at, checking);
  if (declared !== undefined) return declared;
  if (TYPE_NAMES.has(tree.name)) return { kind: "literal", at: tree.at, type: TYPE, value: new TypeValue(tree.name) };
  const names = [...locals.map(({ name }) => name), ...Object.keys(checking.variables)];
  const guess = closestName(tree.name, names);
  const hint = guess === undefined ? "" : `, did you mean \`${guess}\`?`;
  const declaredNames = names.length === 0 ? "none is declared" : `declared: ${names.join(", ")}`;
  const message = `there is no variable \`${tree.name}\`${hint === "" ? "; " : `${hint} `}${declaredNames}`;
  mistake(checking, tree.at, message, tree.name);
  return unknownNode(tree.at);
}

function variable(name: string, at: number, checking: Checking): Node | undefined {
  if (!Object.hasOwn(checking.variables, name)) return undefined;
  checking.reads.add(name);
  return { kind: "variable", at, type: checking.variables[name] ?? DYN, name };
}

/** Returns `a.b.c` if the tree consists of names only; otherwise `undefined`. */
function dottedName(tree: Tree): string | undefined {
  if (tree.kind === "name") return tree.name;
  if (tree.kind !== "select") return undefined;
  const above = dottedName(tree.operand);
  return above === undefined ? undefined : `${above}.${tree.field}`;
}

const isNamespace = (name: string): boolean => ["lists", "sets", "strings"].includes(name);

/** Returns whether a dotted name begins with the variable of a loop. */
const isHidden = (dotted: string, locals: readonly Local[]): boolean =>
  locals.some(({ name }) => name === dotted.split(".", 1)[0]);

function selection(tree: Tree & { kind: "select" | "has" }, checking: Checking, locals: readonly Local[]): Node {
  const { at, field, kind } = tree;
  const dotted = dottedName({ kind: "select", at, operand: tree.operand, field });
  if (dotted !== undefined && !isHidden(dotted, locals)) {
    const declared = kind === "select" ? variable(dotted, at, checking) : undefined;
    if (declared !== undefined) return declared;
    if (kind === "select" && TYPE_NAMES.has(dotted)) {
      return { kind: "literal", at, type: TYPE, value: new TypeValue(dotted) };
    }
  }
  const operand = visit(tree.operand, checking, locals);
  const type = fieldType(operand, field, at, checking);
  return { kind, at, type: kind === "has" ? BOOL : type, operand, field };
}

function fieldType(operand: Node, field: string, at: number, checking: Checking): Type {
  const type = resolved(operand.type, checking.bindings);
  switch (type.kind) {
    case "dyn":
    case "param":
      return DYN;
    case "map":
      if (!assign(type.key, STRING, checking.bindings)) {
        mistake(checking, at, `keys of this map are ${typeText(type.key)}; \`.${field}\` asks for a string`);
      }
      return type.value;
    case "record": {
      const found = Object.hasOwn(type.fields, field) ? type.fields[field] : undefined;
      if (found !== undefined) return found;
      const fields = Object.keys(type.fields);
      const guess = closestName(field, fields);
      const hint = guess === undefined ? "; " : `, did you mean \`${guess}\`? `;
      mistake(checking, at, `\`${type.name}\` has no field \`${field}\`${hint}fields: ${fields.join(", ")}`);
      return DYN;
    }
    default: {
      const dotted = operand.kind === "variable" ? `${operand.name}.` : undefined;
      const facets = Object.keys(checking.variables).filter((name) => dotted !== undefined && name.startsWith(dotted));
      const more = facets.length === 0 ? "" : ` beside ${facets.map((name) => `\`${name}\``).join(" and ")}`;
      mistake(checking, at, `a value of type ${typeText(type)} has no field \`${field}\`${more}`);
      return DYN;
    }
  }
}

function call(tree: Tree & { kind: "call" }, checking: Checking, locals: readonly Local[]): Node {
  const { at, name, target } = tree;
  if (target !== undefined) {
    const spaced = dottedName(target);
    const whole = `${spaced}.${name}`;
    if (spaced !== undefined && !isHidden(spaced, locals) && OVERLOADS.has(whole)) {
      return applied(whole, at, visitAll(tree.args, checking, locals), false, checking);
    }
    if (spaced !== undefined && isNamespace(spaced) && !Object.hasOwn(checking.variables, spaced)) {
      mistake(checking, target.at, hintFor(whole, false));
      return unknownNode(at);
    }
  }
  const isMethod = target !== undefined;
  const args = visitAll(isMethod ? [target, ...tree.args] : tree.args, checking, locals);
  const [first, second, third] = args;
  if (!isMethod && first !== undefined && second !== undefined) {
    if (name === "_&&_" || name === "_||_") {
      for (const side of [first, second]) demand(side, BOOL, name === "_&&_" ? "`&&`" : "`||`", checking);
      return { kind: name === "_&&_" ? "and" : "or", at, type: BOOL, left: first, right: second };
    }
    if (name === "_?_:_" && third !== undefined) {
      demand(first, BOOL, "`?`", checking);
      const type = joined(second.type, third.type, checking.bindings);
      return { kind: "choice", at, type, condition: first, whenTrue: second, whenFalse: third };
    }
  }
  if (name === "_[_]" && second?.kind === "literal" && typeof second.value === "string" && first !== undefined) {
    const isRecord = resolved(first.type, checking.bindings).kind === "record";
    const field = second.value;
    // `part["kind"]` is the same as `part.kind`.
    if (isRecord)
      return { kind: "select", at, type: fieldType(first, field, second.at, checking), operand: first, field };
  }
  return applied(name, at, args, isMethod, checking);
}

const visitAll = (trees: readonly Tree[], checking: Checking, locals: readonly Local[]): readonly Node[] =>
  trees.map((tree) => visit(tree, checking, locals));

function demand(node: Node, wanted: Type, by: string, checking: Checking): void {
  if (assign(wanted, node.type, checking.bindings)) return;
  const found = typeText(substituted(node.type, checking.bindings, true));
  mistake(checking, node.at, `${by} wants ${typeText(wanted)}, found ${found}`);
}

function applied(name: string, at: number, args: readonly Node[], isMethod: boolean, checking: Checking): Node {
  const overloads = OVERLOADS.get(name);
  const types = args.map(({ type }) => type);
  if (overloads === undefined) {
    mistake(checking, at, hintFor(name, isMethod));
    return unknownNode(at);
  }
  let type: Type | undefined;
  let bound: Bindings | undefined;
  for (const overload of overloads) {
    if (overload.isMethod !== isMethod || overload.params.length !== args.length) continue;
    const trial: Bindings = new Map(bound ?? checking.bindings);
    const { params, result } = instantiated(overload, checking);
    if (!params.every((wanted, index) => assign(wanted, types[index] ?? DYN, trial))) continue;
    const found = substituted(result, trial);
    if (type === undefined) [type, bound] = [found, trial];
    // Several overloads match, which only happens with `dyn`. The result type is then known only at run time.
    else if (typeText(type) !== typeText(found)) type = DYN;
  }
  if (type === undefined || bound === undefined) {
    const found = types.map((each) => typeText(substituted(each, checking.bindings, true)));
    mistake(checking, at, parametersText(name, found, overloads, isMethod));
    const results = new Set(overloads.map(({ result }) => typeText(result)));
    const only = results.size === 1 ? overloads[0]?.result : undefined;
    return { kind: "call", at, type: only ?? DYN, name, args };
  }
  for (const [key, value] of bound) checking.bindings.set(key, value);
  return { kind: "call", at, type, name, args };
}

/** Returns an overload with fresh type parameters. */
function instantiated({ params, result }: Overload, checking: Checking): Pick<Overload, "params" | "result"> {
  const own: Bindings = new Map([
    ["A", freshType(checking)],
    ["B", freshType(checking)],
  ]);
  return { params: params.map((type) => substituted(type, own)), result: substituted(result, own) };
}

function loop(tree: Tree & { kind: "loop" }, checking: Checking, locals: readonly Local[]): Node {
  const { at, macro, variable: name } = tree;
  const range = visit(tree.range, checking, locals);
  const item = itemType(range, macro, checking);
  const slot = locals.length;
  checking.slots = Math.max(checking.slots, slot + 1);
  const inside = [...locals, { name, slot, type: item }];
  const test = tree.test && visit(tree.test, checking, inside);
  const body = visit(tree.body, checking, inside);
  if (test !== undefined) demand(test, BOOL, callText(macro), checking);
  const type = loopType(macro, item, body, checking);
  return { kind: "loop", at, type, macro, range, slot, ...(test === undefined ? {} : { test }), body };
}

function itemType(range: Node, macro: Macro, checking: Checking): Type {
  const type = resolved(range.type, checking.bindings);
  switch (type.kind) {
    case "list":
      return type.item;
    case "map":
      if (macro !== "sortBy") return type.key;
      break;
    case "dyn":
    case "param":
      return DYN;
    default:
  }
  const over = macro === "sortBy" ? "a list" : "a list or the keys of a map";
  mistake(checking, range.at, `${callText(macro)} iterates over ${over}, found ${typeText(type)}`);
  return DYN;
}

function loopType(macro: Macro, item: Type, body: Node, checking: Checking): Type {
  switch (macro) {
    case "map":
      return listOf(body.type);
    case "sortBy": {
      const type = resolved(body.type, checking.bindings);
      if (type.kind !== "param" && !isOrdered(type)) {
        mistake(checking, body.at, `${callText(macro)} wants a value that has an order, found ${typeText(type)}`);
      }
      return listOf(item);
    }
    case "filter":
      demand(body, BOOL, callText(macro), checking);
      return listOf(item);
    default:
      demand(body, BOOL, callText(macro), checking);
      return BOOL;
  }
}
