/**
 * CORS preflight: the request by which a browser asks for permission before it sends a page's request.
 * Sources: Fetch standard, "CORS-preflight fetch"; Private Network Access, 3.1.
 */

/** Time for which a browser may cache the answer, in seconds. */
const MAX_AGE = "600";

const METHOD = /^[A-Z]{1,20}$/;
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/;

const VARY = "Access-Control-Request-Method, Access-Control-Request-Headers";

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export function isPreflight(method: string | undefined, headers: Headers): boolean {
  return method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;
}

export interface PreflightTerms {
  /** Methods of the route. Empty if the path has no route; the page may then read the 404 answer. */
  readonly methods: readonly string[];
  /** Header names to allow if the preflight does not name any. */
  readonly usualHeaders: string;
}

/** Returns the header pairs of a preflight answer, in addition to those that every answer to the page has. */
export function preflightHeaders(requestHeaders: Headers, { methods, usualHeaders }: PreflightTerms): string[] {
  const pairs = ["vary", VARY];
  const method = textOf(requestHeaders["access-control-request-method"]);
  const names = textOf(requestHeaders["access-control-request-headers"]).trim();
  const allowedMethods = methods.length > 0 ? methods : METHOD.test(method) ? [method] : ["GET", "POST"];
  pairs.push("access-control-allow-methods", allowedMethods.join(", "));
  pairs.push("access-control-allow-headers", HEADER_NAMES.test(names) ? names : usualHeaders);
  pairs.push("access-control-max-age", MAX_AGE);
  if (textOf(requestHeaders["access-control-request-private-network"]) === "true") {
    pairs.push("access-control-allow-private-network", "true");
  }
  return pairs;
}

const textOf = (value: string | readonly string[] | undefined): string =>
  typeof value === "string" ? value : (value?.join(",") ?? "");
