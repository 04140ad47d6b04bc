/** Configured headers of every call. Their values may be credentials, and are never shown. */
import { HOP_BY_HOP_HEADERS } from "../../../base/index.ts";

type Headers = Readonly<Record<string, string>>;

/** Patterns of a header's name and value. Source: RFC 9110, sections 5.1 and 5.5. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that the code that writes the body sets. */
const OWN: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_HEADERS,
  "host",
  "content-length",
  "content-type",
  "content-encoding",
  "accept-encoding",
  "expect",
  "inference-header-content-length",
]);

interface HeaderProblem {
  readonly name: string;
  readonly message: string;
}

export function headerProblems(headers: Headers = {}): readonly HeaderProblem[] {
  const seen = new Set<string>();
  return Object.entries(headers).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    const isTwice = seen.has(lower);
    seen.add(lower);
    if (!NAME.test(name)) return [{ name, message: "this is not a header name (RFC 9110 section 5.1)" }];
    if (isTwice) return [{ name, message: "this header is named twice" }];
    if (OWN.has(lower)) return [{ name, message: "only the gateway sets this header" }];
    return VALUE.test(value)
      ? []
      : [{ name, message: "the value contains characters that are not allowed in a header" }];
  });
}

/** Returns names and values, alternating. */
export const headerPairs = (headers: Headers = {}): readonly string[] =>
  Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]);

const MAY_BE_CREDENTIAL = /auth|key|token|secret|cookie|pass|sign|cred/i;

/** Returns the headers for fingerprints, which people see: for a credential only its name. */
export const shownHeaders = (headers: Headers = {}): readonly (readonly [string, string | null])[] =>
  Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), MAY_BE_CREDENTIAL.test(name) ? null : value] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
