/**
 * Port `KeyStore` of the callers, over the replicated rows: `keyid/<id>` names the key, `key/<name>` contains it. Source: design
 * decisions, section 1; `core/state/commands/keys.ts`.
 *
 * The view keeps each key as one text, which is the whole cost of an unused key. A key is parsed at its first use, and recently
 * parsed keys are kept in a bounded cache. No invalidation is needed: a parsed key is valid for the table version at which it was
 * compared, and is compared with its row again at the next version, so that a lookup never returns a key that the view no longer
 * contains.
 */
import type { KeyStore, StoredKey } from "../../auth/index.ts";
import type { StateView } from "../../cluster/index.ts";
import { keyIdRowKey, keyRowKey, readKey, readKeyName } from "../../core/state/index.ts";

/** Table whose version shows every change of a key; the table of ids need not be watched. */
const TABLE = "key/";

/**
 * Size of each of two generations: keys used since the last rotation, and those before. A key takes about 400 bytes. A hundred
 * thousand keys used at random all fit, since a miss costs ten times the rest of a request's key check.
 */
const GENERATION_KEYS = 65_536;

interface ParsedKey {
  readonly key: StoredKey;
  /** Row that it was parsed from. */
  readonly text: string;
  /** Version of the table at which the row was last seen to match. */
  version: number;
}

/** Opens the store. `generation`: half the maximum number of parsed keys that are kept. */
export function openKeyStore(view: StateView, generation: number = GENERATION_KEYS): KeyStore {
  let young = new Map<string, ParsedKey>();
  let old = new Map<string, ParsedKey>();

  const rowOf = (id: string): string | undefined => {
    const named = view.get(keyIdRowKey(id));
    return named === undefined ? undefined : view.get(keyRowKey(readKeyName(named)));
  };

  const keep = (id: string, parsed: ParsedKey): void => {
    if (young.size >= generation) {
      old = young;
      young = new Map();
    }
    young.set(id, parsed);
  };

  /** Finds a key that was not used since the last rotation, has changed since, or was never used. */
  const find = (id: string, version: number): StoredKey | undefined => {
    const known = young.get(id) ?? old.get(id);
    const text = known?.version === version ? known.text : rowOf(id);
    if (text === undefined) {
      young.delete(id);
      old.delete(id);
      return undefined;
    }
    const parsed = known?.text === text ? known : { key: parse(text), text, version };
    parsed.version = version;
    if (young.get(id) !== parsed) keep(id, parsed);
    return parsed.key;
  };

  return {
    findById(id) {
      const version = view.version(TABLE);
      const known = young.get(id);
      return known !== undefined && known.version === version ? known.key : find(id, version);
    },
  };
}

function parse(text: string): StoredKey {
  const { id, name, profile, metadata, digest, expires_at } = readKey(text);
  return Object.freeze({ id, name, profile, metadata: Object.freeze(metadata), digest, expires_at });
}
