/** Defaults for a new key, taken from the existing keys: what most of them have is rarely wrong. */

import type { KeyRecord } from "../../admin-api/index.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { keyNamed, profileNamed } from "./keys-by-name.ts";

/** Lifetimes in milliseconds by the name of the choice; `undefined` never expires. */
export type Lifetimes = ReadonlyMap<string, number | undefined>;

interface Proposal {
  /** Name of the profile; empty for none. */
  readonly profile: string;
  /** Name of one of the lifetimes. */
  readonly end: string;
}

/** Relative tolerance when a lifetime is matched with a choice. */
const TOLERANCE = 0.02;

/**
 * Proposes a profile (that of the key `like`, otherwise that of most keys, otherwise the only one) and the lifetime of most
 * keys of that profile, or `otherwise` if no key has a known one.
 */
export function proposedKey(data: Data, like: string | undefined, lives: Lifetimes, otherwise: string): Proposal {
  const keys = rowsOf(data, "keys");
  const profiles = rowsOf(data, "profiles");
  const usual =
    (like === undefined ? undefined : keyNamed(data, like)?.profile) ??
    commonest(keys.flatMap(({ profile, status }) => (status === "expired" ? [] : (profile ?? []))));
  const singleProfile = profiles.length === 1 ? profiles[0]?.name : undefined;
  const profile =
    [usual, singleProfile].find((name) => name !== undefined && profileNamed(data, name) !== undefined) ?? "";
  const same = keys.filter((key) => (key.profile ?? "") === profile);
  return { profile, end: commonest(same.flatMap((key) => lifeOf(key, lives) ?? [])) ?? otherwise };
}

/** Returns the name of the key's lifetime; `undefined` if it matches none of `lives`. */
function lifeOf({ created_at, expires_at }: KeyRecord, lives: Lifetimes): string | undefined {
  const lifetime = expires_at === null ? undefined : Date.parse(expires_at) - Date.parse(created_at);
  for (const [name, ms] of lives) {
    const isIt =
      ms === undefined || lifetime === undefined ? ms === lifetime : Math.abs(lifetime - ms) <= ms * TOLERANCE;
    if (isIt) return name;
  }
  return undefined;
}

/** Returns the most frequent text; the first one among equals. */
function commonest(texts: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  let found: string | undefined;
  for (const [text, count] of counts) if (found === undefined || count > (counts.get(found) ?? 0)) found = text;
  return found;
}
