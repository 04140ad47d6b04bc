/** Ids of the calls of one answer, which identify their outputs in the whole conversation. Source: responses reference, 5.2. */
import { createHash } from "node:crypto";
import type { AnswerStamp } from "../types.ts";

/** The published limit, in characters. */
const MAX_LENGTH = 64;

/** Maximum length of a seed within that, beside `call_`, numbers and separators. */
const MAX_SEED_LENGTH = 40;

/** Length of the hash in characters of the alphabet: 132 bits. */
const HASH_LENGTH = 22;

/**
 * The provider's own id, in the alphabet of ids, where no other call of the conversation has it; else one that is made.
 * `taken`: those of the request.
 */
export function createCallIds(
  stamp: AnswerStamp,
  taken: () => ReadonlySet<string>,
): (given: string, position: number) => string {
  const given = new Set<string>();
  let before: ReadonlySet<string> | undefined;
  const isFree = (id: string): boolean => {
    before ??= taken();
    return !given.has(id) && !before.has(id);
  };
  return (offered, position) => {
    const spelled = offered.replace(/[^A-Za-z0-9_-]/g, "_");
    let id = spelled;
    if (spelled === "" || spelled.length > MAX_LENGTH || !isFree(spelled)) {
      const made = `call_${shortSeed(stamp.seed)}_${position}`;
      id = made;
      // A client may have given two of its requests one id.
      for (let count = 2; !isFree(id); count++) id = `${made}_${count}`;
    }
    given.add(id);
    return id;
  };
}

function shortSeed(seed: string): string {
  if (seed.length <= MAX_SEED_LENGTH) return seed;
  return createHash("sha256").update(seed).digest("base64url").slice(0, HASH_LENGTH);
}
