/**
 * Decides whether a page may send a request, and which CORS headers the answer gets. Sources: design decisions, section 20
 * (Browsers); Fetch standard, "CORS protocol"; Fetch Metadata, `Sec-Fetch-Site`.
 */
import { isLoopbackOrigin, isOwnAddress, type Origin, readOrigin } from "./allowed-origins.ts";

/** Normalized origins of `GATEWAY_CORS_ORIGINS`. Empty allows no page; `undefined` if the variable is not set. */
export type AllowedOrigins = ReadonlySet<string> | undefined;

export interface Arrival {
  /** Value of the request's `Origin` header. `fetchSite` and `host` are those of `Sec-Fetch-Site` and `Host`. */
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  readonly host: string | undefined;
  /** True if every caller presents a bearer credential, which a page of another site does not have. */
  readonly needsCredential: boolean;
  readonly allowed: AllowedOrigins;
  /** Origin of `public_url`. */
  readonly publicOrigin: string | undefined;
}

/**
 * `allowed`: the request is served, and the page may read the answer. `unlisted`: it is served like any other, but the page
 * may not read the answer. `refused`: it is not served.
 */
export interface CrossOriginDecision {
  readonly kind: "allowed" | "unlisted" | "refused";
  /** True if the operator listed the page's origin. */
  readonly isListed: boolean;
  /** CORS header pairs for every answer. They replace those of an upstream. */
  readonly headers: readonly string[];
}

/** Response headers that a page may read. They are listed because `*` has no effect on requests with credentials. */
const EXPOSED = [
  "x-gateway-request-id",
  "x-gateway-provider",
  "x-gateway-attempts",
  "x-gateway-overhead",
  "x-gateway-fidelity-losses",
  "x-gateway-guardrails",
  "x-request-id",
  "request-id",
  "retry-after",
  "retry-after-ms",
  "x-should-retry",
].join(", ");

const VARY: readonly string[] = ["vary", "Origin"];
const UNLISTED: CrossOriginDecision = { kind: "unlisted", isListed: false, headers: VARY };
const REFUSED: CrossOriginDecision = { kind: "refused", isListed: false, headers: VARY };
const ANY: CrossOriginDecision = allowedDecision("*", false);

/** Values of `Sec-Fetch-Site` for requests that do not come from a page of another site. */
const OWN_SITES: ReadonlySet<string> = new Set(["none", "same-origin", "same-site"]);

/** Decides about a request. Returns `undefined` if it does not come from a page of another origin. */
export function decideCrossOrigin(arrival: Arrival): CrossOriginDecision | undefined {
  const { origin: given, fetchSite, needsCredential, allowed } = arrival;
  if (given === undefined) {
    if (needsCredential || fetchSite === undefined || OWN_SITES.has(fetchSite)) return undefined;
    return REFUSED;
  }
  if (needsCredential && allowed === undefined) return ANY;
  const origin = readOrigin(given);
  if (origin !== undefined && isServed(origin, arrival)) {
    return allowedDecision(given, allowed?.has(origin.text) === true);
  }
  return needsCredential ? UNLISTED : REFUSED;
}

function isServed(origin: Origin, { host, needsCredential, allowed, publicOrigin }: Arrival): boolean {
  if (allowed?.has(origin.text) === true || origin.text === publicOrigin || isOwnAddress(origin, host)) return true;
  const isNone = allowed?.size === 0;
  return !needsCredential && !isNone && isLoopbackOrigin(origin);
}

function allowedDecision(origin: string, isListed: boolean): CrossOriginDecision {
  const headers = ["access-control-allow-origin", origin, "access-control-expose-headers", EXPOSED, ...VARY];
  return { kind: "allowed", isListed, headers };
}
