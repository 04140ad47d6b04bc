/**
 * Decides which forward proxy an address is reached through, by `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` (the lower-case
 * spelling is preferred, as in curl, Go and Python). Loopback addresses are always reached directly. Source: design decisions,
 * section 20.
 */
import { BlockList, isIP } from "node:net";

export interface ForwardProxy {
  /** Address without credentials, as messages, `check` and `status` show it. */
  readonly displayAddress: string;
  readonly isTls: boolean;
  /** Host name or address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Value of `proxy-authorization`, which is a secret; `undefined` if the address has no credentials. */
  readonly authorization: string | undefined;
}

export interface ForwardProxies {
  /** Returns the proxy, or `undefined` if the address is reached directly. `ws:` counts as `http:`, `wss:` as `https:`. */
  proxyFor(url: URL): ForwardProxy | undefined;
}

interface ReadProxies {
  readonly proxies: ForwardProxies;
  /** Variables that cannot be used, each with the reason. The value is not repeated, since it may contain a password. */
  readonly problems: readonly string[];
  /** Entries of `NO_PROXY` that match nothing. Other programs skip them silently, so they do not prevent the start. */
  readonly warnings: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

export const NO_FORWARD_PROXIES: ForwardProxies = { proxyFor: () => undefined };

export function readForwardProxies(env: Environment): ReadProxies {
  const problems: string[] = [];
  const warnings: string[] = [];
  const read = (name: string): ForwardProxy | undefined => {
    const found = variable(env, name);
    if (found === undefined) return undefined;
    const proxy = parseProxy(found.value);
    if (typeof proxy !== "string") return proxy;
    problems.push(`${found.name}: ${proxy}`);
    return undefined;
  };
  const [secure, plain] = [read("HTTPS_PROXY"), read("HTTP_PROXY")];
  if (secure === undefined && plain === undefined) return { proxies: NO_FORWARD_PROXIES, problems, warnings };
  const exceptions = variable(env, "NO_PROXY");
  const matchers = exceptions === undefined ? [] : exceptions.value.split(/[\s,]+/).filter((it) => it !== "");
  const isException = compileExceptions(matchers, (entry) =>
    warnings.push(`${exceptions?.name}: ${JSON.stringify(entry)} is skipped: it is not a name, address or network`),
  );
  return {
    proxies: {
      proxyFor(url) {
        const proxy = url.protocol === "https:" || url.protocol === "wss:" ? secure : plain;
        if (proxy === undefined || isLoopback(hostOf(url)) || isException(url)) return undefined;
        return proxy;
      },
    },
    problems,
    warnings,
  };
}

function variable(env: Environment, name: string): { readonly name: string; readonly value: string } | undefined {
  for (const spelling of [name.toLowerCase(), name]) {
    const value = env[spelling]?.trim();
    if (value !== undefined && value !== "") return { name: spelling, value };
  }
  return undefined;
}

const QUOTE = /["']/;

/**
 * Parses a proxy's address, or returns the reason why it is invalid. A text without a scheme counts as `http://`, as in
 * curl.
 */
function parseProxy(text: string): ForwardProxy | string {
  const written = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(written)) return "expected the address of a proxy such as http://proxy.example.com:3128";
  const url = new URL(written);
  // Files of variables for containers keep quotes as part of the value, and URLs allow them in a host name.
  if (QUOTE.test(url.hostname)) return "remove the quotes around the address";
  const isTls = url.protocol === "https:";
  if (!isTls && url.protocol !== "http:") {
    return `proxies of the kind ${JSON.stringify(url.protocol.slice(0, -1))} are not supported; use an http:// or https:// proxy`;
  }
  const credentials = credentialsIn(url);
  if (credentials === undefined) return "the user or password contains a `%` that does not begin an escape such as %40";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  const [user, password] = credentials;
  const basic = Buffer.from(`${user}:${password}`).toString("base64");
  return {
    displayAddress: `${url.protocol}//${url.hostname}:${port}`,
    isTls,
    host: hostOf(url),
    port,
    authorization: user === "" && password === "" ? undefined : `Basic ${basic}`,
  };
}

function credentialsIn({ username, password }: URL): readonly [user: string, password: string] | undefined {
  try {
    return [decodeURIComponent(username), decodeURIComponent(password)];
  } catch {
    return undefined;
  }
}

/** Returns the host in lower case, without brackets and without the trailing dot of the root. */
export const hostOf = ({ hostname }: URL): string =>
  hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");

export const portOf = ({ port, protocol }: URL): number =>
  port !== "" ? Number(port) : protocol === "https:" || protocol === "wss:" ? 443 : 80;

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("0.0.0.0", "ipv4");
LOOPBACK.addAddress("::1", "ipv6");
LOOPBACK.addAddress("::", "ipv6");

function isLoopback(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  return within(LOOPBACK, host);
}

function within(networks: BlockList, host: string): boolean {
  const version = isIP(host);
  return version !== 0 && networks.check(host, version === 4 ? "ipv4" : "ipv6");
}

/** Pattern of a name. Any other text, such as one with a `*` inside, would never match. */
const NAME = /^[^\s*<>/\\"']+$/;
/** Pattern of `[address]:port`, `name:port`, `name`, `address` or `network/bits`. */
const ENTRY = /^(?:\[([\da-f:.]+)\]|([^[\]:/]+)|([\da-f:.]+))(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/i;

type IsException = (url: URL) => boolean;

/**
 * Compiles the exceptions. `example.com`, `.example.com` and `*.example.com` each match the name and everything below it, as in
 * curl. A port narrows an entry. A network matches addresses, not names, since names are not resolved for this.
 */
function compileExceptions(entries: readonly string[], bad: (entry: string) => void): IsException {
  const matchers: IsException[] = [];
  for (const entry of entries) {
    const matcher = compileException(entry);
    if (matcher === undefined) bad(entry);
    else matchers.push(matcher);
  }
  return (url) => matchers.some((matches) => matches(url));
}

function compileException(entry: string): IsException | undefined {
  if (entry === "*") return () => true;
  const [, bracketed, name, address, bits, port] =
    ENTRY.exec(entry.replace(/^[a-z]+:\/\//i, "").replace(/\/$/, "")) ?? [];
  const text = (bracketed ?? name ?? address ?? "").toLowerCase().replace(/^\*?\.|\.$/g, "");
  if (text === "") return undefined;
  const isPort: IsException = port === undefined ? () => true : (url) => portOf(url) === Number(port);
  const version = isIP(text);
  if (version === 0) {
    if (bits !== undefined || !NAME.test(text)) return undefined;
    const suffix = `.${text}`;
    return (url) => isPort(url) && (hostOf(url) === text || hostOf(url).endsWith(suffix));
  }
  const family = version === 4 ? "ipv4" : "ipv6";
  const longest = version === 4 ? 32 : 128;
  if (Number(bits ?? longest) > longest) return undefined;
  const network = new BlockList();
  network.addSubnet(text, Number(bits ?? longest), family);
  return (url) => isPort(url) && within(network, hostOf(url));
}
