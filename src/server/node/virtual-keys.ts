/**
 * The port `KeyStore` of the callers, over the replicated rows: `keyid/<id>` names the key, `key/<name>` is it. Source:
 * design decisions, section 1; `core/state/commands/keys.ts`.
 *
 * The view holds each key as one text, which is all that an unused key costs. A key is parsed when it is first asked for,
 * and what was parsed lately is kept, bounded. Nothing has to be told of a change: a parsed key counts for the version of
 * the table that it was compared at, and is compared with its row again at the next, so that a look-up never answers
 * what the view does not hold any more.
 */
import type { KeyStore, StoredKey } from "../auth/index.ts";
import type { StateView } from "../cluster/index.ts";
import { keyIdRowKey, keyRowKey, readKey, readKeyName } from "../core/state/index.ts";

/** A change of a key changes its row here, whatever becomes of its id. */
const TABLE = "key/";

/**
 * Of each of two generations: keys used since the last turn of generations, and those before. About 400 bytes a key; a
 * hundred thousand in use at random are all kept, since a miss costs ten times what all else does for a request's key.
 */
const GENERATION = 65_536;

interface Parsed {
  readonly key: StoredKey;
  /** The row that it was parsed from. */
  readonly text: string;
  /** Of the table, when the row was last seen to be this. */
  version: number;
}

/** `generation`: keys that are kept parsed are at most twice as many. */
export function openKeyStore(view: StateView, generation: number = GENERATION): KeyStore {
  let young = new Map<string, Parsed>();
  let old = new Map<string, Parsed>();

  const rowOf = (id: string): string | undefined => {
    const named = view.get(keyIdRowKey(id));
    return named === undefined ? undefined : view.get(keyRowKey(readKeyName(named)));
  };

  const keep = (id: string, parsed: Parsed): void => {
    if (young.size >= generation) {
      old = young;
      young = new Map();
    }
    young.set(id, parsed);
  };

  /** Not asked for since the last turn of generations, changed since, or never asked for. */
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
    byId(id) {
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
