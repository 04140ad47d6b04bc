/**
 * Keys of session tickets, the same on every node of a deployment, so that a client can resume at any of them. They change with
 * the UTC day, since a ticket key lets its holder read recorded sessions of TLS 1.2 that were resumed with it. A ticket of the
 * day before costs one full handshake. Source: front-door reference, section 6.1.
 */
import { hkdfSync, randomBytes } from "node:crypto";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Bytes of one set of keys as Node takes them: name, HMAC and AES. */
const KEY_BYTES = 48;

/** Returns the 48 bytes for the day of `now`, in milliseconds since 1970. */
export type TicketKeys = (now: number) => Buffer;

/** Derives the keys. `secret`: secret of the deployment; `undefined` to use a random one that only this process knows. */
export function createTicketKeys(secret: Uint8Array | undefined): TicketKeys {
  const root = secret ?? randomBytes(32);
  return (now) => {
    const label = `tls-ticket/v1/${Math.floor(now / DAY_MS)}`;
    return Buffer.from(hkdfSync("sha256", root, "", label, KEY_BYTES));
  };
}
