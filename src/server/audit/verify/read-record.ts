/**
 * Parses a line as a record. Lines that are not records are ignored; a record that cannot be parsed is reported.
 *
 * A collector may have rewritten the record with other white space or member order; its content still has the same
 * hash. No other difference is accepted: a number in another notation may be another number for a parser with more
 * precision than JavaScript, and a repeated name in an object is refused, since parsers differ in which one counts.
 */

import { isUtf8 } from "node:buffer";
import { canonical, hashOfCanonical, isEventName } from "../audit-record.ts";
import { parseProof } from "../group-proof.ts";
import type { AuditHead } from "../types.ts";
import { MAX_INPUT_LINE_BYTES } from "./input-blocks.ts";

export interface ChainStart {
  /** Raw key in base64, as in the record. */
  readonly key: string | undefined;
  readonly ephemeral: boolean;
  readonly succeeds: AuditHead | undefined;
}

export interface ReadRecord {
  readonly kind: "record";
  readonly node: string;
  readonly kid: string;
  readonly seq: number;
  readonly prev: string;
  readonly hash: string;
  readonly sig: string;
  /** Proof of a record that shares its signature, for `parseProof`. */
  readonly proof: string | undefined;
  /** True if the content has the hash `hash`. */
  readonly hasValidHash: boolean;
  /** Controls of the rules that made a decision; empty for other records. */
  readonly controls: readonly string[];
  /** Set for a `chain.start`. */
  readonly start: ChainStart | undefined;
}

export type ReadLine =
  | ReadRecord
  | { readonly kind: "other" }
  /** Line that begins like a record and is truncated. */
  | { readonly kind: "cut" }
  | {
      readonly kind: "unreadable";
      readonly message: string;
      readonly node?: string;
      readonly kid?: string;
      readonly seq?: number;
    };

const OTHER: ReadLine = { kind: "other" };

const HASH = /^[A-Za-z0-9_-]{43}$/;
const SIGNATURE = /^[A-Za-z0-9_-]{86}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Beginning and end of the canonical form of a record. */
const BEGINNING = '{"audit":1,';
const ENDING = /"ts":"[^"]{0,40}"\}$/;

const DECISIONS: ReadonlySet<unknown> = new Set(["access.decision", "guardrail.decision"]);

const MAX_NODE_LENGTH = 256;
/** Number of members of a record, without `proof`. There are no others. */
const MEMBERS = 11;

/** Parses a line. `bytes`: the line without its newline. */
export function readLine(bytes: Buffer): ReadLine {
  if (!bytes.includes('"audit"')) return OTHER;
  if (bytes.length > MAX_INPUT_LINE_BYTES) {
    return bytes.subarray(0, 256).includes(BEGINNING)
      ? { kind: "unreadable", message: `the line looks like a record but has more than ${MAX_INPUT_LINE_BYTES} bytes` }
      : OTHER;
  }
  const text = bytes
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .trim();
  if (!text.startsWith("{")) return text.includes(BEGINNING) ? unparsableRecord(text) : OTHER;
  try {
    return readObject(bytes, text, JSON.parse(text));
  } catch {
    return text.includes(BEGINNING) ? unparsableRecord(text) : OTHER;
  }
}

function unparsableRecord(text: string): ReadLine {
  return ENDING.test(text)
    ? { kind: "unreadable", message: "the line looks like a record but is not JSON" }
    : { kind: "cut" };
}

type Members = Readonly<Record<string, unknown>>;

function readObject(bytes: Buffer, text: string, value: unknown): ReadLine {
  if (!isObject(value) || value["audit"] === undefined) return OTHER;
  const { audit, node, kid, seq, prev, ts, event, controls, data, hash, sig, proof } = value;
  const looksSigned = typeof hash === "string" && typeof sig === "string";
  if (audit !== 1 && !looksSigned) return OTHER;
  const place = {
    ...(typeof node === "string" && { node }),
    ...(typeof kid === "string" && { kid }),
    ...(typeof seq === "number" && { seq }),
  };
  const unreadable = (message: string): ReadLine => ({ kind: "unreadable", message, ...place });
  if (audit !== 1) return unreadable("the record has an unknown format");
  if (typeof node !== "string" || node === "" || node.length > MAX_NODE_LENGTH)
    return unreadable(invalidMember("node"));
  if (typeof kid !== "string" || !HASH.test(kid)) return unreadable(invalidMember("kid"));
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 0) return unreadable(invalidMember("seq"));
  if (typeof prev !== "string" || !HASH.test(prev)) return unreadable(invalidMember("prev"));
  if (typeof hash !== "string" || !HASH.test(hash)) return unreadable(invalidMember("hash"));
  if (typeof sig !== "string" || !isSignature(sig)) return unreadable(invalidMember("sig"));
  if (typeof ts !== "string" || !TIME.test(ts)) return unreadable(invalidMember("ts"));
  if (!isEventName(event)) return unreadable(invalidMember("event"));
  if (!Array.isArray(controls)) return unreadable(invalidMember("controls"));
  if (!isObject(data)) return unreadable(invalidMember("data"));
  if (proof !== undefined && !isProof(proof)) return unreadable(invalidMember("proof"));
  const members = MEMBERS + (proof === undefined ? 0 : 1);
  if (Object.keys(value).length !== members) return unreadable("the record has unknown members");
  const canonicalText = tryCanonical(value);
  if (canonicalText === undefined) return unreadable("the record has no canonical form");
  const other = text === canonicalText ? undefined : withoutStrings(text);
  if (other !== undefined && countColons(other) !== countNames(value)) {
    // The text has more names than the object, so some were repeated.
    return unreadable("a name occurs twice in one of the record's objects");
  }
  const isAsRead = isUtf8(bytes) && (other === undefined || hasCanonicalNumbers(other));
  const hasValidHash =
    isAsRead && hashOfCanonical(withoutSignature(canonicalText, { hash, sig, proof })).toString("base64url") === hash;
  const start = event === "chain.start" ? chainStartOf(data) : undefined;
  const decided = DECISIONS.has(event) ? controls.filter((it): it is string => typeof it === "string") : [];
  return { kind: "record", node, kid, seq, prev, hash, sig, proof, hasValidHash, controls: decided, start };
}

const invalidMember = (name: string): string => `the record's '${name}' is invalid`;

function isProof(value: unknown): value is string {
  return typeof value === "string" && parseProof(value) !== undefined;
}

/**
 * Returns whether the text is a signature in canonical base64: unused bits at the end could otherwise give two texts
 * the same bytes.
 */
function isSignature(text: string): boolean {
  return SIGNATURE.test(text) && Buffer.from(text, "base64url").toString("base64url") === text;
}

function tryCanonical(value: Members): string | undefined {
  try {
    return canonical(value);
  } catch {
    return undefined;
  }
}

/**
 * Returns the text without these members. After `data` all values are texts, so the last match of a member's text is
 * the member itself.
 */
function withoutSignature(canonicalText: string, members: Readonly<Record<"hash" | "sig" | "proof", unknown>>): string {
  let text = canonicalText;
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined) text = withoutMember(text, `"${name}":"${value}",`);
  }
  return text;
}

function withoutMember(text: string, member: string): string {
  const at = text.lastIndexOf(member);
  return text.slice(0, at) + text.slice(at + member.length);
}

function chainStartOf(data: Members): ChainStart {
  const { key, ephemeral, succeeds } = data;
  return {
    key: typeof key === "string" ? key : undefined,
    ephemeral: ephemeral === true,
    succeeds: headOf(succeeds),
  };
}

function headOf(value: unknown): AuditHead | undefined {
  if (!isObject(value)) return undefined;
  const { kid, seq, hash } = value;
  if (typeof kid !== "string" || typeof seq !== "number" || typeof hash !== "string") return undefined;
  return { kid, seq, hash };
}

/** Removes all strings from a JSON text, so that each remaining colon follows a name and each digit belongs to a number. */
function withoutStrings(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"/g, "");
}

function countColons(text: string): number {
  return text.match(/:/g)?.length ?? 0;
}

function hasCanonicalNumbers(text: string): boolean {
  return (text.match(/[-\d][-+.\deE]*/g) ?? []).every((number) => canonical(Number(number)) === number);
}

function countNames(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, each) => sum + countNames(each), own);
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
