/**
 * Checks requests that a web page made a browser send. A page can reach everything that its user's machine can, also under its
 * own name that resolves to 127.0.0.1 (DNS rebinding); `Host` is then that name, and `Origin` and `Sec-Fetch-Site` identify the
 * page. Sources: RFC 6454, section 7; Fetch Metadata Request Headers, section 2.
 *
 * Without tokens this check is what keeps pages out; with tokens it is a second line of defense.
 */

import type { IncomingMessage } from "node:http";
import { isIPv4 } from "node:net";
import { refusal } from "../refusal.ts";

/** Hosts for which requests are accepted. `loopback`: only a loopback address or `localhost`. */
type HostRule = "loopback" | "any";

/** Host as in RFC 3986, section 3.2, with an optional port. */
const HOST = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?$/;

/** Values of `Sec-Fetch-Site` for requests made by the user or by a page of this origin. */
const OWN_SITES: ReadonlySet<string> = new Set(["same-origin", "none"]);

/** Throws `forbidden` for a request of another origin's page or for a wrong host, and `invalid` for a malformed `host` header. */
export function checkOrigin({ headersDistinct: headers }: IncomingMessage, rule: HostRule): void {
  const [text = ""] = headers["host"] ?? [];
  const host = parseHost(text);
  if (host === undefined) throw refusal("invalid", "The `host` header does not name a host.");
  if (rule === "loopback" && !isLoopbackHost(host.name)) {
    throw refusal(
      "forbidden",
      "Without an issuer the admin API answers only requests for loopback addresses and localhost.",
    );
  }
  const origins = headers["origin"] ?? [];
  if (!origins.every((origin) => isOrigin(origin, host))) {
    throw refusal("forbidden", "The admin API does not answer requests of pages from another origin.");
  }
  const sites = headers["sec-fetch-site"] ?? [];
  if (!sites.every((site) => OWN_SITES.has(site))) {
    throw refusal("forbidden", "The admin API does not answer requests of pages from another site.");
  }
}

interface Host {
  /** Name in lower case; an IPv6 address is in brackets, as in URLs. */
  readonly name: string;
  readonly port: string;
}

function parseHost(text: string): Host | undefined {
  const [, name, port = ""] = HOST.exec(text) ?? [];
  // The URL parser normalizes all spellings of an address, and refuses invalid ones.
  if (name === undefined || Number(port) > 65_535 || !URL.canParse(`http://${name}/`)) return undefined;
  return { name: new URL(`http://${name}/`).hostname, port };
}

function isLoopbackHost(name: string): boolean {
  return name === "localhost" || name === "[::1]" || (isIPv4(name) && name.startsWith("127."));
}

/** Compares an origin with a host, whatever the scheme: a TLS proxy in front passes `Host` and `Origin` on unchanged. */
function isOrigin(origin: string, { name, port }: Host): boolean {
  if (!/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return false;
  const url = new URL(origin);
  const own = new URL(`${url.protocol}//${name}${port === "" ? "" : `:${port}`}`);
  return url.origin === own.origin;
}
