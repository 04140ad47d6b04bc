/**
 * Sealed rows that the cluster keeps for the ACME certificate: a record per set of names, an account per directory and contact.
 * Times are milliseconds since 1970. Keys and chains are PEM.
 */
import { createHash } from "node:crypto";

/** ACME account (RFC 8555 section 7.1.2). */
export interface Account {
  readonly ca: string;
  readonly email: string;
  readonly key: string;
  /** Thumbprint of the account key (RFC 7638), the second half of every key authorization. */
  readonly thumbprint: string;
  /** URL of the account; null until the authority has it. */
  readonly url: string | null;
}

export type ChallengeType = "http-01" | "dns-01";

/** Challenge that has to be answered or was answered already. */
export interface Challenge {
  readonly authorization: string;
  readonly url: string;
  /** Name of the authorization, without `*.`. */
  readonly name: string;
  readonly token: string;
}

/** States of an order. Each is stored before its effect begins. See `order-machine.ts`. */
export type Step = "order" | "check" | "publish" | "respond" | "finalize" | "download";

export interface Order {
  /** Id that the gateway assigned. */
  readonly id: string;
  readonly step: Step;
  readonly type: ChallengeType;
  /** Key of the certificate. It is stored before the authority is asked, so that no certificate is issued whose key is lost. */
  readonly key: string;
  /** `certId` of the certificate that this one replaces (RFC 9773 section 5). */
  readonly replaces: string | null;
  readonly startedAt: number;
  /** URL of the order; null until the authority has it. */
  readonly url: string | null;
  readonly challenges: readonly Challenge[];
}

/** Renewal information (RFC 9773) of one certificate. */
export interface RenewalWindow {
  readonly start: number;
  readonly end: number;
  /** Random time in the window, drawn once: drawing at each poll would favor early times. */
  readonly at: number;
}

export interface Issued {
  readonly chain: string;
  readonly key: string;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly issuedAt: number;
  /** Certificate id (RFC 9773 section 4.1); null if the certificate lacks the key id of its issuer. */
  readonly certId: string | null;
  /** Renewal time by lifetime; a suggested window takes precedence. */
  readonly renewAt: number;
  /** Thumbprint of the account that ordered it. */
  readonly account: string;
  readonly window: RenewalWindow | null;
  /** Time of the next request for renewal information; null if the authority offers none. */
  readonly askAt: number | null;
}

/** TXT record that was written, or was about to be written. */
export interface TxtRecord {
  readonly name: string;
  readonly value: string;
}

interface Failure {
  readonly reason: FailureReason;
  readonly message: string;
  readonly at: number;
  readonly step: string;
  /** Digest of the settings of the failed attempt. Changed settings are tried at once. */
  readonly settings: string;
}

/** Reason for a failure, used as a metric label. */
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
  /** Sorted names. */
  readonly names: readonly string[];
  readonly issued: Issued | null;
  readonly order: Order | null;
  readonly failure: Failure | null;
  /** Failed attempts since the last success. */
  readonly failures: number;
  readonly nextAttemptAt: number;
  /** Times of orders finalized in the last 24 hours. */
  readonly finalized: readonly number[];
  /** DNS challenge records that still have to be removed. */
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

/** Returns the id of the row. Another email address means another account. */
export const accountId = (ca: string, email: string): string => idOf(ca, email);
export const recordId = (ca: string, names: readonly string[]): string => idOf(ca, ...names);

/** Returns the key authorization of a token (RFC 8555 section 8.1). */
export const keyAuthorization = (token: string, thumbprint: string): string => `${token}.${thumbprint}`;

/** Returns the TXT record of a DNS-01 challenge (RFC 8555 section 8.4). `name`: without `*.`. */
export const txtRecordOf = (name: string, token: string, thumbprint: string): TxtRecord => ({
  name: `_acme-challenge.${name}`,
  value: createHash("sha256").update(keyAuthorization(token, thumbprint)).digest("base64url"),
});
