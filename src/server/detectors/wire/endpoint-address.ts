/** Parses the address of a server, `endpoint` in the configuration. */

interface Address {
  /** Origin, as `scheme://host[:port]`. */
  readonly origin: string;
  /** Path of the endpoint, without a trailing slash; empty for the root. */
  readonly root: string;
}

/** Parses an endpoint, or returns its problem. The schema allows only http and https, without a user. */
export function addressOf(endpoint: string): Address | string {
  const { origin, pathname, search, hash } = new URL(endpoint);
  if (search !== "" || hash !== "") return "the root URL of a server must not have a query or fragment";
  return { origin, root: pathname.replace(/\/+$/, "") };
}
