/** Writes DNS-01 records by updates that are signed with TSIG (RFC 2136, RFC 8945). */
import { randomBytes, randomInt } from "node:crypto";
import { AttemptFailed, unreachable } from "../attempt-failed.ts";
import type { TxtRecord } from "../certificate-record.ts";
import type { DnsProvider } from "../ports.ts";
import {
  CODE,
  codeText,
  encodeQuery,
  followCnames,
  nameServersOf,
  recursiveServers,
  resolveServer,
  zoneFromAnswer,
} from "./challenge-names.ts";
import { encodeUpdate, TYPE } from "./dns-message.ts";
import { awaitRecords } from "./propagation.ts";
import { type DnsServer, queryServer } from "./query-server.ts";
import { ALGORITHMS, sign, TSIG_ERROR, type TsigKey, verify } from "./tsig.ts";

interface Rfc2136Options {
  /** Address as `host:port`; the port may be omitted. */
  readonly server: string;
  readonly key: TsigKey;
  /** DNS servers to use instead of the system's; empty for the system's. */
  readonly nameServers: readonly string[];
  readonly now: () => number;
}

/** Builds a key. `algorithm`: with or without its final dot, in any case. Returns `undefined` if it is unknown. */
export function tsigKeyOf(name: string, algorithm: string, secret: string): TsigKey | undefined {
  const wanted = algorithm.toLowerCase().replace(/\.$/, "");
  const known = ALGORITHMS.find((it) => it === wanted);
  return known && { name, algorithm: known, secret: Buffer.from(secret, "base64") };
}

const TTL_SECONDS = 60;

export function rfc2136Provider({ server: text, key, nameServers, now }: Rfc2136Options): DnsProvider {
  const what = `the DNS server ${text}`;

  async function query(server: DnsServer, bytes: Buffer, signal: AbortSignal) {
    return await queryServer(server, bytes, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw unreachable("dns_update", what, error);
    });
  }

  /** Follows CNAMEs to the name where a record has to be written. */
  async function findZone(name: string, server: DnsServer, signal: AbortSignal) {
    const target = await followCnames(name, await recursiveServers(nameServers), server, signal);
    const zone = zoneFromAnswer(await query(server, encodeQuery(target, TYPE.SOA, false), signal));
    if (zone !== undefined && (target === zone || target.endsWith(`.${zone}`))) return { target, zone };
    throw new AttemptFailed("dns_update", `${what} serves no zone for ${target}`, { keepsOrder: true });
  }

  async function update(
    server: DnsServer,
    zone: string,
    record: { readonly name: string; readonly value: string; readonly ttl: number | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { wire, mac } = sign(encodeUpdate(randomInt(0x10000), zone, record), key, now());
    const answer = await query(server, wire, signal);
    const verdict = verify(answer, mac, key);
    const refused = (message: string, reason: "dns_auth" | "dns_update" = "dns_auth"): AttemptFailed =>
      new AttemptFailed(reason, `${what} did not accept the update of ${record.name}: ${message}`, {
        keepsOrder: true,
      });
    if (verdict.kind === "unproven") {
      const { error, serverTime } = verdict;
      if (error === TSIG_ERROR.BADKEY)
        throw refused("it does not know the key; check tls.dns.key_name and key_alg (BADKEY)");
      if (error === TSIG_ERROR.BADSIG) throw refused("the key is wrong; check tls.dns.key (BADSIG)");
      if (error === TSIG_ERROR.BADTIME) {
        const apart =
          serverTime === undefined ? "" : `; its clock is ${serverTime - Math.floor(now() / 1_000)} s ahead`;
        throw refused(`the clocks differ by too much (BADTIME)${apart}`);
      }
      throw refused(`its answer (${codeText(answer.code)}) is not signed`);
    }
    if (answer.code === CODE.refused) throw refused("the key may not write this name (REFUSED)");
    if (answer.code !== CODE.ok) throw refused(codeText(answer.code), "dns_update");
  }

  async function write({ name, value }: TxtRecord, ttl: number | undefined, signal: AbortSignal) {
    const server = await resolveServer(text).catch((error: unknown) => {
      throw unreachable("dns_update", what, error);
    });
    const { target, zone } = await findZone(name, server, signal);
    await update(server, zone, { name: target, value, ttl }, signal);
    return { name: target, value, zone, server };
  }

  return {
    async publish(records, signal) {
      const written = [];
      for (const record of records) written.push(await write(record, TTL_SECONDS, signal));
      const servers = new Map<string, readonly DnsServer[]>();
      for (const { zone, server } of written) {
        if (servers.has(zone)) continue;
        // The server that accepted the update may not be one that resolvers ask.
        const found = await nameServersOf(zone, await recursiveServers(nameServers), signal).catch(() => []);
        signal.throwIfAborted();
        servers.set(zone, [server, ...found]);
      }
      const awaited = written.map(({ name, value, zone }) => ({ name, value, servers: servers.get(zone) ?? [] }));
      await awaitRecords(awaited, signal);
    },
    async remove(record, signal) {
      await write(record, undefined, signal);
    },
    async check(names, signal) {
      const zones = new Set<string>();
      for (const name of names) {
        // The check deletes a value that does not exist: the server checks the same permission, and changes nothing.
        const absent = { name, value: `check-${randomBytes(12).toString("hex")}` };
        zones.add((await write(absent, undefined, signal)).zone);
      }
      return `${what} takes signed updates of ${[...zones].join(", ")}`;
    },
  };
}
