/** Resolves aliases of a YAML document: each refers to the last node before it with its anchor (YAML 1.2.2, 7.1). */

import { type Alias, type Document, isAlias, isNode, type ParsedNode, visit } from "yaml";

export interface Aliases {
  /** Target of each alias. An alias without an anchor of its name before it is not included. */
  readonly targets: ReadonlyMap<Alias, ParsedNode>;
  /** Nodes that aliases refer to. */
  readonly shared: ReadonlySet<ParsedNode>;
  /** Number of aliases, with and without an anchor. */
  readonly count: number;
}

export function aliasesIn(document: Document.Parsed): Aliases {
  const anchors = new Map<string, ParsedNode>();
  const targets = new Map<Alias, ParsedNode>();
  let count = 0;
  visit(document, (_key, node) => {
    if (!isNode(node)) return;
    if (isAlias(node)) {
      count += 1;
      const target = anchors.get(node.source);
      if (target !== undefined) targets.set(node, target);
    } else if (node.anchor !== undefined) anchors.set(node.anchor, node as ParsedNode);
  });
  return { targets, shared: new Set(targets.values()), count };
}
