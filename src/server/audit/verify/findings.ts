/** The findings of a verification, bounded: one fault can make every record of a trail one. */

import type { Finding, FindingKind } from "./types.ts";

const MAX_LISTED = 1_000;
/** Maximum findings of one kind in one chain. */
const MAX_ALIKE = 20;

export interface Findings {
  add(finding: Finding): void;
  readonly listed: readonly Finding[];
  readonly unlisted: number;
  /** Whether anything was found in this chain. */
  isClean(node: string, kid: string): boolean;
}

export function createFindings(): Findings {
  const listed: Finding[] = [];
  const alike = new Map<string, number>();
  const unclean = new Set<string>();
  let unlisted = 0;
  return {
    listed,
    get unlisted() {
      return unlisted;
    },
    add(finding) {
      const { kind, node = "", kid = "" } = finding;
      const chain = chainKey(node, kid);
      const key = `${kind satisfies FindingKind} ${chain}`;
      const count = (alike.get(key) ?? 0) + 1;
      // An input of made-up chains must not fill the memory either.
      if (alike.has(key) || alike.size < MAX_LISTED) alike.set(key, count);
      if (unclean.size < 100 * MAX_LISTED) unclean.add(chain);
      if (count > MAX_ALIKE || listed.length >= MAX_LISTED) unlisted += 1;
      else listed.push(finding);
    },
    isClean: (node, kid) => !unclean.has(chainKey(node, kid)),
  };
}

/** A node's id has no control characters, so a forged record cannot collide with another chain. */
export function chainKey(node: string, kid: string): string {
  return `${kid}\n${node}`;
}
