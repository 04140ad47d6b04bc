/**
 * Encodes and parses DNS messages (RFC 1035) for challenges: questions, updates (RFC 2136) that add or delete one TXT value, and
 * the records of answers. Input is untrusted: every length is checked, and name pointers may only point back.
 */

export const TYPE = { A: 1, NS: 2, CNAME: 5, SOA: 6, TXT: 16, AAAA: 28, TSIG: 250 } as const;
export type RecordType = (typeof TYPE)[keyof typeof TYPE];

export const CLASS = { IN: 1, NONE: 254, ANY: 255 } as const;

interface DnsRecord {
  /** Name in lower case, without the final dot. */
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly data: Buffer;
  /** Offset of `data` in the message, needed for compressed names. */
  readonly at: number;
}

export interface DnsMessage {
  readonly bytes: Buffer;
  readonly id: number;
  readonly isAnswer: boolean;
  readonly isAuthoritative: boolean;
  readonly isTruncated: boolean;
  readonly code: number;
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additional: readonly DnsRecord[];
  /** Offset of the last record. */
  readonly lastAt: number;
}

export class MalformedDnsMessage extends Error {
  constructor() {
    super("a DNS message is malformed");
    this.name = "Malformed";
  }
}

const MAX_LABEL_BYTES = 63;
const MAX_NAME_BYTES = 255;

/** Encodes a name without compression. Throws `Malformed` if it is not a valid name. */
export function encodeName(name: string): Buffer {
  const labels = name
    .toLowerCase()
    .replace(/\.$/, "")
    .split(".")
    .filter((label, _, all) => label !== "" || all.length > 1);
  const parts = labels.map((label) => {
    const bytes = Buffer.from(label, "latin1");
    if (bytes.length === 0 || bytes.length > MAX_LABEL_BYTES) throw new MalformedDnsMessage();
    return Buffer.concat([Buffer.of(bytes.length), bytes]);
  });
  const whole = Buffer.concat([...parts, Buffer.of(0)]);
  if (whole.length > MAX_NAME_BYTES) throw new MalformedDnsMessage();
  return whole;
}

const header = (id: number, flags: number, counts: readonly [number, number, number, number]): Buffer =>
  u16(id, flags, ...counts);

const u16 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [at, value] of values.entries()) bytes.writeUInt16BE(value, at * 2);
  return bytes;
};

const RECURSION_DESIRED = 0x0100;
const OPCODE_UPDATE = 0x2800;

export const encodeQuestion = (id: number, name: string, type: RecordType, isRecursive: boolean): Buffer =>
  Buffer.concat([header(id, isRecursive ? RECURSION_DESIRED : 0, [1, 0, 0, 0]), encodeName(name), u16(type, CLASS.IN)]);

/**
 * Encodes the addition of one TXT value with its TTL in seconds, or its deletion without a TTL. Other values of the name stay.
 */
export function encodeUpdate(
  id: number,
  zone: string,
  { name, value, ttl }: { readonly name: string; readonly value: string; readonly ttl: number | undefined },
): Buffer {
  const text = Buffer.from(value, "latin1");
  if (text.length > 255) throw new MalformedDnsMessage();
  const seconds = Buffer.alloc(4);
  seconds.writeUInt32BE(ttl ?? 0);
  return Buffer.concat([
    header(id, OPCODE_UPDATE, [1, 0, 1, 0]),
    encodeName(zone),
    u16(TYPE.SOA, CLASS.IN),
    encodeName(name),
    u16(TYPE.TXT, ttl === undefined ? CLASS.NONE : CLASS.IN),
    seconds,
    u16(text.length + 1),
    Buffer.of(text.length),
    text,
  ]);
}

/** Parses a message. Throws `Malformed`. */
export function readMessage(bytes: Buffer): DnsMessage {
  if (bytes.length < 12) throw new MalformedDnsMessage();
  const word = (at: number): number => bytes.readUInt16BE(at);
  const flags = word(2);
  let at = 12;
  for (let left = word(4); left > 0; left -= 1) at = checkedEnd(bytes, readName(bytes, at).end, 4);
  let lastAt = at;
  const section = (count: number): readonly DnsRecord[] => {
    const records: DnsRecord[] = [];
    for (let left = count; left > 0; left -= 1) {
      lastAt = at;
      const { name, end } = readName(bytes, at);
      const begin = checkedEnd(bytes, end, 10);
      const length = word(end + 8);
      at = checkedEnd(bytes, begin, length);
      const data = bytes.subarray(begin, at);
      records.push({ name, type: word(end), class: word(end + 2), ttl: bytes.readUInt32BE(end + 4), data, at: begin });
    }
    return records;
  };
  const [answers, authorities, additional] = [section(word(6)), section(word(8)), section(word(10))];
  return {
    bytes,
    id: word(0),
    isAnswer: (flags & 0x8000) !== 0,
    isAuthoritative: (flags & 0x0400) !== 0,
    isTruncated: (flags & 0x0200) !== 0,
    code: flags & 0x000f,
    answers,
    authorities,
    additional,
    lastAt,
  };
}

/** Returns the offset `length` bytes after `at`. Throws `Malformed` if the message is shorter. */
function checkedEnd(bytes: Buffer, at: number, length: number): number {
  if (at + length > bytes.length) throw new MalformedDnsMessage();
  return at + length;
}

/** Reads a name. `end`: offset after the name. */
export function readName(bytes: Buffer, at: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let length = 0;
  let end: number | undefined;
  for (let here = at; ; ) {
    const first = bytes[here];
    if (first === undefined) throw new MalformedDnsMessage();
    if (first === 0) return { name: labels.join(".").toLowerCase(), end: end ?? here + 1 };
    if (first >= 0xc0) {
      checkedEnd(bytes, here, 2);
      end ??= here + 2;
      const target = bytes.readUInt16BE(here) & 0x3fff;
      // Pointers may only go back, so that parsing ends.
      if (target >= here) throw new MalformedDnsMessage();
      here = target;
      continue;
    }
    if (first > MAX_LABEL_BYTES) throw new MalformedDnsMessage();
    const next = checkedEnd(bytes, here + 1, first);
    length += first + 1;
    if (length > MAX_NAME_BYTES) throw new MalformedDnsMessage();
    labels.push(bytes.toString("latin1", here + 1, next));
    here = next;
  }
}

/** Returns the joined strings of a TXT record. */
export function textOf({ data }: DnsRecord): string {
  const parts: string[] = [];
  for (let at = 0; at < data.length; ) {
    const end = checkedEnd(data, at + 1, data[at] ?? 0);
    parts.push(data.toString("latin1", at + 1, end));
    at = end;
  }
  return parts.join("");
}

/** Returns the name at the start of a CNAME, NS or SOA record. */
export const targetOf = ({ bytes }: DnsMessage, record: DnsRecord): string => readName(bytes, record.at).name;

/** Returns the address of an A or AAAA record; `undefined` for other records. */
export function addressOf({ type, data }: DnsRecord): string | undefined {
  if (type === TYPE.A && data.length === 4) return data.join(".");
  if (type !== TYPE.AAAA || data.length !== 16) return undefined;
  return Array.from({ length: 8 }, (_, at) => data.readUInt16BE(at * 2).toString(16)).join(":");
}
