/**
 * Key-encryption keys. They wrap the data keys of sealed secrets and are in no log, snapshot or row themselves.
 *
 * Source: cluster reference, section 8; design decisions, section 8. One key is derived from the cluster secret; with a
 * `kek_file`, new data keys are wrapped by a key derived from both, so that neither alone opens anything. Older wraps stay
 * readable until they are replaced.
 */

import { createHash, createHmac, hkdfSync } from "node:crypto";
import { readRegularFile, unreadableReason } from "./secret-file.ts";

export interface Kek {
  /** Label of every wrap: `s:` (from the secret) or `b:` (from both), and 8 hex digits that reveal nothing of the key. */
  readonly id: string;
  /** Key of 32 bytes. */
  readonly key: Uint8Array;
}

export interface Keks {
  /** Key that wraps new data keys. */
  readonly current: Kek;
  /** Keys that open wraps: `current` and the keys that it replaced. */
  readonly all: readonly Kek[];
}

interface KekSources {
  /** Key derived from `cluster.secret`. */
  readonly secret: Kek;
  /** Key derived from the previous secret, while it is being changed. */
  readonly previous?: Kek | undefined;
  /** Content of `kek_file`. */
  readonly file?: Uint8Array | undefined;
}

export function deriveKeks({ secret, previous, file }: KekSources): Keks {
  const secrets = previous === undefined ? [secret] : [secret, previous];
  const both = file === undefined ? [] : secrets.map((kek) => kekOfBoth(kek, file));
  return { current: both[0] ?? secret, all: [...both, ...secrets] };
}

/** Returns a keyed hex digest of a request that carries a value, for the log. A plain hash of a short value could be guessed. */
export function requestDigestOf(secret: Kek, request: Uint8Array): string {
  const key = Buffer.from(hkdfSync("sha256", secret.key, "", "request-digest/v1", KEY_BYTES));
  return createHmac("sha256", key).update(request).digest("hex");
}

const KEY_BYTES = 32;

/** Derives a key from secret and file. It needs no salt, since the key from the secret differs in every cluster. */
function kekOfBoth(secret: Kek, file: Uint8Array): Kek {
  const material = Buffer.concat([secret.key, file]);
  const derive = (info: string): Buffer => Buffer.from(hkdfSync("sha256", material, "", info, KEY_BYTES));
  const key = derive("kek-both/v1");
  const name = createHash("sha256").update(derive("kek-both-id/v1")).digest("hex").slice(0, 8);
  material.fill(0);
  return { id: `b:${name}`, key };
}

const MIN_FILE_BYTES = 32;
const MAX_FILE_BYTES = 64 * 1024;

/** Bits of `st_mode`: read or write for others. */
const OTHERS_MAY_READ_OR_WRITE = 0o006;

type KekFile =
  | { readonly kind: "key"; readonly bytes: Uint8Array }
  /** `message` names the file and contains nothing of its content. */
  | { readonly kind: "problem"; readonly message: string };

/**
 * Reads `kek_file`. `path`: absolute. The bytes are used as they are on disk, since a final newline may be part of random bytes.
 */
export function readKekFile(path: string): KekFile {
  const problem = (what: string): KekFile => ({ kind: "problem", message: `kek_file ${path} ${what}` });
  try {
    const content = readRegularFile(path, MAX_FILE_BYTES, ({ mode }) =>
      (mode & OTHERS_MAY_READ_OR_WRITE) === 0
        ? undefined
        : "is readable or writable for every user of this machine; run chmod o-rw on it",
    );
    if (typeof content === "string") return problem(content);
    return content.length < MIN_FILE_BYTES
      ? problem(`holds ${content.length} bytes; it must hold at least ${MIN_FILE_BYTES}`)
      : { kind: "key", bytes: content };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return problem(code === "ENOENT" ? "does not exist" : unreadableReason(code));
  }
}
