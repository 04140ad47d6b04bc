/**
 * Sealed values and the keys that seal them: rows `ring/<data key>`, `secret/<name>`, `cert/<id>` and `acme/<id>`. The state
 * machine has only ciphertext; nodes seal, open and wrap. Source: cluster reference, 8.
 */

import { actor } from "../command-envelope.ts";
import type { CommandRefusal } from "../command-refusals.ts";
import { base64, choice, identifier, integer, label, listOf, nullable, object, text } from "../fields.ts";
import type { Draft } from "../mutation-draft.ts";
import { keyPart, rowFormat } from "../row-format.ts";

export const dataKeyId = text(/^dk-[1-9][0-9]{0,8}$/, 12);

/** Nonce and ciphertext of AES-256-GCM: 96-bit nonce, ciphertext with tag. */
const nonce = text(/^[A-Za-z0-9+/]{16}$/, 16);
export const sealed = object({ dk: dataKeyId, n: nonce, ct: base64(262_144) });
export type Sealed = ReturnType<typeof sealed>;

const wrap = object({ kek: text(/^[a-z]+:[0-9a-f]{8,64}$/, 80), n: nonce, ct: base64(1_024) });
export const wraps = listOf(wrap, 16, 1);

const ring = object({
  id: dataKeyId,
  alg: choice(["A256GCM"]),
  created: integer(),
  /** The active key seals; retired keys only open what they sealed earlier. */
  state: choice(["active", "retired"]),
  wraps,
});
export type RingRow = ReturnType<typeof ring>;
export const ringRows = rowFormat(ring);
export const ringRowKey = (id: string): string => `ring/${id}`;

const secret = object({
  name: identifier,
  ver: integer(1),
  dk: dataKeyId,
  n: nonce,
  ct: base64(262_144),
  by: actor,
  at: integer(),
});
export type SecretRow = ReturnType<typeof secret>;
export const secretRows = rowFormat(secret);
export const secretRowKey = (name: string): string => `secret/${name}`;

const domainNames = listOf(label(253), 100);

export const certificateFields = {
  id: label(256),
  names: domainNames,
  /** Expiry in milliseconds since 1970; null before the first certificate is issued. */
  not_after: nullable(integer()),
  sealed,
};
const certificate = object({ ...certificateFields, ver: integer(1), at: integer() });
export const certificateRows = rowFormat(certificate);
export const certificateRowKey = (id: string): string => `cert/${keyPart(id)}`;

/** ACME account, identified by directory and contact. */
export const acmeFields = { id: label(512), sealed };
const acme = object({ ...acmeFields, ver: integer(1), at: integer() });
export const acmeRows = rowFormat(acme);
export const acmeRowKey = (id: string): string => `acme/${keyPart(id)}`;

/** Returns why a data key must not seal. Only the active one may: a proposer that used another one must seal again. */
export function sealObstacle(draft: Draft, dk: string): CommandRefusal | undefined {
  const value = draft.get(ringRowKey(dk));
  if (value === undefined) return "unknown_data_key";
  return ringRows.read(value).state === "active" ? undefined : "retired_data_key";
}

export function isDataKeyUsed(draft: Draft, dk: string): boolean {
  for (const [, value] of draft.scan("secret/")) if (secretRows.read(value).dk === dk) return true;
  for (const [, value] of draft.scan("cert/")) if (certificateRows.read(value).sealed.dk === dk) return true;
  for (const [, value] of draft.scan("acme/")) if (acmeRows.read(value).sealed.dk === dk) return true;
  return false;
}
