/** Checks of `gateway check` for a pool: what its names resolve to, and whether its picker is reachable. */
import type { LookupFunction } from "node:net";
import { formatDuration } from "../../base/index.ts";
import { loadExtProc } from "../../server/ext-proc/index.ts";
import type { LoadedNode } from "../../server/node/index.ts";
import { PLACEHOLDER_SECRET } from "../../server/secrets/index.ts";
import { blockedKind, connectPicker, createNameResolver } from "../../server/upstream/index.ts";
import type { Answer, Probe, ProbeLimits } from "./probe.ts";

type Provider = LoadedNode["compiled"]["snapshot"]["providers"][number];
type Pool = NonNullable<Provider["pool"]>;
type Picker = NonNullable<Pool["picker"]>;

/** Returns one probe per name and one for the picker. `nameServers`: from GATEWAY_DNS_SERVERS. */
export function poolProbes({ name, pool }: Provider, nameServers: readonly string[]): readonly Probe[] {
  if (pool === undefined) return [];
  const { picker } = pool;
  const names = [["", pool.host] as const, ...pool.subsets];
  const ofNames = names.map(([subset, host]): Probe => {
    const subject = `pool ${name}${subset === "" ? "" : ` (${subset})`}`;
    return { subject, run: (limits) => probeName(subject, host, nameServers, limits) };
  });
  if (picker === undefined) return ofNames;
  const subject = `picker of pool ${name}`;
  return [...ofNames, { subject, run: (limits) => probePicker(subject, picker, limits) }];
}

/** Resolves a name as the gateway does for a pool. The check uses any of the DNS servers. */
export const memberLookup =
  (servers: readonly string[]): LookupFunction =>
  (host, { all }, callback) => {
    void createNameResolver({ servers })
      .resolve(host)
      .then((answer) => {
        const found = ([4, 6] as const).flatMap((family) => {
          const it = answer[family];
          return it.kind === "addresses" ? it.addresses.map((address) => ({ address, family })) : [];
        });
        const dialable = found.filter(({ address }) => blockedKind(address) === undefined);
        const [first] = dialable;
        if (first === undefined) callback(Object.assign(new Error("no address"), { code: "ENOTFOUND" }), "", 4);
        else if (all === true) callback(null, dialable);
        else callback(null, first.address, first.family);
      });
  };

const sealedNote = (subject: string): Answer => ({
  verdict: "note",
  subject,
  message: "not tested, since its address is sealed in the cluster",
});

async function probeName(
  subject: string,
  host: string,
  servers: readonly string[],
  { timeoutMs }: ProbeLimits,
): Promise<Answer> {
  if (host.includes(PLACEHOLDER_SECRET)) return sealedNote(subject);
  const answer = await createNameResolver({ servers, limitMs: timeoutMs }).resolve(host);
  const families = [answer[4], answer[6]];
  const addresses = families.flatMap((it) => (it.kind === "addresses" ? it.addresses : []));
  const problem = families.flatMap((it) => (it.kind === "failed" ? it.problem : []))[0];
  const fencedCount = addresses.filter((address) => blockedKind(address) !== undefined).length;
  const dialableCount = addresses.length - fencedCount;
  if (dialableCount === 0) {
    const failure =
      problem ??
      (fencedCount > 0
        ? "it resolves only to addresses that the gateway never connects to, such as link-local ones"
        : "the name has no address");
    return { verdict: "fail", subject, message: `${host}: ${failure}` };
  }
  const ttls = families.flatMap((it) => (it.kind === "addresses" ? it.ttlMs : []));
  const summary = `${host} resolves to ${dialableCount} server${dialableCount === 1 ? "" : "s"} (TTL ${formatDuration(Math.min(...ttls))})`;
  return {
    verdict: "ok",
    subject,
    message:
      fencedCount === 0
        ? summary
        : `${summary}; the gateway never connects to ${fencedCount} more, such as link-local addresses`,
  };
}

async function probePicker(subject: string, picker: Picker, { timeoutMs, signal }: ProbeLimits): Promise<Answer> {
  if (picker.address.includes(PLACEHOLDER_SECRET)) return sealedNote(subject);
  const client = connectPicker(picker, await loadExtProc());
  const startedAt = performance.now();
  const close = (): void => client.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    await new Promise<void>((ready, failed) =>
      client.waitForReady(Date.now() + timeoutMs, (error) => (error === undefined ? ready() : failed(error))),
    );
    const took = Math.round(performance.now() - startedAt);
    const how = picker.skipsVerification ? "; its certificate is not verified (`insecure_skip_verify`)" : "";
    return { verdict: "ok", subject, message: `${picker.address} answered in ${took} ms${how}` };
  } catch {
    const hint = picker.isEncrypted && !picker.skipsVerification ? ", or its certificate is not trusted" : "";
    const message = `${picker.address}: no connection within ${formatDuration(timeoutMs)}${hint}`;
    return { verdict: "fail", subject, message };
  } finally {
    signal.removeEventListener("abort", close);
    client.close();
  }
}
