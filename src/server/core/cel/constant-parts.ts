/**
 * Finds parts of an expression whose value does not depend on the request: always true, always false, or always failing.
 *
 * Parts without variables are evaluated; `&&`, `||` and `?:` are decided if one side decides. A conjunction that demands two
 * different texts of one value is never true. The result is `undefined` if it cannot be determined.
 */

import type { Value } from "./cel-values.ts";
import { Fault } from "./evaluation-faults.ts";
import type { Frame } from "./evaluation-frame.ts";
import { evaluatorOf } from "./evaluator.ts";
import { children, type Node } from "./expression-tree.ts";

/** Cost limit for evaluating one constant part. A more expensive part counts as unknown. */
const FOLD_BUDGET = 20_000;

export function constantOf(node: Node): Value | Fault | undefined {
  if (isClosed(node)) return evaluated(node);
  switch (node.kind) {
    case "and":
      return contradicts(node) ? false : decided(node, false);
    case "or":
      return decided(node, true);
    case "choice": {
      const condition = constantOf(node.condition);
      if (condition === true) return constantOf(node.whenTrue);
      return condition === false ? constantOf(node.whenFalse) : undefined;
    }
    case "call":
      if (node.name === "!_" && node.args[0] !== undefined) {
        const value = constantOf(node.args[0]);
        return typeof value === "boolean" ? !value : undefined;
      }
      return node.name === "@in" && isEmptyList(node.args[1]) ? false : undefined;
    default:
      return undefined;
  }
}

const isEmptyList = (node: Node | undefined): boolean => node?.kind === "list" && node.items.length === 0;

/** Returns whether a part depends on nothing outside it: neither on a variable nor on the variable of an enclosing loop. */
const isClosed = (node: Node): boolean => !readsVariable(node) && !readsOuterLocal(node, new Set());

const readsVariable = (node: Node): boolean => node.kind === "variable" || children(node).some(readsVariable);

function readsOuterLocal(node: Node, bound: ReadonlySet<number>): boolean {
  if (node.kind === "local") return !bound.has(node.slot);
  if (node.kind !== "loop") return children(node).some((child) => readsOuterLocal(child, bound));
  const inside = new Set([...bound, node.slot]);
  const parts = node.test === undefined ? [node.body] : [node.test, node.body];
  return readsOuterLocal(node.range, bound) || parts.some((part) => readsOuterLocal(part, inside));
}

function evaluated(node: Node): Value | Fault | undefined {
  const frame: Frame = { variables: {}, locals: [], remainingCost: FOLD_BUDGET };
  try {
    const value = evaluatorOf(node)(frame);
    return frame.remainingCost < 0 ? undefined : value;
  } catch {
    return undefined;
  }
}

function decided(node: Node & { kind: "and" | "or" }, decisive: boolean): Value | undefined {
  const [left, right] = [constantOf(node.left), constantOf(node.right)];
  if (left === decisive || right === decisive) return decisive;
  return left === !decisive && right === !decisive ? !decisive : undefined;
}

/** Returns whether a conjunction demands two different literals of one value: `a == "x" && … && a == "y"`. */
function contradicts(node: Node): boolean {
  const demanded = new Map<string, Value>();
  return conjuncts(node).some((part) => {
    if (part.kind !== "call" || part.name !== "_==_") return false;
    const [operand, literal] = part.args;
    if (operand === undefined || literal?.kind !== "literal" || typeof literal.value !== "string") return false;
    const path = pathOf(operand);
    if (path === undefined) return false;
    const before = demanded.get(path);
    demanded.set(path, literal.value);
    return before !== undefined && before !== literal.value;
  });
}

export const conjuncts = (node: Node): readonly Node[] =>
  node.kind === "and" ? [...conjuncts(node.left), ...conjuncts(node.right)] : [node];

/** Returns a variable and the keys below it as a dotted text; `undefined` for any other expression. */
export function pathOf(node: Node): string | undefined {
  if (node.kind === "variable") return node.name;
  if (node.kind === "select") {
    const above = pathOf(node.operand);
    return above && `${above}.${node.field}`;
  }
  if (node.kind !== "call" || node.name !== "_[_]") return undefined;
  const [operand, key] = node.args;
  const above = operand && pathOf(operand);
  return above && key?.kind === "literal" && typeof key.value === "string" ? `${above}.${key.value}` : undefined;
}

/** Returns the parts that always fail, outermost first, without parts nested in another. */
export function failingParts(node: Node): readonly { readonly at: number; readonly fault: Fault }[] {
  if (isClosed(node) && node.kind !== "literal") {
    const value = evaluated(node);
    if (value instanceof Fault) {
      const inner = children(node).flatMap(failingParts);
      return inner.length > 0 ? inner : [{ at: node.at, fault: value }];
    }
    return [];
  }
  const pattern = badPattern(node);
  return [...(pattern === undefined ? [] : [{ at: node.at, fault: pattern }]), ...children(node).flatMap(failingParts)];
}

/** Returns the fault of an invalid literal pattern, which fails for every text. */
function badPattern(node: Node): Fault | undefined {
  if (node.kind !== "call" || node.name !== "matches") return undefined;
  const [, pattern] = node.args;
  if (pattern?.kind !== "literal") return undefined;
  const probe: Node = { ...node, args: [{ ...pattern, value: "" }, pattern] };
  const value = evaluated(probe);
  return value instanceof Fault ? value : undefined;
}

/** Returns the tree with constant parts replaced by their values. A part that fails is kept. */
export function folded(node: Node): Node {
  if (node.kind === "literal" || node.kind === "variable" || node.kind === "local") return node;
  if (isClosed(node)) {
    const value = evaluated(node);
    if (value !== undefined && !(value instanceof Fault))
      return { kind: "literal", at: node.at, type: node.type, value };
  }
  switch (node.kind) {
    case "select":
    case "has":
      return { ...node, operand: folded(node.operand) };
    case "and":
    case "or":
      return { ...node, left: folded(node.left), right: folded(node.right) };
    case "choice":
      return {
        ...node,
        condition: folded(node.condition),
        whenTrue: folded(node.whenTrue),
        whenFalse: folded(node.whenFalse),
      };
    case "call":
      return { ...node, args: node.args.map(folded) };
    case "list":
      return { ...node, items: node.items.map(folded) };
    case "map":
      return { ...node, entries: node.entries.map(({ key, value }) => ({ key: folded(key), value: folded(value) })) };
    case "loop": {
      const body = folded(node.body);
      const range = folded(node.range);
      return node.test === undefined ? { ...node, range, body } : { ...node, range, test: folded(node.test), body };
    }
  }
}
