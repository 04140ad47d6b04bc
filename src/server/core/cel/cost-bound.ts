/**
 * Computes an upper bound of an evaluation's cost if it has no loops, or only loops over literal lists. Units are those of
 * `evaluation-frame.ts`. Short-circuiting of `&&` is ignored.
 */

import { isList } from "./cel-values.ts";
import { textUnits } from "./evaluation-frame.ts";
import { children, literalTexts, type Node } from "./expression-tree.ts";

/** Functions that cost one step whatever their arguments. */
const FLAT: ReadonlySet<string> = new Set(["_[_]", "dyn", "type", "bool", "timestamp", "first", "last"]);

/** Returns the maximum cost of a node, or `undefined` if it depends on the request. */
export function costBound(node: Node): number | undefined {
  const own = ownCost(node);
  if (own === undefined) return undefined;
  if (node.kind !== "loop") return plus(own, sumOf(children(node)));
  const length = lengthOf(node.range);
  const turn = sumOf([node.body, ...(node.test === undefined ? [] : [node.test])]);
  if (length === undefined || turn === undefined) return undefined;
  // The steps of a body are charged once at the start, like all steps, and again for each iteration.
  const keys = node.range.type.kind === "map" ? length : 0;
  return plus(own + turn + keys + length * (1 + turn), costBound(node.range));
}

const plus = (a: number, b: number | undefined): number | undefined => (b === undefined ? undefined : a + b);

function sumOf(nodes: readonly Node[]): number | undefined {
  let sum: number | undefined = 0;
  for (const node of nodes) sum = sum === undefined ? undefined : plus(sum, costBound(node));
  return sum;
}

function ownCost(node: Node): number | undefined {
  if (node.kind === "loop") return node.macro === "sortBy" ? undefined : 1;
  if (node.kind !== "call" || FLAT.has(node.name) || node.args.every(isSmall)) return rangeCost(node);
  const [, second] = node.args;
  const known = second?.kind === "literal" ? second.value : undefined;
  switch (node.name) {
    case "_==_":
    case "_!=_":
      return typeof known === "string" ? 1 : undefined;
    case "@in":
      return second !== undefined && (literalTexts(second) !== undefined || second.type.kind === "map") ? 1 : undefined;
    case "startsWith":
    case "endsWith":
      return typeof known === "string" ? 1 + textUnits(known.length) : undefined;
    case "size":
      return ["list", "map", "bytes"].includes(node.args[0]?.type.kind ?? "") ? 1 : undefined;
    default:
      return undefined;
  }
}

/** Returns the cost of a node: 1, or for `lists.range` that of the list that it creates, although its argument is small. */
function rangeCost(node: Node): number | undefined {
  if (node.kind !== "call" || node.name !== "lists.range") return 1;
  const length = lengthOf(node);
  return length === undefined ? undefined : 1 + length;
}

/** Returns whether the type has a constant size, such as numbers. */
const isSmall = ({ type }: Node): boolean =>
  ["int", "uint", "double", "bool", "null", "timestamp", "duration"].includes(type.kind);

/**
 * Returns the maximum number of items of a literal list or map, of a `lists.range` with a literal argument, or of a loop over
 * such a list; otherwise `undefined`.
 */
function lengthOf(node: Node): number | undefined {
  if (node.kind === "literal") return isList(node.value) ? node.value.length : undefined;
  if (node.kind === "list") return node.items.length;
  if (node.kind === "map") return node.entries.length;
  if (node.kind === "call" && node.name === "lists.range") {
    const [count] = node.args;
    if (count?.kind !== "literal" || typeof count.value !== "bigint") return undefined;
    return count.value > 0n ? Number(count.value) : 0;
  }
  return node.kind === "loop" && ["map", "filter", "sortBy"].includes(node.macro) ? lengthOf(node.range) : undefined;
}
