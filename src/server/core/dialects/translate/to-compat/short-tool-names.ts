/**
 * Shortens names of tools for a compat provider, which accepts 64 characters; the messages dialect allows 128. A longer name
 * keeps its first 55 characters and gets eight digits of its SHA-256. So it is the same in every turn of a conversation: in
 * its tools, its choice and its history. Source: dialects reference, 3.1 and 8.2.
 */
import { createHash } from "node:crypto";

const MAX_NAME_LENGTH = 64;
const DIGEST_LENGTH = 8;

export interface ToolNames {
  /** Returns the name to send to the provider. Different names of one request get different names. */
  nameToSend(name: string): string;
  /** Client's name by changed name. It grows with the calls of `nameToSend`. */
  readonly originalNames: ReadonlyMap<string, string>;
}

/**
 * Returns the names of a request's tools. `declared` has the names of all declared tools; names that occur only in the history
 * are shortened on first use.
 */
export function toolNamesOf(declared: readonly string[]): ToolNames {
  const usedNames = new Set(declared.filter((name) => name.length <= MAX_NAME_LENGTH));
  const shortened = new Map<string, string>();
  const changed = new Map<string, string>();

  function sent(name: string): string {
    if (name.length <= MAX_NAME_LENGTH) return name;
    const known = shortened.get(name);
    if (known !== undefined) return known;
    let short = shortName(name, name, MAX_NAME_LENGTH);
    for (let attempt = 1; usedNames.has(short); attempt++)
      short = shortName(name, `${name} ${attempt}`, MAX_NAME_LENGTH);
    usedNames.add(short);
    shortened.set(name, short);
    changed.set(short, name);
    return short;
  }

  for (const name of declared) sent(name);
  return { nameToSend: sent, originalNames: changed };
}

/** Returns a name of at most `maxLength` characters: the beginning of `name`, and a digest of `digested`, which identifies it. */
export function shortName(name: string, digested: string, maxLength: number): string {
  const digest = createHash("sha256").update(digested).digest("hex").slice(0, DIGEST_LENGTH);
  return `${name.slice(0, maxLength - DIGEST_LENGTH - 1)}_${digest}`;
}
