/**
 * Reads the caller and the times from a token's claims. Source: RFC 7519 section 4.1, OpenID Connect Core sections 2 and 5.1;
 * specification document 2 (`issuers`); design decisions, section 1.
 */

import { type JsonObject, member } from "./json-object.ts";
import type { IssuerOptions, TokenFault } from "./types.ts";

/** Accepted difference between the clocks of issuer and gateway. */
const LEEWAY_SECONDS = 60;
export const LEEWAY_MS = LEEWAY_SECONDS * 1000;

/** Maximum length in characters. A subject of OpenID Connect has at most 255 ASCII characters. */
const MAX_NAME_LENGTH = 256;
const MAX_DISPLAY_LENGTH = 128;

/** Last second of the year 9999, the latest that RFC 3339 can express. A greater value is invalid, or is in milliseconds. */
const LATEST_SECONDS = 253_402_300_799;

/** Characters that are invisible or change how others are displayed: controls, format marks, lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const UNPRINTABLES = new RegExp(UNPRINTABLE, "gu");

interface CallerClaims {
  readonly kind: "read";
  readonly subject: string;
  readonly displayName: string;
  readonly audiences: readonly string[];
  /** Expiry, in milliseconds since 1970. */
  readonly expiresAt: number;
}

type ClaimsReading = CallerClaims | { readonly kind: "refused"; readonly fault: TokenFault };

/** Reads the claims, or returns why the token is refused. `nowMs`: milliseconds since 1970. */
export function readClaims(claims: JsonObject, issuer: IssuerOptions, nowMs: number): ClaimsReading {
  const times = readTimes(claims, nowMs / 1000);
  if (times.kind === "refused") return times;
  const audiences = stringList(member(claims, "aud"));
  if (audiences === undefined) return refused("malformed");
  if (!isEmailUsable(member(claims, "email_verified"))) return refused("email_not_verified");
  const subject = member(claims, issuer.subjectClaim);
  if (!isName(subject)) return refused("no_subject");
  const displayName = displayNameOf(claims, issuer) ?? subject;
  return { kind: "read", subject, displayName, audiences, expiresAt: times.expSeconds * 1000 };
}

function refused(fault: TokenFault): ClaimsReading & { readonly kind: "refused" } {
  return { kind: "refused", fault };
}

type Times = { readonly kind: "read"; readonly expSeconds: number } | { readonly kind: "refused"; fault: TokenFault };

function readTimes(claims: JsonObject, nowSeconds: number): Times {
  const [exp, nbf, iat] = [member(claims, "exp"), member(claims, "nbf"), member(claims, "iat")];
  if (exp === undefined) return refused("no_expiry");
  if (!isTime(exp) || !isTimeOrAbsent(nbf) || !isTimeOrAbsent(iat)) return refused("malformed");
  const expSeconds = exp;
  if (nowSeconds >= expSeconds + LEEWAY_SECONDS) return refused("expired");
  const isEarly = [nbf, iat].some((from) => from !== undefined && from > nowSeconds + LEEWAY_SECONDS);
  return isEarly ? refused("not_yet_valid") : { kind: "read", expSeconds };
}

/**
 * Returns whether the value is a NumericDate (RFC 7519 section 2), possibly with a fraction. Excludes `1e999`, which parses as
 * infinity.
 */
const isTime = (value: unknown): value is number => typeof value === "number" && Math.abs(value) <= LATEST_SECONDS;

const isTimeOrAbsent = (value: unknown): value is number | undefined => value === undefined || isTime(value);

/** Returns a string or an array of strings as an array, empty if absent; `undefined` for anything else. */
function stringList(value: unknown): readonly string[] | undefined {
  if (value === undefined) return [];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.every((item) => typeof item === "string") ? list : undefined;
}

/**
 * Returns whether the address is verified or its state is not stated. Some issuers write booleans as strings; any other value
 * counts as false.
 */
function isEmailUsable(isVerified: unknown): boolean {
  if (typeof isVerified === "string") return isVerified.toLowerCase() === "true";
  return isVerified === undefined || isVerified === null || isVerified === true;
}

/** Returns whether the value can identify a caller: printable and bounded. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && [...value].length <= MAX_NAME_LENGTH && !UNPRINTABLE.test(value);
}

function displayNameOf(claims: JsonObject, { nameClaim }: IssuerOptions): string | undefined {
  const names = nameClaim === undefined ? ["preferred_username", "email"] : [nameClaim];
  return names.map((name) => printableLine(member(claims, name))).find((name) => name !== undefined);
}

/** Returns one line of printable text, shortened, or `undefined` if nothing is left. */
function printableLine(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const line = value.replace(/\s+/g, " ").replace(UNPRINTABLES, "").trim();
  const cut = [...line].slice(0, MAX_DISPLAY_LENGTH).join("");
  return cut === "" ? undefined : cut;
}
