/** Checks of `gateway check` for a pool: what its names resolve to, and whether its picker is reachable. */
import type { LookupFunction } from "node:net";
import { formatDuration } from "../../base/index.ts";
import { loadExtProc } from "../../server/ext-proc/index.ts";
import type { LoadedNode } from "../../server/node/index.ts";
import { STAND_IN } from "../../server/secrets/index.ts";
import { connectPicker, createNames, fencedAs } from "../../server/upstream/index.ts";
import type { Answer, Limits, Probe } from "./probe.ts";

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
    return { subject, ask: (limits) => askName(subject, host, nameServers, limits) };
  });
  if (picker === undefined) return ofNames;
  const subject = `picker of pool ${name}`;
  return [...ofNames, { subject, ask: (limits) => askPicker(subject, picker, limits) }];
}

/** Resolves a name as the gateway does for a pool. The check uses any of the DNS servers. */
export const memberLookup =
  (servers: readonly string[]): LookupFunction =>
  (host, { all }, callback) => {
    void createNames({ servers })
      .look(host)
      .then((answer) => {
        const found = ([4, 6] as const).flatMap((family) => {
          const it = answer[family];
          return it.kind === "addresses" ? it.addresses.map((address) => ({ address, family })) : [];
        });
        const dialed = found.filter(({ address }) => fencedAs(address) === undefined);
        const [first] = dialed;
        if (first === undefined) callback(Object.assign(new Error("no address"), { code: "ENOTFOUND" }), "", 4);
        else if (all === true) callback(null, dialed);
        else callback(null, first.address, first.family);
      });
  };

const sealed = (subject: string): Answer => ({
  verdict: "note",
  subject,
  words: "not tested, since its address is sealed in the cluster",
});

async function askName(
  subject: string,
  host: string,
  servers: readonly string[],
  { timeoutMs }: Limits,
): Promise<Answer> {
  if (host.includes(STAND_IN)) return sealed(subject);
  const answer = await createNames({ servers, limitMs: timeoutMs }).look(host);
  const families = [answer[4], answer[6]];
  const addresses = families.flatMap((it) => (it.kind === "addresses" ? it.addresses : []));
  const problem = families.flatMap((it) => (it.kind === "failed" ? it.problem : []))[0];
  const fenced = addresses.filter((address) => fencedAs(address) !== undefined).length;
  const dialed = addresses.length - fenced;
  if (dialed === 0) {
    const why =
      problem ??
      (fenced > 0
        ? "it resolves only to addresses that the gateway never connects to, such as link-local ones"
        : "the name has no address");
    return { verdict: "fail", subject, words: `${host}: ${why}` };
  }
  const ttls = families.flatMap((it) => (it.kind === "addresses" ? it.ttlMs : []));
  const summary = `${host} resolves to ${dialed} server${dialed === 1 ? "" : "s"} (TTL ${formatDuration(Math.min(...ttls))})`;
  return {
    verdict: "ok",
    subject,
    words:
      fenced === 0 ? summary : `${summary}; the gateway never connects to ${fenced} more, such as link-local addresses`,
  };
}

async function askPicker(subject: string, picker: Picker, { timeoutMs, signal }: Limits): Promise<Answer> {
  if (picker.address.includes(STAND_IN)) return sealed(subject);
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
    return { verdict: "ok", subject, words: `${picker.address} answered in ${took} ms${how}` };
  } catch {
    const hint = picker.isEncrypted && !picker.skipsVerification ? ", or its certificate is not trusted" : "";
    const words = `${picker.address}: no connection within ${formatDuration(timeoutMs)}${hint}`;
    return { verdict: "fail", subject, words };
  } finally {
    signal.removeEventListener("abort", close);
    client.close();
  }
}
