/**
 * Creates the ids of one answer's calls. They identify the outputs in the whole conversation. Source: responses reference,
 * 5.2.
 */
import { createHash } from "node:crypto";
import type { AnswerStamp } from "../types.ts";

/** Maximum length of an id in characters; the published limit. */
const MAX_LENGTH = 64;

/** Maximum length of a seed, so that `call_`, numbers and separators fit into the id too. */
const MAX_SEED_LENGTH = 40;

/** Length of the hash in characters of the alphabet: 132 bits. */
const HASH_LENGTH = 22;

/**
 * Returns a function that returns the id of a call: the provider's own if it is in the alphabet and no other call of the
 * conversation has it, otherwise a created one. `taken` are the ids of the request.
 */
export function createCallIds(
  stamp: AnswerStamp,
  taken: () => ReadonlySet<string>,
): (providerId: string, position: number) => string {
  const usedIds = new Set<string>();
  let before: ReadonlySet<string> | undefined;
  const isFree = (id: string): boolean => {
    before ??= taken();
    return !usedIds.has(id) && !before.has(id);
  };
  return (offered, position) => {
    const spelled = offered.replace(/[^A-Za-z0-9_-]/g, "_");
    let id = spelled;
    if (spelled === "" || spelled.length > MAX_LENGTH || !isFree(spelled)) {
      const made = `call_${shortSeed(stamp.seed)}_${position}`;
      id = made;
      // A client may have used a created id in two of its requests.
      for (let count = 2; !isFree(id); count++) id = `${made}_${count}`;
    }
    usedIds.add(id);
    return id;
  };
}

function shortSeed(seed: string): string {
  if (seed.length <= MAX_SEED_LENGTH) return seed;
  return createHash("sha256").update(seed).digest("base64url").slice(0, HASH_LENGTH);
}
