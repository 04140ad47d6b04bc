/**
 * Certificate of the data listener by ACME: every node serves the certificate of the replicated rows and answers every pending
 * challenge; the leader orders certificates. Source: design decisions, section 15; RFC 8555, RFC 9773.
 */

import { createHash } from "node:crypto";
import type { Instruments, Log } from "../../../base/index.ts";
import type { ForwardProxies } from "../../forward-proxy/index.ts";
import { readCertificate } from "../read-certificate.ts";
import type { Certificate, CertificateFailure, Certificates } from "../types.ts";
import { openAuthority } from "./authority.ts";
import { remoteText } from "./bounded-text.ts";
import { startManager } from "./certificate-manager.ts";
import { type Account, accountId, type CertificateRecord, keyAuthorization, recordId } from "./certificate-record.ts";
import type { Effect, EffectResult, OrderRows, WantedCertificate } from "./order-machine.ts";
import type { CertificateStore, DnsProvider } from "./ports.ts";
import { DAY_MS, renewalDue } from "./renewal-time.ts";

/** Validated `tls` section of the node file. */
export interface AcmeSettings {
  readonly domains: readonly string[];
  /** Email address of the account; empty for no contact. */
  readonly email: string;
  /** URL of the directory. */
  readonly ca: string;
  /** PEM of trusted roots; `undefined` for those that this system trusts. */
  readonly roots: string | undefined;
  readonly eab: { readonly keyId: string; readonly macKey: string } | undefined;
  /** Writer of DNS records; `undefined` if challenges are answered on the data listener. */
  readonly dns: DnsProvider | undefined;
  /** Proxies to the authority; if omitted, connections are direct. */
  readonly proxies?: ForwardProxies;
  /** Other settings that can make an attempt fail, such as how the DNS provider is reached. Only their digest is kept. */
  readonly dnsSettings: unknown;
}

interface AcmeOptions {
  readonly settings: AcmeSettings;
  readonly store: CertificateStore;
  readonly userAgent: string;
  /** Resolves once the data listener of this node is open. Challenges that are answered there are requested only then. */
  readonly listening: Promise<unknown>;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
  /** Returns a uniform random number in [0, 1). */
  readonly random: () => number;
  readonly instruments: Instruments;
  readonly log: Log;
}

interface CurrentRows {
  readonly record: CertificateRecord | undefined;
  readonly account: Account | undefined;
  readonly certificate: Certificate | undefined;
  /** Reason why the rows cannot be read here. */
  readonly sealed: CertificateFailure | undefined;
}

/** RFC 8555 section 8.3: at least 128 bits in base64url. */
const TOKEN = /^[A-Za-z0-9_-]{22,128}$/;

export function openAcme(options: AcmeOptions): Certificates {
  const { settings, store, userAgent, listening, now, random, instruments, log } = options;
  const { ca, email, roots, eab, dns } = settings;
  const names = [...settings.domains].sort();
  const wanted: WantedCertificate = {
    ca,
    email,
    names,
    type: dns === undefined ? "http-01" : "dns-01",
    settings: digestOf([ca, email, roots, eab, dns === undefined, settings.dnsSettings]),
  };
  const hosts = new Set(names);
  const ids = { account: accountId(ca, email), record: recordId(ca, names) };
  const listeners = new Set<() => void>();
  const builtCertificates = new Map<string, Certificate | undefined>();
  let current: CurrentRows = { record: undefined, account: undefined, certificate: undefined, sealed: undefined };

  /** Returns the issued certificate: the same object until it changes, since the listener compares by identity. */
  function certificateOf({ issued }: CertificateRecord): Certificate | undefined {
    if (issued === null) return undefined;
    const { chain, key } = issued;
    if (builtCertificates.has(chain)) return builtCertificates.get(chain);
    const read = readCertificate(chain, key, now());
    if (read.kind === "problem") log.error("the stored certificate cannot be served", { why: read.message });
    const certificate = read.kind === "certificate" ? read.certificate : undefined;
    builtCertificates.clear();
    builtCertificates.set(chain, certificate);
    return certificate;
  }

  /**
   * Returns the record of another set of names. After names changed, the previous certificate serves those it has until the new
   * one is issued.
   */
  function otherRecord(): CertificateRecord | undefined {
    const others = store
      .certificates()
      .filter(({ id, notAfter }) => id !== ids.record && notAfter !== null)
      .sort((a, b) => (b.notAfter ?? 0) - (a.notAfter ?? 0));
    for (const { id } of others) {
      const held = store.read("certificate", id);
      const record = held.kind === "row" ? (JSON.parse(held.value) as CertificateRecord) : undefined;
      if (record?.names.some((name) => hosts.has(name))) return record;
    }
    return undefined;
  }

  function readRows(): void {
    const record = store.read("certificate", ids.record);
    const account = store.read("account", ids.account);
    const locked = [record, account].find((it) => it.kind === "sealed");
    if (locked?.kind === "sealed") {
      // The current certificate stays in use.
      if (current.sealed?.message === locked.message) return;
      log.error("the certificate is sealed", { why: locked.message });
      current = { ...current, sealed: { reason: "sealed", message: locked.message, at: now() } };
    } else {
      const certificate = record.kind === "row" ? (JSON.parse(record.value) as CertificateRecord) : undefined;
      const served = certificate?.issued == null ? otherRecord() : certificate;
      current = {
        record: certificate,
        account: account.kind === "row" ? (JSON.parse(account.value) as Account) : undefined,
        certificate: served === undefined ? current.certificate : (certificateOf(served) ?? current.certificate),
        sealed: undefined,
      };
    }
    for (const listener of listeners) listener();
  }

  const served = instruments.counter(
    "gateway_acme_challenges_served_total",
    "HTTP-01 challenge requests of the certificate authority, by the source of the response.",
    ["source"],
  );
  const orders = instruments.counter(
    "gateway_acme_attempts_total",
    "Finished attempts to obtain a certificate by ACME, by result.",
    ["result"],
  );
  const seconds = (ms: number | undefined): number => (ms === undefined || ms === 0 ? 0 : ms / 1_000);
  instruments.observedGauge(
    "gateway_acme_renewal_due_seconds",
    "Time of the next renewal, in seconds since 1970. 0 if there is no certificate.",
    () => seconds(current.record?.issued == null ? undefined : renewalDue(current.record.issued)),
  );
  instruments.observedGauge(
    "gateway_acme_next_attempt_seconds",
    "Time of the next attempt after a failure, in seconds since 1970. 0 if the last attempt did not fail.",
    () => (current.record?.failure == null ? 0 : seconds(current.record.nextAttemptAt)),
  );

  const problemLoggedAt = new Map<string, number>();
  /** Logs a problem; repeated messages are logged once an hour. */
  const onProblem = (message: string, error: unknown): void => {
    const at = now();
    if (at - (problemLoggedAt.get(message) ?? Number.NEGATIVE_INFINITY) < HOUR_MS) return;
    if (problemLoggedAt.size > MAX_PROBLEMS) problemLoggedAt.clear();
    problemLoggedAt.set(message, at);
    log.warn(
      message,
      error === undefined ? {} : { why: error instanceof Error ? remoteText(error.message) : "unknown" },
    );
  };

  const onStep = (effect: Effect, answer: EffectResult, { record }: OrderRows): void => {
    if (answer.kind === "issued") {
      orders.with("ok").inc();
      const { notAfter, chain } = answer.issued;
      const serial = certificateOf(record as CertificateRecord)?.serial ?? "";
      const facts = {
        names: names.slice(0, 10),
        serial,
        not_after: new Date(notAfter).toISOString(),
        chain: chain.length,
      };
      log.info("certificate issued", facts);
    } else if (answer.kind === "failed") {
      orders.with(answer.reason).inc();
      const { issued = null, failures = 0, nextAttemptAt = 0 } = record ?? {};
      const expiresIn = issued === null ? undefined : Math.round((issued.notAfter - now()) / 1_000);
      const isUrgent = issued === null || issued.notAfter - now() < URGENT_MS;
      log[isUrgent ? "error" : "warn"]("no certificate could be obtained", {
        names: names.slice(0, 10),
        step: effect.do,
        reason: answer.reason,
        why: answer.message,
        attempt: failures,
        next_attempt: new Date(nextAttemptAt).toISOString(),
        expires_in_s: expiresIn,
      });
    } else {
      log.debug("certificate order", { step: effect.do, answer: answer.kind });
    }
  };

  const authority = openAuthority({ directory: ca, roots, eab, userAgent, now, proxies: settings.proxies });
  readRows();
  const unwatch = store.onChange(readRows);
  const manager = startManager({
    store,
    wanted,
    ready: dns === undefined ? listening : undefined,
    ports: { authority, store, dns, wanted, now, random, onProblem },
    onStep,
    onProblem,
  });

  return {
    mode: "acme",
    current: () => current.certificate,
    status() {
      const { record, sealed } = current;
      const failure = record?.failure;
      return {
        source: ca,
        names: settings.domains,
        nextRenewal: record?.issued == null ? undefined : renewalDue(record.issued),
        step: record?.order?.step,
        failure:
          sealed ??
          (failure == null ? undefined : { reason: failure.reason, message: failure.message, at: failure.at }),
        failures: record?.failures ?? 0,
        nextAttempt: failure == null ? undefined : record?.nextAttemptAt,
      };
    },
    challenge(host, token) {
      const { record, account } = current;
      const order = record?.order;
      const isAsked = order != null && order.type === "http-01" && account !== undefined;
      if (!isAsked || !hosts.has(host) || !TOKEN.test(token)) {
        served.with("none").inc();
        return undefined;
      }
      // The token may not have been replicated here yet, but the thumbprint is the same for all tokens of the account.
      const isKnown = order.challenges.some((it) => it.token === token && it.name === host);
      served.with(isKnown ? "row" : "stateless").inc();
      return keyAuthorization(token, account.thumbprint);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      unwatch();
      await manager.close();
      await authority.close();
    },
  };
}

const HOUR_MS = 3_600_000;
const MAX_PROBLEMS = 100;
const URGENT_MS = 7 * DAY_MS;

const digestOf = (settings: unknown): string =>
  createHash("sha256").update(JSON.stringify(settings)).digest("base64url").slice(0, 22);
