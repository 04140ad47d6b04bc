/** What a new key is proposed to be, from the keys that are there: what most of them are is rarely wrong. */

import type { KeyRecord } from "../../admin-api/index.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { keyNamed, profileNamed } from "./keys-by-name.ts";

/** Lives in milliseconds by the name of the choice; undefined: one without an end. */
export type Lives = ReadonlyMap<string, number | undefined>;

export interface Proposal {
  /** Empty: none. */
  readonly profile: string;
  /** The name of one of the lives. */
  readonly end: string;
}

/** Of a life that was given in days, what it may be off by. */
const TOLERANCE = 0.02;

/**
 * The profile of the key `like`, else the one that most keys have, else the only one there is; the life that most keys of
 * that profile were given, `otherwise` where none tells.
 */
export function proposedKey(data: Data, like: string | undefined, lives: Lives, otherwise: string): Proposal {
  const keys = rowsOf(data, "keys");
  const profiles = rowsOf(data, "profiles");
  const usual =
    (like === undefined ? undefined : keyNamed(data, like)?.profile) ??
    commonest(keys.flatMap(({ profile, status }) => (status === "expired" ? [] : (profile ?? []))));
  const only = profiles.length === 1 ? profiles[0]?.name : undefined;
  const profile = [usual, only].find((name) => name !== undefined && profileNamed(data, name) !== undefined) ?? "";
  const same = keys.filter((key) => (key.profile ?? "") === profile);
  return { profile, end: commonest(same.flatMap((key) => lifeOf(key, lives) ?? [])) ?? otherwise };
}

/** Undefined: it is none of those. */
function lifeOf({ created_at, expires_at }: KeyRecord, lives: Lives): string | undefined {
  const life = expires_at === null ? undefined : Date.parse(expires_at) - Date.parse(created_at);
  for (const [name, ms] of lives) {
    const isIt = ms === undefined || life === undefined ? ms === life : Math.abs(life - ms) <= ms * TOLERANCE;
    if (isIt) return name;
  }
  return undefined;
}

/** Of equals the one that comes first. */
function commonest(texts: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  let found: string | undefined;
  for (const [text, count] of counts) if (found === undefined || count > (counts.get(found) ?? 0)) found = text;
  return found;
}
