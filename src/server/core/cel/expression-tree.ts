/** Trees of an expression before and after the type checker. `at` is an offset in the text, in UTF-16 units. */

import { isList, type Value } from "./cel-values.ts";
import type { Type } from "./types.ts";

/** Problem of an expression. `at` is an offset in its text (UTF-16 units, from 0). */
export interface Complaint {
  readonly at: number;
  readonly message: string;
}

export type Macro = "all" | "exists" | "exists_one" | "map" | "filter" | "sortBy";

/** Syntax tree of the expression as written. */
export type Tree =
  | { readonly kind: "literal"; readonly at: number; readonly value: Value }
  | { readonly kind: "name"; readonly at: number; readonly name: string }
  | { readonly kind: "select" | "has"; readonly at: number; readonly operand: Tree; readonly field: string }
  | {
      readonly kind: "call";
      readonly at: number;
      readonly name: string;
      readonly target?: Tree;
      readonly args: readonly Tree[];
    }
  | { readonly kind: "list"; readonly at: number; readonly items: readonly Tree[] }
  | {
      readonly kind: "map";
      readonly at: number;
      readonly entries: readonly { readonly key: Tree; readonly value: Tree }[];
    }
  | {
      readonly kind: "loop";
      readonly at: number;
      readonly macro: Macro;
      readonly range: Tree;
      readonly variable: string;
      /** Filter; only set for `map` with three arguments. */
      readonly test?: Tree;
      readonly body: Tree;
    };

/** Checked tree: names resolved, functions known, types determined. */
export type Node =
  | { readonly kind: "literal"; readonly at: number; readonly type: Type; readonly value: Value }
  /** Declared variable. `name` is its whole, perhaps dotted, name. */
  | { readonly kind: "variable"; readonly at: number; readonly type: Type; readonly name: string }
  /** Variable of a loop. `slot` is the number of loops around that loop. */
  | { readonly kind: "local"; readonly at: number; readonly type: Type; readonly slot: number }
  | {
      readonly kind: "select" | "has";
      readonly at: number;
      readonly type: Type;
      readonly operand: Node;
      readonly field: string;
    }
  | {
      readonly kind: "and" | "or";
      readonly at: number;
      readonly type: Type;
      readonly left: Node;
      readonly right: Node;
    }
  | {
      readonly kind: "choice";
      readonly at: number;
      readonly type: Type;
      readonly condition: Node;
      readonly whenTrue: Node;
      readonly whenFalse: Node;
    }
  /** Function call. The receiver, if any, is the first argument. */
  | {
      readonly kind: "call";
      readonly at: number;
      readonly type: Type;
      readonly name: string;
      readonly args: readonly Node[];
    }
  | { readonly kind: "list"; readonly at: number; readonly type: Type; readonly items: readonly Node[] }
  | {
      readonly kind: "map";
      readonly at: number;
      readonly type: Type;
      readonly entries: readonly { readonly key: Node; readonly value: Node }[];
    }
  | {
      readonly kind: "loop";
      readonly at: number;
      readonly type: Type;
      readonly macro: Macro;
      readonly range: Node;
      readonly slot: number;
      readonly test?: Node;
      readonly body: Node;
    };

/** Returns the direct children of a node. */
export function children(node: Node): readonly Node[] {
  switch (node.kind) {
    case "literal":
    case "variable":
    case "local":
      return [];
    case "select":
    case "has":
      return [node.operand];
    case "and":
    case "or":
      return [node.left, node.right];
    case "choice":
      return [node.condition, node.whenTrue, node.whenFalse];
    case "call":
      return node.args;
    case "list":
      return node.items;
    case "map":
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case "loop":
      return node.test === undefined ? [node.range, node.body] : [node.range, node.test, node.body];
  }
}

export const nodeCount = (node: Node): number => children(node).reduce((sum, child) => sum + nodeCount(child), 1);

/** Returns the texts of a list of text literals, whether still a list or folded to a value. */
export function literalTexts(node: Node): readonly string[] | undefined {
  const values =
    node.kind === "list"
      ? node.items.map((item) => (item.kind === "literal" ? item.value : undefined))
      : node.kind === "literal" && isList(node.value)
        ? node.value
        : undefined;
  return values?.every((value) => typeof value === "string") ? values : undefined;
}
