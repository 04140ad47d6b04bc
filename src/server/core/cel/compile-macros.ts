/**
 * Compiles macros over lists and maps. Source: CEL language definition, "Macros"; `sortBy` from cel-go, `ext/lists.go`.
 *
 * An iteration is charged by the steps of its body before it runs. `all` and `exists` absorb a fault of one iteration if
 * another one decides; the other macros stop at the first fault.
 */

import { isList, isMap, type List, mapKeys, mapSize, type Value } from "./cel-values.ts";
import { COST_FAULT, Fault, NO_OVERLOAD } from "./evaluation-faults.ts";
import { charge, type Evaluate, type Frame } from "./evaluation-frame.ts";
import { type Node, nodeCount } from "./expression-tree.ts";
import { sorted } from "./list-functions.ts";

const NOT_BOOL = new Fault("type", "the value is not a bool");

type Loop = Node & { readonly kind: "loop" };

export function loopEvaluator(node: Loop, compile: (node: Node) => Evaluate): Evaluate {
  const range = compile(node.range);
  const loops = loopsOf(node, compile(node.body), node.test && compile(node.test));
  return (frame) => {
    const value = range(frame);
    if (value instanceof Fault) return value;
    if (isList(value)) return loops(frame, value);
    if (!isMap(value)) return NO_OVERLOAD;
    return charge(frame, mapSize(value)) ? loops(frame, mapKeys(value)) : COST_FAULT;
  };
}

function loopsOf(node: Loop, body: Evaluate, test: Evaluate | undefined): (frame: Frame, items: List) => Value | Fault {
  const { slot } = node;
  const cost = 1 + nodeCount(node.body) + (node.test === undefined ? 0 : nodeCount(node.test));
  /** Sets the loop variable and charges one iteration. */
  const enter = (frame: Frame, item: Value): boolean => {
    frame.locals[slot] = item;
    return charge(frame, cost);
  };
  switch (node.macro) {
    case "all":
      return quantifier(enter, body, false);
    case "exists":
      return quantifier(enter, body, true);
    case "exists_one":
      return (frame, items) => {
        let count = 0;
        for (const item of items) {
          const isMatch = enter(frame, item) ? truth(body(frame)) : COST_FAULT;
          if (isMatch instanceof Fault) return isMatch;
          if (isMatch) count++;
        }
        return count === 1;
      };
    case "filter":
      return (frame, items) => {
        const kept: Value[] = [];
        for (const item of items) {
          const isMatch = enter(frame, item) ? truth(body(frame)) : COST_FAULT;
          if (isMatch instanceof Fault) return isMatch;
          if (isMatch) kept.push(item);
        }
        return kept;
      };
    case "map":
      return (frame, items) => {
        const made: Value[] = [];
        for (const item of items) {
          if (!enter(frame, item)) return COST_FAULT;
          const passesTest = test === undefined || truth(test(frame));
          if (passesTest instanceof Fault) return passesTest;
          if (!passesTest) continue;
          const value = body(frame);
          if (value instanceof Fault) return value;
          made.push(value);
        }
        return made;
      };
    case "sortBy":
      return (frame, items) => {
        const keys: Value[] = [];
        for (const item of items) {
          const key = enter(frame, item) ? body(frame) : COST_FAULT;
          if (key instanceof Fault) return key;
          keys.push(key);
        }
        return sorted(frame, items, keys);
      };
  }
}

const truth = (value: Value | Fault): boolean | Fault =>
  typeof value === "boolean" || value instanceof Fault ? value : NOT_BOOL;

/**
 * Compiles `all` or `exists`. `decisive` is the value by which one iteration decides the result: false for `all`, true for
 * `exists`.
 */
function quantifier(
  enter: (frame: Frame, item: Value) => boolean,
  body: Evaluate,
  decisive: boolean,
): (frame: Frame, items: List) => Value | Fault {
  return (frame, items) => {
    let fault: Fault | undefined;
    for (const item of items) {
      if (!enter(frame, item)) return COST_FAULT;
      const isMatch = truth(body(frame));
      if (isMatch === decisive) return decisive;
      if (isMatch instanceof Fault) fault ??= isMatch;
    }
    return fault ?? !decisive;
  };
}
