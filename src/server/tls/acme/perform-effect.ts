/**
 * Runs the effects of the state machine. Each one returns an answer, or fails with `AttemptFailed` or the reason of the signal.
 */
import { randomBytes, X509Certificate } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { anySignal, generatePrivatePem } from "../../../base/index.ts";
import { readCertificate } from "../read-certificate.ts";
import { AttemptFailed } from "./attempt-failed.ts";
import {
  type AccountSession,
  type Authority,
  type AuthorizationState,
  type Directory,
  findChallenge,
  isReplacementRefused,
  type OrderState,
  thumbprintOf,
} from "./authority.ts";
import { certIdOf } from "./cert-id.ts";
import {
  type Account,
  type Challenge,
  type Issued,
  type Order,
  type TxtRecord,
  txtRecordOf,
} from "./certificate-record.ts";
import type { Effect, EffectResult, WantedCertificate } from "./order-machine.ts";
import type { CertificateStore, DnsProvider } from "./ports.ts";
import { drawWindow, MAX_SKEW_MS, nextRenewalInfoRequest, renewalTime } from "./renewal-time.ts";

export interface PerformPorts {
  readonly authority: Authority;
  readonly store: Pick<CertificateStore, "whenReplicated">;
  /** Writer of DNS records; `undefined` if challenges are answered on the data listener. */
  readonly dns: DnsProvider | undefined;
  readonly wanted: WantedCertificate;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
  /** Returns a uniform random number in [0, 1). */
  readonly random: () => number;
  /** Called for problems outside an order. */
  readonly onProblem: (message: string, error: unknown) => void;
}

type EffectOf<D extends Effect["do"]> = Extract<Effect, { readonly do: D }>;

export async function performEffect(
  effect: Exclude<Effect, EffectOf<"wait">>,
  issued: Issued | null,
  account: Account | undefined,
  ports: PerformPorts,
  signal: AbortSignal,
): Promise<EffectResult> {
  const { wanted } = ports;
  switch (effect.do) {
    case "make_account": {
      const { ca, email } = wanted;
      const key = newKey();
      return { kind: "account", account: { ca, email, key, thumbprint: thumbprintOf(key), url: null } };
    }
    case "register":
      return await register(effect.account, ports, signal);
    case "begin": {
      const isOurs = issued !== null && issued.account === account?.thumbprint;
      const replaces = isOurs ? issued.certId : null;
      return { kind: "begun", id: randomBytes(12).toString("base64url"), key: newKey(), replaces };
    }
    case "abandon":
      return { kind: "abandoned" };
    case "clean":
      return await removeRecords(effect.records, ports, signal);
    case "ask":
      return await fetchRenewalWindow(effect.issued, ports, signal);
    default:
      return await performOrderStep(effect, ports, signal);
  }
}

/** Generates a P-256 key: every client accepts it, and it is the cheapest to sign with. */
const newKey = (): string => generatePrivatePem("p-256");

async function register(
  { key }: Account,
  { authority, wanted }: PerformPorts,
  signal: AbortSignal,
): Promise<EffectResult> {
  return { kind: "registered", url: await authority.register(key, wanted.email, signal) };
}

async function performOrderStep(
  { do: step, account, order }: { readonly do: Order["step"]; readonly account: Account; readonly order: Order },
  ports: PerformPorts,
  signal: AbortSignal,
): Promise<EffectResult> {
  const { key, url: accountUrl, thumbprint } = account;
  const session = ports.authority.openSession({ key, url: accountUrl ?? "" });
  if (step === "order") return await newOrder(order, session, ports, signal);
  const url = order.url ?? "";
  switch (step) {
    case "check":
      return await findPendingChallenges(url, order, session, ports, signal);
    case "publish":
      await publish(order, thumbprint, ports, signal);
      return { kind: "published" };
    case "respond":
      await respond(order.challenges, session, ports, signal);
      return { kind: "validated" };
    case "finalize": {
      const state = await session.order(url, signal);
      if (state.status === "pending" || state.status === "invalid") throw await orderRejection(state, session, signal);
      if (state.status === "ready") await session.finalize(state, ports.wanted.names, order.key, signal);
      return { kind: "handed_in" };
    }
    case "download":
      return { kind: "issued", issued: await download(url, order, thumbprint, session, ports, signal) };
  }
}

/** Throws if this machine's clock is far off, which makes certificates look expired or not yet valid. */
function checkClockSkew({ skewMs = 0 }: Pick<Directory, "skewMs">): void {
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return;
  const minutes = Math.round(Math.abs(skewMs) / 60_000);
  const message = `the clock of this machine is ${minutes} min ${skewMs > 0 ? "behind" : "ahead of"} the authority's; set it right`;
  throw new AttemptFailed("clock_skew", message, { keepsOrder: true });
}

async function newOrder(
  order: Order,
  session: AccountSession,
  ports: PerformPorts,
  signal: AbortSignal,
): Promise<EffectResult> {
  const { authority, wanted } = ports;
  const directory = await authority.directory(signal);
  checkClockSkew(directory);
  const { renewalInfo } = directory;
  const replaces = renewalInfo === undefined ? null : order.replaces;
  try {
    return { kind: "ordered", url: (await session.newOrder(wanted.names, replaces, signal)).url };
  } catch (error) {
    if (replaces === null || !isReplacementRefused(error)) throw error;
    return { kind: "ordered", url: (await session.newOrder(wanted.names, null, signal)).url };
  }
}

const MAX_CHECK_MS = 60_000;

/** Returns the challenges that are still to be proved. */
async function findPendingChallenges(
  url: string,
  order: Order,
  session: AccountSession,
  ports: PerformPorts,
  signal: AbortSignal,
): Promise<EffectResult> {
  const bases = new Set(ports.wanted.names.map((name) => name.replace(/^\*\./, "")));
  return await pollUntilDone<EffectResult>("the order", MAX_CHECK_MS, ports, signal, async () => {
    const state = await session.order(url, signal);
    if (state.status === "invalid") throw await orderRejection(state, session, signal);
    if (state.status === "ready") return { kind: "done", value: { kind: "ready" } };
    if (state.status !== "pending") return { kind: "done", value: { kind: "handed_in" } };
    const challenges: Challenge[] = [];
    for (const authorization of state.authorizations) {
      const it = await session.authorization(authorization, signal);
      if (it.status === "valid") continue;
      if (it.status !== "pending") throw nameRefusal(it);
      if (!bases.has(it.name)) {
        throw new AttemptFailed("ca_answer", "the authority requires proof of a name that was not requested");
      }
      const offered = findChallenge(it, order.type);
      if (offered === undefined) {
        const hint = order.type === "http-01" ? "; set tls.dns for DNS-01" : "";
        throw new AttemptFailed("refused", `the authority offers no ${order.type} for ${it.name}${hint}`);
      }
      challenges.push({ authorization, url: offered.url, name: it.name, token: offered.token });
    }
    if (challenges.length > 0) return { kind: "done", value: { kind: "pending", challenges } };
    return { kind: "again", retryAt: state.retryAt };
  });
}

async function publish(order: Order, thumbprint: string, ports: PerformPorts, signal: AbortSignal): Promise<void> {
  const { dns, store } = ports;
  if (dns === undefined) return await store.whenReplicated(signal);
  await dns.publish(
    order.challenges.map(({ name, token }) => txtRecordOf(name, token, thumbprint)),
    signal,
  );
}

const MAX_VALIDATION_MS = 120_000;

async function respond(
  challenges: readonly Challenge[],
  session: AccountSession,
  ports: PerformPorts,
  signal: AbortSignal,
) {
  for (const { url, authorization } of challenges) {
    // A challenge that is already valid may not be requested again.
    const { status } = await session.authorization(authorization, signal);
    if (status === "pending") await session.respond(url, signal);
  }
  for (const { authorization, name } of challenges) {
    await pollUntilDone(`the proof of ${name}`, MAX_VALIDATION_MS, ports, signal, async () => {
      const it = await session.authorization(authorization, signal);
      if (it.status === "pending") return { kind: "again", retryAt: it.retryAt };
      if (it.status !== "valid") throw nameRefusal(it);
      return { kind: "done", value: undefined };
    });
  }
}

function nameRefusal({ name, status, problem: { type, message } }: AuthorizationState): AttemptFailed {
  const reason = message === "" ? `its authorization is ${status}` : message;
  const isPolicy = type === "caa" || type === "rejectedIdentifier";
  return new AttemptFailed(isPolicy ? "refused" : "validation", `${name} was not verified: ${reason}`);
}

/** Returns why an order failed, with the failing name if there is one. */
async function orderRejection(state: OrderState, session: AccountSession, signal: AbortSignal): Promise<AttemptFailed> {
  for (const url of state.authorizations) {
    const it = await session.authorization(url, signal);
    if (it.status !== "valid" && it.status !== "pending") return nameRefusal(it);
  }
  const { type, message } = state.problem;
  const reason = message === "" ? `it is ${state.status}` : message;
  const isPolicy = type === "caa" || type === "rejectedIdentifier";
  return new AttemptFailed(isPolicy ? "refused" : "validation", `the authority rejected the order: ${reason}`);
}

const MAX_ISSUANCE_MS = 60_000;
const STUCK_RETRY_MS = 5 * 60_000;

async function download(
  url: string,
  { key }: Order,
  thumbprint: string,
  session: AccountSession,
  ports: PerformPorts,
  signal: AbortSignal,
): Promise<Issued> {
  const { authority, wanted, now, random } = ports;
  const state = await pollUntilDone("the certificate", MAX_ISSUANCE_MS, ports, signal, async () => {
    const it = await session.order(url, signal);
    if (it.status === "valid") return { kind: "done", value: it };
    if (it.status !== "processing") throw await orderRejection(it, session, signal);
    return { kind: "again", retryAt: it.retryAt };
  });
  const chain = await session.download(state, signal);
  // The certificate is issued even if the authority no longer answers.
  const directory = await authority.directory(signal).catch(() => signal.throwIfAborted());
  if (directory !== undefined) checkClockSkew(directory);
  const at = now();
  // The authority's clock decides: by a clock that is a minute behind it, a new certificate would not be valid yet.
  const { notBefore, notAfter } = checkCertificate(chain, key, wanted.names, at + (directory?.skewMs ?? 0));
  const certId = certIdOf(chain) ?? null;
  const hasRenewalInfo = directory === undefined || directory.renewalInfo !== undefined;
  return {
    chain,
    key,
    notBefore,
    notAfter,
    issuedAt: at,
    certId,
    renewAt: renewalTime(notBefore, notAfter, random()),
    account: thumbprint,
    window: null,
    askAt: hasRenewalInfo && certId !== null ? at : null,
  };
}

/** Checks that the issued certificate is the ordered one before it is used. */
function checkCertificate(chain: string, key: string, names: readonly string[], now: number) {
  const badCertificate = (message: string): AttemptFailed =>
    new AttemptFailed("bad_certificate", `the authority's certificate is not used: ${message}`);
  const read = readCertificate(chain, key, now);
  if (read.kind === "problem") throw badCertificate(read.message);
  if (read.validityFault !== undefined) throw badCertificate(read.validityFault.message);
  const leaf = new X509Certificate(chain);
  const covered = new Set(read.certificate.names.map((name) => name.toLowerCase()));
  const missing = names.filter((name) => !covered.has(name) && leaf.checkHost(name) === undefined);
  if (missing.length > 0) throw badCertificate(`it is not for ${missing.slice(0, 5).join(", ")}`);
  return read.certificate;
}

async function removeRecords(
  records: readonly TxtRecord[],
  { dns, onProblem }: PerformPorts,
  signal: AbortSignal,
): Promise<EffectResult> {
  // Without a DNS provider nobody can remove the records.
  if (dns === undefined) return { kind: "cleaned", left: [] };
  const left: TxtRecord[] = [];
  for (const record of records) {
    try {
      await dns.remove(record, signal);
    } catch (error) {
      signal.throwIfAborted();
      left.push(record);
      onProblem(
        `the DNS record ${record.name} of a challenge could not be removed; this will be retried in an hour`,
        error,
      );
    }
  }
  return { kind: "cleaned", left };
}

async function fetchRenewalWindow(
  issued: Issued,
  { authority, now, random, onProblem }: PerformPorts,
  signal: AbortSignal,
): Promise<EffectResult> {
  const { certId, window: before } = issued;
  try {
    const { renewalInfo } = await authority.directory(signal);
    if (renewalInfo === undefined || certId === null) return { kind: "asked", window: null, askAt: null };
    const found = await authority.renewalInfo(renewalInfo, certId, signal);
    const at = now();
    const window = found === undefined ? undefined : drawWindow(found, before, random());
    const wait = found?.retryAt === undefined ? undefined : found.retryAt - at;
    return { kind: "asked", window: window ?? null, askAt: nextRenewalInfoRequest(at, wait) };
  } catch (error) {
    signal.throwIfAborted();
    onProblem("renewal information is not available; the certificate is renewed by its lifetime", error);
    return { kind: "asked", window: before, askAt: nextRenewalInfoRequest(now(), undefined) };
  }
}

type Poll<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "again"; readonly retryAt: number | undefined };

const FIRST_POLL_MS = 250;
const POLL_MS = { min: 1_000, max: 30_000 };

/** Polls until done, at the pace that the authority asks for. After `timeoutMs` the order waits for the next attempt. */
async function pollUntilDone<T>(
  what: string,
  timeoutMs: number,
  { now }: Pick<PerformPorts, "now">,
  signal: AbortSignal,
  poll: () => Promise<Poll<T>>,
): Promise<T> {
  const limit = AbortSignal.timeout(timeoutMs);
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 2, POLL_MS.max)) {
    const answer = await poll();
    if (answer.kind === "done") return answer.value;
    const wanted = answer.retryAt === undefined ? 0 : answer.retryAt - now();
    const wait = wanted <= 0 ? pause : Math.min(Math.max(wanted, POLL_MS.min), POLL_MS.max);
    await sleep(wait, undefined, { signal: anySignal([signal, limit]) }).catch(() => signal.throwIfAborted());
    if (limit.aborted) {
      throw new AttemptFailed("processing", `${what} is still being processed by the authority`, {
        keepsOrder: true,
        retryAt: now() + STUCK_RETRY_MS,
      });
    }
  }
}
