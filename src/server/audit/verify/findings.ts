/** List of findings, limited in size because one fault can cause a finding for every record of a trail. */

import type { Finding, FindingKind } from "./types.ts";

const MAX_LISTED = 1_000;
/** Maximum findings of one kind in one chain. */
const MAX_ALIKE = 20;

interface Findings {
  add(finding: Finding): void;
  readonly listed: readonly Finding[];
  readonly unlisted: number;
  /** Returns whether nothing was found in this chain. */
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
      // An input of many forged chains must not exhaust the memory either.
      if (alike.has(key) || alike.size < MAX_LISTED) alike.set(key, count);
      if (unclean.size < 100 * MAX_LISTED) unclean.add(chain);
      if (count > MAX_ALIKE || listed.length >= MAX_LISTED) unlisted += 1;
      else listed.push(finding);
    },
    isClean: (node, kid) => !unclean.has(chainKey(node, kid)),
  };
}

/** Returns a key for a chain. Node ids have no control characters, so a forged record cannot collide with another chain. */
export function chainKey(node: string, kid: string): string {
  return `${kid}\n${node}`;
}
