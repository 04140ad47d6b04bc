/**
 * Checks of `gateway check` for the ACME certificate: the authority, the DNS provider for challenges, and the addresses
 * of each name. No account is created, no order is placed and no record is written. Source: specification document 2,
 * `tls`.
 */
import { Resolver } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { anySignal, formatDuration, parseAddress, systemClock } from "../../base/index.ts";
import type { NodeFile } from "../../server/core/config/index.ts";
import { acmeSettingsOf } from "../../server/node/index.ts";
import { type AcmeSettings, AttemptFailed, type DnsProvider, openAuthority } from "../../server/tls/index.ts";
import type { Answer, Probe, ProbeLimits } from "./probe.ts";

interface ProbeEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** DNS servers to use instead of the system's; empty for the system's. */
  readonly nameServers: readonly string[];
}

const HTTP_PORT = 80;
const MINUTE_MS = 60_000;
/** Skew of the clock above which no order is begun. */
const MAX_SKEW_MS = 60 * MINUTE_MS;
const NOTED_SKEW_MS = 5 * MINUTE_MS;

/** Checks what the node file alone shows. */
export function acmeAnswers({ listen, tls }: NodeFile): readonly Answer[] {
  if (tls?.domains === undefined || tls.dns !== undefined || parseAddress(listen)?.port === HTTP_PORT) return [];
  const message = `the authority connects to port ${HTTP_PORT} of each domain (HTTP-01): forward that port to ${listen}, or set \`tls.dns\``;
  return [{ verdict: "note", subject: "certificate", message }];
}

export function acmeProbes(nodeFile: NodeFile, environment: ProbeEnvironment): readonly Probe[] {
  const settings = acmeSettingsOf(nodeFile, environment);
  if (settings === undefined) return [];
  const { dns, domains } = settings;
  return [
    probe("certificate authority", (signal) => probeAuthority(settings, signal)),
    ...(dns === undefined ? [] : [probe("DNS of challenges", (signal) => probeDns(dns, domains, signal))]),
    ...domains
      .filter((domain) => !domain.startsWith("*."))
      .map((domain) =>
        probe(`domain ${domain}`, (signal) => probeName(domain, dns !== undefined, environment.nameServers, signal)),
      ),
  ];
}

type ProbeAnswer = Omit<Answer, "subject">;

const probe = (subject: string, run: (signal: AbortSignal) => Promise<ProbeAnswer>): Probe => ({
  subject,
  async run({ timeoutMs, signal }: ProbeLimits) {
    const limit = AbortSignal.timeout(timeoutMs);
    try {
      return { subject, ...(await run(anySignal([signal, limit]))) };
    } catch (error) {
      const message = error instanceof AttemptFailed ? error.message : undefined;
      const late = `no answer within ${formatDuration(timeoutMs)}`;
      return { subject, verdict: "fail", message: message ?? (limit.aborted ? late : "the request failed") };
    }
  },
});

async function probeAuthority({ ca, roots, eab, proxies }: AcmeSettings, signal: AbortSignal): Promise<ProbeAnswer> {
  const { now } = systemClock;
  const authority = openAuthority({ directory: ca, roots, eab, userAgent: "gateway", now, proxies });
  const startedAt = performance.now();
  try {
    const { requiresEab, terms, renewalInfo, skewMs = 0 } = await authority.directory(signal);
    const tookMs = Math.round(performance.now() - startedAt);
    if (requiresEab && eab === undefined) {
      return { verdict: "fail", message: `${ca} requires external account binding: set \`tls.eab\`` };
    }
    const minutes = Math.round(Math.abs(skewMs) / MINUTE_MS);
    const skew = `the clock of this machine is ${minutes} min ${skewMs > 0 ? "behind" : "ahead of"} the clock of ${ca}`;
    if (Math.abs(skewMs) > MAX_SKEW_MS)
      return { verdict: "fail", message: `${skew}; correct it, since no certificate is ordered until then` };
    const message = [
      `${ca} answered in ${tookMs} ms`,
      eab === undefined ? "no external account binding is required" : "the account is bound with `tls.eab`",
      renewalInfo === undefined ? "no renewal information" : "renewal information is available",
      terms === undefined ? "no terms of service" : `ordering a certificate accepts its terms of service, ${terms}`,
    ].join("; ");
    return Math.abs(skewMs) > NOTED_SKEW_MS
      ? { verdict: "note", message: `${message}; ${skew}` }
      : { verdict: "ok", message };
  } finally {
    await authority.close();
  }
}

async function probeDns(dns: DnsProvider, domains: readonly string[], signal: AbortSignal): Promise<ProbeAnswer> {
  const names = new Set(domains.map((domain) => `_acme-challenge.${domain.replace(/^\*\./, "")}`));
  return { verdict: "ok", message: await dns.check([...names], signal) };
}

/**
 * Checks that a name resolves to this machine. `isProvedElsewhere`: true with DNS-01, which does not need the name to
 * have an address.
 */
async function probeName(
  domain: string,
  isProvedElsewhere: boolean,
  nameServers: readonly string[],
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  const resolver = new Resolver({ tries: 2 });
  if (nameServers.length > 0) resolver.setServers(nameServers);
  const cancel = (): void => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  const lookups = await Promise.allSettled([resolver.resolve4(domain), resolver.resolve6(domain)]);
  signal.removeEventListener("abort", cancel);
  signal.throwIfAborted();
  const addresses = lookups.flatMap((it) => (it.status === "fulfilled" ? it.value : []));
  if (addresses.length === 0) {
    const codes = lookups.map((it) =>
      it.status === "rejected" ? (it.reason as NodeJS.ErrnoException).code : undefined,
    );
    const isUnknown = codes.every((code) => code === "ENOTFOUND" || code === "ENODATA");
    const message = isUnknown
      ? "has no DNS record of type A or AAAA"
      : `the DNS lookup failed: ${codes.find((it) => it !== "ENODATA")}`;
    return isProvedElsewhere
      ? { verdict: "note", message: `${message}; clients need one` }
      : { verdict: "fail", message: `${message}, so the authority cannot verify the domain` };
  }
  const ownAddresses = new Set(
    Object.values(networkInterfaces()).flatMap((them = []) => them.map(({ address }) => address)),
  );
  const localAddresses = addresses.filter((address) => ownAddresses.has(address) || /^127\./.test(address));
  const remoteAddresses = addresses.filter((address) => !localAddresses.includes(address));
  if (remoteAddresses.length === 0)
    return { verdict: "ok", message: `resolves to this machine (${localAddresses.join(", ")})` };
  const localPart =
    localAddresses.length === 0 ? "" : `resolves to this machine (${localAddresses.join(", ")}), but also `;
  const expectation =
    remoteAddresses.length === 1
      ? "which is not an address of this machine"
      : "which are not addresses of this machine";
  const advice = isProvedElsewhere
    ? "check that it forwards clients to this machine"
    : `check that port ${HTTP_PORT} there reaches a node of this cluster`;
  const message = `${localPart}${localPart === "" ? "resolves " : ""}to ${remoteAddresses.join(", ")}, ${expectation}: ${advice}`;
  return { verdict: "note", message };
}
