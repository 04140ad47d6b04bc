/** Signs DNS updates with a shared key (RFC 8945) and verifies the answers, since an unsigned answer may come from anybody. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { CLASS, type DnsMessage, encodeName, readName, TYPE } from "./dns-message.ts";

export const ALGORITHMS = ["hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"] as const;
type Algorithm = (typeof ALGORITHMS)[number];

export interface TsigKey {
  readonly name: string;
  readonly algorithm: Algorithm;
  readonly secret: Buffer;
}

/** Accepted difference between clocks, in seconds. */
const FUDGE_SECONDS = 300;

interface SignedMessage {
  readonly wire: Buffer;
  readonly mac: Buffer;
}

const u16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
};
const u48 = (value: number): Buffer => {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(value, 0, 6);
  return bytes;
};

interface Variables {
  readonly time: Buffer;
  readonly fudge: number;
  readonly error: number;
  readonly other: Buffer;
}

function digest({ name, algorithm, secret }: TsigKey, parts: readonly Buffer[], variables: Variables): Buffer {
  const { time, fudge, error, other } = variables;
  const hash = createHmac(algorithm.slice("hmac-".length), secret);
  for (const part of parts) hash.update(part);
  hash.update(encodeName(name)).update(u16(CLASS.ANY)).update(Buffer.alloc(4)).update(encodeName(algorithm));
  return hash.update(time).update(u16(fudge)).update(u16(error)).update(u16(other.length)).update(other).digest();
}

/** Signs a message. `now`: milliseconds since 1970. */
export function sign(message: Buffer, key: TsigKey, now: number): SignedMessage {
  const variables: Variables = {
    time: u48(Math.floor(now / 1_000)),
    fudge: FUDGE_SECONDS,
    error: 0,
    other: Buffer.alloc(0),
  };
  const mac = digest(key, [message], variables);
  const data = Buffer.concat([
    ...[encodeName(key.algorithm), variables.time, u16(FUDGE_SECONDS), u16(mac.length), mac],
    ...[message.subarray(0, 2), u16(0), u16(0)],
  ]);
  const record = Buffer.concat([
    ...[encodeName(key.name), u16(TYPE.TSIG), u16(CLASS.ANY), Buffer.alloc(4), u16(data.length), data],
  ]);
  const counted = Buffer.from(message);
  counted.writeUInt16BE(message.readUInt16BE(10) + 1, 10);
  return { wire: Buffer.concat([counted, record]), mac };
}

type Verdict =
  | { readonly kind: "genuine" }
  /** `error`: the server's verdict on our signature; 0 if it gives none. `serverTime`: in seconds, for BADTIME. */
  | { readonly kind: "unproven"; readonly error: number; readonly serverTime: number | undefined };

/** Error codes of TSIG. */
export const TSIG_ERROR = { BADSIG: 16, BADKEY: 17, BADTIME: 18 } as const;

/** Verifies the answer to a request that was signed with `mac`. Throws `MalformedDnsMessage`. */
export function verify(answer: DnsMessage, mac: Buffer, key: TsigKey): Verdict {
  const record = answer.additional.at(-1);
  if (record?.type !== TYPE.TSIG) return { kind: "unproven", error: 0, serverTime: undefined };
  const { data, name } = record;
  const at = readName(data, 0).end;
  const size = at + 10 <= data.length ? data.readUInt16BE(at + 8) : 0;
  const rest = at + 10 + size;
  if (rest + 6 > data.length) return { kind: "unproven", error: 0, serverTime: undefined };
  const found = data.subarray(at + 10, rest);
  const error = data.readUInt16BE(rest + 2);
  const other = data.subarray(rest + 6);
  const variables: Variables = { time: data.subarray(at, at + 6), fudge: data.readUInt16BE(at + 6), error, other };
  const stripped = Buffer.from(answer.bytes.subarray(0, answer.lastAt));
  data.copy(stripped, 0, rest, rest + 2);
  stripped.writeUInt16BE(answer.bytes.readUInt16BE(10) - 1, 10);
  const expected = digest(key, [u16(mac.length), mac, stripped], variables);
  const isOurs = name === key.name.toLowerCase().replace(/\.$/, "");
  const isGenuine = isOurs && found.length === expected.length && timingSafeEqual(found, expected);
  if (isGenuine && error === 0) return { kind: "genuine" };
  const serverTime = error === TSIG_ERROR.BADTIME && other.length === 6 ? other.readUIntBE(0, 6) : undefined;
  return { kind: "unproven", error, serverTime };
}
