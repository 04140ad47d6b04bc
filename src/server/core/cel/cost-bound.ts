/**
 * Upper bound of an evaluation's cost, if the text alone shows it: no loops, or loops over literal lists. Units are those of
 * `frame.ts`. Early ends of `&&` are not taken into account.
 */

import { isList } from "./cel-values.ts";
import { textUnits } from "./evaluation-frame.ts";
import { children, literalTexts, type Node } from "./expression-tree.ts";

/** Functions that take one step whatever they are given. */
const FLAT: ReadonlySet<string> = new Set(["_[_]", "dyn", "type", "bool", "timestamp", "first", "last"]);

/** Returns `undefined` if the cost depends on the request. */
export function costBound(node: Node): number | undefined {
  const own = ownCost(node);
  if (own === undefined) return undefined;
  if (node.kind !== "loop") return plus(own, sumOf(children(node)));
  const length = lengthOf(node.range);
  const turn = sumOf([node.body, ...(node.test === undefined ? [] : [node.test])]);
  if (length === undefined || turn === undefined) return undefined;
  // The steps of a body are charged once at the start, as all steps are, and once a turn.
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

/** `lists.range` is charged by the number that it is given, which is small and yet not what it costs. */
function rangeCost(node: Node): number | undefined {
  if (node.kind !== "call" || node.name !== "lists.range") return 1;
  const length = lengthOf(node);
  return length === undefined ? undefined : 1 + length;
}

/** Numbers and the like: nothing to walk along. */
const isSmall = ({ type }: Node): boolean =>
  ["int", "uint", "double", "bool", "null", "timestamp", "duration"].includes(type.kind);

/** Items of a list that is written out, or made from one turn by turn. */
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
