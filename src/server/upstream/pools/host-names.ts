/**
 * Resolves host names as programs of this machine do, but with a TTL, which `getaddrinfo` does not return: uses the hosts file,
 * then the name servers with the search list of `resolv.conf`, then the system resolver.
 *
 * Source: resolv.conf(5), hosts(5); RFC 1035.
 */
import { lookup } from "node:dns";
import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";

export type Family = 4 | 6;

export type FamilyAnswer =
  | { readonly kind: "addresses"; readonly addresses: readonly string[]; readonly ttlMs: number }
  /** The name does not exist, or has no address of this family. */
  | { readonly kind: "none"; readonly ttlMs: number }
  /** The resolution failed. */
  | { readonly kind: "failed"; readonly problem: string };

export interface NameAnswer {
  readonly 4: FamilyAnswer;
  readonly 6: FamilyAnswer;
}

export interface NameResolver {
  /** Resolves a name. Never rejects, and takes at most `limitMs`. */
  resolve(host: string): Promise<NameAnswer>;
}

interface NamesOptions {
  /** Name servers as `address` or `address:port`, in the order of queries; empty for the system's. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  readonly resolverFile?: string;
  readonly limitMs?: number;
}

/** TTL for sources without one (files, and the system's own lookup), in milliseconds. */
const DEFAULT_TTL_MS = 5_000;

/** Timeout of a query before it is repeated once, in milliseconds. Each server is queried twice. */
const QUERY_TIMEOUT_MS = 1_500;
const LIMIT_MS = 5_000;

/** Maximum length of a search list. A cluster's has three to six entries. */
const MAX_SEARCHED = 8;

/** Maximum size of a hosts file, in bytes. */
const MAX_FILE_BYTES = 1 << 20;

export function createNameResolver({
  servers = [],
  hostsFile = "/etc/hosts",
  resolverFile = "/etc/resolv.conf",
  limitMs = LIMIT_MS,
}: NamesOptions = {}): NameResolver {
  return {
    async resolve(host) {
      const listed = answerFromHosts(await textOf(hostsFile), host);
      if (listed !== undefined) return listed;
      const candidates = searchCandidates(host, await textOf(resolverFile));
      const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: 2 });
      if (servers.length > 0) resolver.setServers(servers);
      const limit = setTimeout(() => resolver.cancel(), limitMs);
      let answer: NameAnswer = NOTHING;
      try {
        for (const name of candidates) {
          answer = await resolveBoth(resolver, name);
          // A failed query must not be skipped: a later name in the search list may belong to another service.
          if (answer[4].kind !== "none" || answer[6].kind !== "none") return answer;
        }
      } finally {
        clearTimeout(limit);
      }
      return servers.length > 0 ? answer : await systemAnswer(host, limitMs);
    },
  };
}

const NONE: FamilyAnswer = { kind: "none", ttlMs: DEFAULT_TTL_MS };
const NOTHING: NameAnswer = { 4: NONE, 6: NONE };

async function resolveBoth(resolver: Resolver, name: string): Promise<NameAnswer> {
  const [four, six] = await Promise.all([
    toFamilyAnswer(resolver.resolve4(name, { ttl: true })),
    toFamilyAnswer(resolver.resolve6(name, { ttl: true })),
  ]);
  return { 4: four, 6: six };
}

async function toFamilyAnswer(records: Promise<readonly { address: string; ttl?: number }[]>): Promise<FamilyAnswer> {
  try {
    const found = await records;
    if (found.length === 0) return NONE;
    // In an answer of more than 256 records, some have no TTL; all records of a name have the same TTL (RFC 2181, 5.2).
    const ttls = found.flatMap(({ ttl }) => ttl ?? []);
    const seconds = ttls.length === 0 ? DEFAULT_TTL_MS / 1_000 : Math.min(...ttls);
    return { kind: "addresses", addresses: found.map(({ address }) => address), ttlMs: seconds * 1_000 };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOTFOUND" || code === "ENODATA" ? NONE : { kind: "failed", problem: describeProblem(code) };
  }
}

const PROBLEMS: ReadonlyMap<string, string> = new Map([
  ["ESERVFAIL", "the name server cannot answer"],
  ["EREFUSED", "the name server refuses the query"],
  ["ECONNREFUSED", "no name server answers"],
  ["ETIMEOUT", "no name server answers in time"],
  ["ECANCELLED", "no name server answers in time"],
  ["EBADRESP", "the name server's answer cannot be read"],
  ["EAI_AGAIN", "no name server answers"],
]);

const describeProblem = (code: string | undefined): string => PROBLEMS.get(code ?? "") ?? code ?? "the lookup failed";

/** Resolves names that only the system knows: of the local link, of containers, of name service plug-ins. */
function systemAnswer(host: string, limitMs: number): Promise<NameAnswer> {
  return new Promise((resolve) => {
    const late: FamilyAnswer = { kind: "failed", problem: describeProblem("ETIMEOUT") };
    const limit = setTimeout(() => resolve({ 4: late, 6: late }), limitMs);
    lookup(host, { all: true, verbatim: true }, (error, found) => {
      clearTimeout(limit);
      if (error !== null) {
        const isNothing = error.code === "ENOTFOUND" || error.code === "ENODATA";
        const failed: FamilyAnswer = { kind: "failed", problem: describeProblem(error.code) };
        resolve(isNothing ? NOTHING : { 4: failed, 6: failed });
      } else resolve(withDefaultTtl(found.map(({ address }) => address)));
    });
  });
}

function withDefaultTtl(addresses: readonly string[]): NameAnswer {
  const of = (family: Family): FamilyAnswer => {
    const familyAddresses = [...new Set(addresses.filter((address) => address.includes(":") === (family === 6)))];
    return familyAddresses.length === 0
      ? NONE
      : { kind: "addresses", addresses: familyAddresses, ttlMs: DEFAULT_TTL_MS };
  };
  return { 4: of(4), 6: of(6) };
}

/** Returns the text of a file, or an empty text if the file is missing, unreadable or too long. */
async function textOf(path: string): Promise<string> {
  try {
    const text = await readFile(path, "utf8");
    return text.length > MAX_FILE_BYTES ? "" : text;
  } catch {
    return "";
  }
}

const linesOf = (text: string): readonly (readonly string[])[] =>
  text.split("\n").map((line) =>
    line
      .replace(/[#;].*$/, "")
      .trim()
      .split(/\s+/),
  );

const withoutDot = (name: string): string => name.toLowerCase().replace(/\.$/, "");

/**
 * Returns the answer of the hosts file, or `undefined` if it does not contain the name. `localhost` is always this machine,
 * whatever servers answer (RFC 6761, section 6.3).
 */
function answerFromHosts(hosts: string, host: string): NameAnswer | undefined {
  const name = withoutDot(host);
  const addresses = linesOf(hosts)
    .filter(([, ...names]) => names.some((own) => withoutDot(own) === name))
    .flatMap(([address]) => address ?? []);
  if (addresses.length > 0) return withDefaultTtl(addresses);
  return name === "localhost" || name.endsWith(".localhost") ? withDefaultTtl(["127.0.0.1", "::1"]) : undefined;
}

/** Returns the names to query, in order. Each ends in a dot, because c-ares would append search domains otherwise. */
export function searchCandidates(host: string, resolverText: string): readonly string[] {
  if (host.endsWith(".")) return [host];
  let domains: readonly string[] = [];
  let dots = 1;
  for (const [keyword, ...values] of linesOf(resolverText)) {
    if (keyword === "search" || keyword === "domain") domains = values;
    if (keyword === "options") {
      const ndots = values.find((value) => /^ndots:\d+$/.test(value));
      if (ndots !== undefined) dots = Math.min(15, Number(ndots.slice("ndots:".length)));
    }
  }
  const below = domains
    .slice(0, MAX_SEARCHED)
    .map((domain) => domain.replace(/^\.+|\.+$/g, ""))
    .map((domain) => (domain === "" ? `${host}.` : `${host}.${domain}.`));
  const alone = `${host}.`;
  const isQualified = host.split(".").length - 1 >= dots;
  return [...new Set(isQualified ? [alone, ...below] : [...below, alone])];
}
