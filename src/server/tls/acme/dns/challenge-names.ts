/** DNS lookups for challenges: follows CNAMEs, and finds the zone of a name and its servers. */
import { randomInt } from "node:crypto";
import { getServers, lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { AttemptFailed } from "../attempt-failed.ts";
import { systemErrorText } from "../bounded-text.ts";
import { addressOf, type DnsMessage, encodeQuestion, type RecordType, TYPE, targetOf, textOf } from "./dns-message.ts";
import { type DnsServer, queryServer } from "./query-server.ts";

const DNS_PORT = 53;

/** Parses `host:port`, `host`, `[v6]:port` or an address. A host name is resolved. */
export async function resolveServer(text: string): Promise<DnsServer> {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? text;
  const address = isIP(host) !== 0 ? host : (await lookup(host)).address;
  return { address, port: port === undefined ? DNS_PORT : Number(port) };
}

/** Returns the configured DNS servers, or those of this machine if none are configured. */
export async function recursiveServers(named: readonly string[]): Promise<readonly DnsServer[]> {
  return await Promise.all((named.length > 0 ? named : getServers()).map(resolveServer));
}

export const encodeQuery = (name: string, type: RecordType, isRecursive: boolean): Buffer =>
  encodeQuestion(randomInt(0x10000), name, type, isRecursive);

/** Asks the servers in order and returns the first answer. */
async function queryFirstAvailable(
  servers: readonly DnsServer[],
  name: string,
  type: RecordType,
  signal: AbortSignal,
): Promise<DnsMessage> {
  let last: unknown;
  for (const server of servers) {
    try {
      const answer = await queryServer(server, encodeQuery(name, type, true), signal);
      if (answer.code === CODE.ok || answer.code === CODE.noName) return answer;
      last = new Error(`its answer is ${codeText(answer.code)}`);
    } catch (error) {
      signal.throwIfAborted();
      last = error;
    }
  }
  throw new AttemptFailed("dns_update", `${name} cannot be looked up: ${systemErrorText(last)}`, {
    keepsOrder: true,
    cause: last,
  });
}

export const CODE = { ok: 0, noName: 3, refused: 5, notAuth: 9, notZone: 10 } as const;

const CODES: readonly string[] = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"];
const UPDATE_CODES: ReadonlyMap<number, string> = new Map([
  [6, "YXDOMAIN"],
  [7, "YXRRSET"],
  [8, "NXRRSET"],
  [9, "NOTAUTH"],
  [10, "NOTZONE"],
]);

export const codeText = (code: number): string => CODES[code] ?? UPDATE_CODES.get(code) ?? `code ${code}`;

const MAX_HOPS = 8;

/**
 * Follows the CNAMEs from `name` and returns the last name, since a challenge may be delegated to its own zone. `authoritative`: server
 * that is asked before the resolvers, and trusted if it is authoritative.
 */
export async function followCnames(
  name: string,
  servers: readonly DnsServer[],
  authoritative: DnsServer | undefined,
  signal: AbortSignal,
): Promise<string> {
  const passed = new Set([name]);
  let at = name;
  for (;;) {
    const next = await cnameOf(at, servers, authoritative, signal);
    if (next === undefined) return at;
    if (passed.has(next) || passed.size > MAX_HOPS) {
      throw new AttemptFailed("dns_update", `the CNAMEs of ${name} form a loop, or are longer than ${MAX_HOPS} names`, {
        keepsOrder: true,
      });
    }
    passed.add(next);
    at = next;
  }
}

async function cnameOf(
  name: string,
  servers: readonly DnsServer[],
  authoritative: DnsServer | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = (message: DnsMessage): string | undefined => {
    const record = message.answers.find((it) => it.type === TYPE.CNAME && it.name === name.toLowerCase());
    return record && targetOf(message, record);
  };
  if (authoritative !== undefined) {
    const answer = await queryServer(authoritative, encodeQuery(name, TYPE.CNAME, false), signal).catch(
      () => undefined,
    );
    signal.throwIfAborted();
    if (answer?.isAuthoritative) return found(answer);
  }
  return found(await queryFirstAvailable(servers, name, TYPE.CNAME, signal));
}

/** Returns the zone of the queried name, from the SOA of the answer, or of the authority section if the name does not exist. */
export function zoneFromAnswer({ answers, authorities }: DnsMessage): string | undefined {
  return [...answers, ...authorities].find(({ type }) => type === TYPE.SOA)?.name;
}

const MAX_SERVERS = 16;

/** Returns the addresses of a zone's name servers. */
export async function nameServersOf(
  zone: string,
  servers: readonly DnsServer[],
  signal: AbortSignal,
): Promise<readonly DnsServer[]> {
  const message = await queryFirstAvailable(servers, zone, TYPE.NS, signal);
  const names = message.answers.filter(({ type }) => type === TYPE.NS).map((it) => targetOf(message, it));
  const found: DnsServer[] = [];
  for (const name of names.slice(0, MAX_SERVERS)) {
    for (const type of [TYPE.A, TYPE.AAAA]) {
      const { answers } = await queryFirstAvailable(servers, name, type, signal);
      found.push(...answers.flatMap((it) => addressOf(it) ?? []).map((address) => ({ address, port: DNS_PORT })));
    }
  }
  return found.slice(0, MAX_SERVERS);
}

/** Returns whether the server answers with the value; `undefined` if it does not answer. */
export async function hasRecord(
  server: DnsServer,
  { name, value }: { readonly name: string; readonly value: string },
  signal: AbortSignal,
): Promise<boolean | undefined> {
  try {
    const { answers, code } = await queryServer(server, encodeQuery(name, TYPE.TXT, false), signal);
    if (code !== CODE.ok && code !== CODE.noName) return undefined;
    return answers.some((it) => it.type === TYPE.TXT && textOf(it) === value);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
