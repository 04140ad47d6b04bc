/**
 * Finds faults that are known only after everything was read: missing records, unknown keys, witnessed heads that are
 * not in the input.
 */

import type { AssembledChain } from "./assembled-chain.ts";
import { chainKey } from "./findings.ts";
import type { Finding, WitnessedHead } from "./types.ts";

type AddFinding = (finding: Finding) => void;

export function checkCompleteness(
  chains: readonly AssembledChain[],
  heads: readonly WitnessedHead[],
  add: AddFinding,
): void {
  const byKey = new Map(chains.map((chain) => [chainKey(chain.node, chain.kid), chain]));
  for (const chain of chains) {
    checkGaps(chain, add);
    checkKey(chain, add);
    checkPredecessor(chain, byKey, add);
  }
  for (const head of heads) checkHead(head, byKey.get(chainKey(head.node, head.kid)), add);
}

function checkGaps({ node, kid, assembler }: AssembledChain, add: AddFinding): void {
  for (const { first, last } of assembler.gaps()) {
    const message = first === last ? "the record is missing" : `records ${first} to ${last} are missing`;
    add({ kind: "missing", node, kid, seq: first, message });
  }
}

function checkKey({ node, kid, hasKey, unchecked, assembler, firstPlace }: AssembledChain, add: AddFinding): void {
  if (hasKey) return;
  const reason =
    assembler.first === 0
      ? "no start record names this key"
      : `its start record is not in the input, which begins at ${assembler.first}`;
  const message = `the chain's key is not known: ${reason}; ${unchecked.length} signatures were not checked (-key ${kid}=BASE64 gives it)`;
  add({ kind: "key", node, kid, place: firstPlace, message });
}

/** Checks the predecessor that a chain names. A chain whose directory was lost is succeeded by another. */
function checkPredecessor(
  { node, kid, assembler }: AssembledChain,
  byKey: ReadonlyMap<string, AssembledChain>,
  add: AddFinding,
): void {
  const named = assembler.start?.succeeds;
  const before = named === undefined ? undefined : byKey.get(chainKey(node, named.kid));
  if (named === undefined || before === undefined || named.seq < before.assembler.first) return;
  const found = (message: string): void => add({ kind: "succeeds", node, kid, seq: 0, message });
  if (named.seq > before.assembler.last) {
    found(`it succeeds record ${named.seq} of ${named.kid}, which ends at ${before.assembler.last} in the input`);
  } else if (before.assembler.compare(named.seq, named.hash) === "other") {
    found(`it succeeds record ${named.seq} of ${named.kid}, which is another one in the input`);
  }
}

function checkHead({ node, kid, seq, hash }: WitnessedHead, chain: AssembledChain | undefined, add: AddFinding): void {
  const message = headFault({ seq, hash }, chain);
  if (message !== undefined) add({ kind: "head", node, kid, seq, message });
}

function headFault(
  { seq, hash }: Pick<WitnessedHead, "seq" | "hash">,
  chain: AssembledChain | undefined,
): string | undefined {
  if (chain === undefined) return "the cluster has stored a record of this chain, but the input has none";
  const { first, last } = chain.assembler;
  if (seq > last) return `the cluster has stored record ${seq}, but the chain ends at ${last}: it was cut`;
  if (seq < first) return `the cluster has witnessed record ${seq}, and the input begins at ${first}`;
  const known = chain.assembler.compare(seq, hash);
  if (known === "other") return "the record differs from the one that the cluster has stored";
  return known === "unknown" ? "the cluster has stored the record, but it is missing in the input" : undefined;
}
