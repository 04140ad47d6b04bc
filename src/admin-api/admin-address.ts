/**
 * Address of a gateway's admin API, and the credential for it. Source: specification document 1, "Command line" and "Admin API
 * (two separate doors)".
 */

/**
 * Returns a token for the gateway, or `undefined` if there is none. With `renew` it is newer than the last one, which was
 * refused.
 */
export type TokenSource = (options?: { readonly renew?: boolean }) => Promise<string | undefined>;

export type AdminAddress =
  /** The local socket: a caller is identified by its user. */
  | { readonly kind: "socket"; readonly path: string }
  /** The network; `url` is a result of `parseAdminUrl`. */
  | { readonly kind: "url"; readonly url: string; readonly token?: TokenSource };

/** Returns the name of the address in messages. */
export function addressText(address: AdminAddress): string {
  return address.kind === "socket" ? address.path : address.url;
}

export type ParsedAdminUrl =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "refused"; readonly reason: string };

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
/** Path of the API, which is removed: operators may copy the full address. */
const OWN_PATH = /\/admin\/v1$/;

/**
 * Parses a gateway's URL into its canonical form: scheme, host, port if it is not the default, and the path prefix without a
 * trailing slash. The reason of a refusal does not repeat the text, which may contain a password.
 */
export function parseAdminUrl(text: string): ParsedAdminUrl {
  if (!SCHEME.test(text) || !URL.canParse(text))
    return { kind: "refused", reason: "is not a URL such as https://gateway.example" };
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return { kind: "refused", reason: "does not begin with http:// or https://" };
  if (url.username !== "" || url.password !== "")
    return { kind: "refused", reason: "contains a user name or password" };
  if (url.search !== "" || url.hash !== "") return { kind: "refused", reason: "contains a query or a fragment" };
  return { kind: "url", url: url.origin + url.pathname.replace(/\/+$/, "").replace(OWN_PATH, "") };
}
