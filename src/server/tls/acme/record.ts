/**
 * What the cluster keeps, sealed, of the front door's certificate by ACME: a record for each set of names, an account for
 * each directory and contact. Times: milliseconds since 1970. PEM, where keys and chains are.
 */
import { createHash } from "node:crypto";

/** RFC 8555 section 7.1.2. */
export interface Account {
  readonly ca: string;
  readonly email: string;
  readonly key: string;
  /** Of the key (RFC 7638), which is the second half of every key authorization. */
  readonly thumbprint: string;
  /** Null until the authority has it. */
  readonly url: string | null;
}

export type ChallengeType = "http-01" | "dns-01";

/** One that is to be answered, or has been. */
export interface Challenge {
  readonly authorization: string;
  readonly url: string;
  /** Of the authorization: without `*.`. */
  readonly name: string;
  readonly token: string;
}

/** States of an order, each kept before the effect that it stands for is begun. See `machine.ts`. */
export type Step = "order" | "check" | "publish" | "respond" | "finalize" | "download";

export interface Order {
  /** Ours. */
  readonly id: string;
  readonly step: Step;
  readonly type: ChallengeType;
  /** Of the certificate: kept before the authority is asked, so that none is issued whose key is lost. */
  readonly key: string;
  /** `certId` of the certificate that this one is to take the place of (RFC 9773 section 5). */
  readonly replaces: string | null;
  readonly startedAt: number;
  /** Null until the authority has it. */
  readonly url: string | null;
  readonly challenges: readonly Challenge[];
}

/** Renewal information (RFC 9773) of one certificate. */
export interface Window {
  readonly start: number;
  readonly end: number;
  /** Drawn once for a window: a draw a poll would tend to its beginning. */
  readonly at: number;
}

export interface Issued {
  readonly chain: string;
  readonly key: string;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly issuedAt: number;
  /** RFC 9773 section 4.1; null of a certificate without the key id of its issuer. */
  readonly certId: string | null;
  /** By its lifetime; a window goes before it. */
  readonly renewAt: number;
  /** Thumbprint of the account that ordered it. */
  readonly account: string;
  readonly window: Window | null;
  /** When renewal information is asked for; null: never, the authority has none. */
  readonly askAt: number | null;
}

/** A TXT record that was written, or was about to be. */
export interface TxtRecord {
  readonly name: string;
  readonly value: string;
}

export interface Failure {
  readonly reason: FailureReason;
  readonly message: string;
  readonly at: number;
  readonly step: string;
  /** Digest of the settings under which it failed: others are tried at once. */
  readonly settings: string;
}

/** The label of a metric. */
export type FailureReason =
  | "ca_unreachable"
  | "ca_answer"
  | "account"
  | "eab"
  | "validation"
  | "rate_limited"
  | "processing"
  | "nonce"
  | "refused"
  | "clock_skew"
  | "bad_certificate"
  | "dns_auth"
  | "dns_update"
  | "dns_propagation";

export interface CertificateRecord {
  readonly ca: string;
  /** Sorted. */
  readonly names: readonly string[];
  readonly issued: Issued | null;
  readonly order: Order | null;
  readonly failure: Failure | null;
  /** Since the last that succeeded. */
  readonly failures: number;
  readonly nextAttemptAt: number;
  /** Of the last 24 hours: when orders were handed in for a certificate. */
  readonly finalized: readonly number[];
  /** What is left of DNS challenges. */
  readonly litter: readonly TxtRecord[];
  readonly cleanAt: number;
}

export const emptyRecord = (ca: string, names: readonly string[]): CertificateRecord => ({
  ca,
  names,
  issued: null,
  order: null,
  failure: null,
  failures: 0,
  nextAttemptAt: 0,
  finalized: [],
  litter: [],
  cleanAt: 0,
});

const idOf = (...parts: readonly string[]): string =>
  createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 16);

/** Id of the row; an account of another address is another account. */
export const accountId = (ca: string, email: string): string => idOf(ca, email);
export const recordId = (ca: string, names: readonly string[]): string => idOf(ca, ...names);

/** RFC 8555 section 8.1. */
export const keyAuthorization = (token: string, thumbprint: string): string => `${token}.${thumbprint}`;

/** RFC 8555 section 8.4. `name`: without `*.`. */
export const txtRecordOf = (name: string, token: string, thumbprint: string): TxtRecord => ({
  name: `_acme-challenge.${name}`,
  value: createHash("sha256").update(keyAuthorization(token, thumbprint)).digest("base64url"),
});
