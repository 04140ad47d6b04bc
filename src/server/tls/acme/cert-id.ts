/**
 * Computes the id of a certificate in renewal information: key id of its issuer and serial number, in base64url (RFC 9773 section
 * 4.1). Both are read from the DER: `X509Certificate.serialNumber` lacks the leading zero that belongs to it.
 */
import { X509Certificate } from "node:crypto";

interface DerItem {
  readonly tag: number;
  readonly content: Buffer;
}

/** Returns the id of a certificate; `undefined` if it is not DER or lacks its issuer's key id. `pem`: leaf first. */
export function certIdOf(pem: string): string | undefined {
  const { raw } = new X509Certificate(pem);
  const fields = derItems(derItems(derItems(raw)[0]?.content)[0]?.content);
  const serial = fields.find(({ tag }) => tag === INTEGER)?.content;
  const extensions = derItems(derItems(fields.find(({ tag }) => tag === EXTENSIONS)?.content)[0]?.content);
  for (const { content } of extensions) {
    const parts = derItems(content);
    if (parts[0]?.content.equals(AUTHORITY_KEY_ID) !== true) continue;
    const keyId = derItems(derItems(parts.at(-1)?.content)[0]?.content).find(({ tag }) => tag === KEY_ID)?.content;
    if (keyId === undefined || serial === undefined) return undefined;
    return `${keyId.toString("base64url")}.${serial.toString("base64url")}`;
  }
  return undefined;
}

const INTEGER = 0x02;
/** Tag of `[3]` in the certificate's body. */
const EXTENSIONS = 0xa3;
/** Tag of `[0]` in the extension. */
const KEY_ID = 0x80;
/** Encoded object identifier 2.5.29.35 (authority key identifier). */
const AUTHORITY_KEY_ID = Buffer.from([0x55, 0x1d, 0x23]);

/** Returns the consecutive items in `der`, up to the first that is unreadable. */
function derItems(der: Buffer | undefined): readonly DerItem[] {
  const items: DerItem[] = [];
  for (let at = 0; der !== undefined && at + 2 <= der.length; ) {
    const tag = der[at] ?? 0;
    const first = der[at + 1] ?? 0;
    const width = first < 0x80 ? 0 : first & 0x7f;
    if (width > 4 || at + 2 + width > der.length) break;
    const begin = at + 2 + width;
    const length = width === 0 ? first : der.readUIntBE(at + 2, width);
    if (begin + length > der.length) break;
    items.push({ tag, content: der.subarray(begin, begin + length) });
    at = begin + length;
  }
  return items;
}
