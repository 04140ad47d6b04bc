/**
 * Key of a chain: `audit.key`, Ed25519, PKCS#8 PEM, readable by its owner only. Source: specification document 1,
 * "Events"; cluster reference, 9.1.
 */

import { createPrivateKey, type KeyObject } from "node:crypto";
import { closeSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { generatePrivateKey } from "../../base/index.ts";
import { AuditError, unwritable } from "./audit-error.ts";
import { rawPublicKey, thumbprintOf } from "./audit-record.ts";
import { readIfPresent, replaceFile, UNFINISHED_SUFFIX } from "./durable-files.ts";

export const KEY_FILE = "audit.key";

/** Maximum size of the file; an Ed25519 key in PEM has 119 bytes. */
const MAX_KEY_BYTES = 4_096;

export interface ChainKey {
  readonly privateKey: KeyObject;
  readonly kid: string;
  /** Raw public key, 32 bytes. */
  readonly raw: Buffer;
}

export function generateKey(): ChainKey {
  return chainKey(generatePrivateKey("ed25519"));
}

/** Creates a key, replacing an existing one. It is on disk when this returns. */
export function createKeyFile(dir: string): ChainKey {
  const key = generateKey();
  const path = join(dir, KEY_FILE);
  try {
    closeSync(replaceFile(path, Buffer.from(key.privateKey.export({ type: "pkcs8", format: "pem" }))));
  } catch (cause) {
    throw unwritable(path, cause);
  }
  return key;
}

interface KeyFile {
  readonly key: ChainKey | undefined;
  /** Warning for the log. */
  readonly warning: string | undefined;
}

/** Reads the key file. Throws an `AuditError` if its content is not a key. */
export function readKeyFile(dir: string): KeyFile {
  const path = join(dir, KEY_FILE);
  let text: Buffer | undefined;
  let mode: number;
  try {
    rmSync(`${path}${UNFINISHED_SUFFIX}`, { force: true });
    text = readIfPresent(path, MAX_KEY_BYTES);
    if (text === undefined) return { key: undefined, warning: undefined };
    mode = statSync(path).mode & 0o777;
  } catch (cause) {
    throw unwritable(path, cause);
  }
  const warning =
    (mode & 0o077) === 0
      ? undefined
      : `other users than its owner can read the audit key ${path} (mode ${mode.toString(8).padStart(4, "0")}): set it to 0600`;
  return { key: parseKey(path, text), warning };
}

function parseKey(path: string, pem: Buffer): ChainKey {
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: pem, format: "pem" });
  } catch {
    throw notAKey(path);
  }
  if (key.asymmetricKeyType !== "ed25519") throw notAKey(path);
  return chainKey(key);
}

function notAKey(path: string): AuditError {
  return new AuditError(
    "damaged",
    `the audit key ${path} is not an Ed25519 private key in PKCS#8 PEM: restore it, or remove it together with ` +
      "audit-head to begin a new chain",
  );
}

function chainKey(privateKey: KeyObject): ChainKey {
  const raw = rawPublicKey(privateKey);
  return { privateKey, kid: thumbprintOf(raw), raw };
}
