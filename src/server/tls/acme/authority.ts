/**
 * Client of an ACME authority (RFC 8555) for orders. Everything read from an answer is validated, and every call has a timeout.
 * Calls reject with `AttemptFailed`, or with the reason of the signal.
 */
import { createHash, createPublicKey } from "node:crypto";
import type acmeClient from "acme-client";
import { type ForwardProxies, NO_FORWARD_PROXIES, openProxyAgent } from "../../forward-proxy/index.ts";
import { AcmeProblem, type CallContext, callContexts, loadClient } from "./acme-transport.ts";
import { AttemptFailed } from "./attempt-failed.ts";
import { remoteText } from "./bounded-text.ts";
import type { ChallengeType } from "./certificate-record.ts";

interface AuthorityOptions {
  /** URL of the directory. */
  readonly directory: string;
  /** PEM of trusted roots; `undefined` for those that this system trusts. */
  readonly roots: string | undefined;
  readonly eab: { readonly keyId: string; readonly macKey: string } | undefined;
  readonly userAgent: string;
  /** Forward proxies; if omitted, connections are direct. */
  readonly proxies?: ForwardProxies | undefined;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
}

type OrderStatus = "pending" | "ready" | "processing" | "valid" | "invalid";

export interface OrderState {
  readonly url: string;
  readonly status: OrderStatus;
  readonly authorizations: readonly string[];
  readonly finalize: string;
  readonly certificate: string | undefined;
  /** Failure as the authority describes it; empty if there is none. */
  readonly problem: { readonly type: string; readonly message: string };
  /** Time at which another request is worthwhile, in milliseconds since 1970. */
  readonly retryAt: number | undefined;
}

export interface AuthorizationState {
  readonly url: string;
  readonly status: "pending" | "valid" | "invalid" | "deactivated" | "expired" | "revoked";
  readonly name: string;
  readonly challenges: readonly { readonly type: string; readonly url: string; readonly token: string }[];
  readonly problem: { readonly type: string; readonly message: string };
  readonly retryAt: number | undefined;
}

export interface Directory {
  readonly renewalInfo: string | undefined;
  readonly requiresEab: boolean;
  /** URL of the terms of service as the authority writes it; `undefined` if it has none. */
  readonly terms: string | undefined;
  /** Time by which the authority's clock is ahead of this machine's, in milliseconds; `undefined` if unknown. */
  readonly skewMs: number | undefined;
}

export interface Authority {
  directory(signal: AbortSignal): Promise<Directory>;
  /** Registers an account, or finds an existing one, and returns its URL. */
  register(key: string, email: string, signal: AbortSignal): Promise<string>;
  /** Opens a session for an account with this key and URL. */
  openSession(account: { readonly key: string; readonly url: string }): AccountSession;
  /** Returns the renewal time that the authority suggests; `undefined` if it suggests none. */
  renewalInfo(
    url: string,
    certId: string,
    signal: AbortSignal,
  ): Promise<{ readonly start: number; readonly end: number; readonly retryAt: number | undefined } | undefined>;
  close(): Promise<void>;
}

export interface AccountSession {
  newOrder(names: readonly string[], replaces: string | null, signal: AbortSignal): Promise<OrderState>;
  order(url: string, signal: AbortSignal): Promise<OrderState>;
  authorization(url: string, signal: AbortSignal): Promise<AuthorizationState>;
  respond(challengeUrl: string, signal: AbortSignal): Promise<void>;
  finalize(order: OrderState, names: readonly string[], key: string, signal: AbortSignal): Promise<OrderState>;
  /** Returns the chain as PEM, the leaf first. */
  download(order: OrderState, signal: AbortSignal): Promise<string>;
}

type AcmeOrder = Awaited<ReturnType<acmeClient.Client["createOrder"]>>;
type AcmeChallenge = Parameters<acmeClient.Client["completeChallenge"]>[0];

const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 10_000;

export function openAuthority(options: AuthorityOptions): Authority {
  const { directory, roots, eab, userAgent, now, proxies = NO_FORWARD_PROXIES } = options;
  const limits = {
    connect: { timeout: CONNECT_TIMEOUT_MS, ...(roots !== undefined && { ca: roots }) },
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: ANSWER_TIMEOUT_MS,
    connections: 2,
  };
  const dispatcher = openProxyAgent(limits, proxies);
  const origin = new URL(directory);

  async function inContext<T>(signal: AbortSignal, run: (client: typeof acmeClient, it: CallContext) => Promise<T>) {
    signal.throwIfAborted();
    const client = await loadClient();
    const context: CallContext = {
      signal,
      dispatcher,
      origin,
      userAgent,
      now,
      lastHeaders: { retryAt: undefined, date: undefined },
    };
    try {
      return await callContexts.run(context, () => run(client, context));
    } catch (error) {
      if (error instanceof AttemptFailed) throw error;
      signal.throwIfAborted();
      throw failureOf(error);
    }
  }

  const clientOf = (client: typeof acmeClient, accountKey: string, accountUrl?: string): acmeClient.Client =>
    new client.Client({
      directoryUrl: directory,
      accountKey,
      ...(accountUrl !== undefined && { accountUrl }),
      ...(eab !== undefined && { externalAccountBinding: { kid: eab.keyId, hmacKey: eab.macKey } }),
    });

  const getJson = (url: string, signal: AbortSignal) =>
    inContext(signal, async ({ axios }, context) => {
      const { data } = await axios.request<unknown>({ url, method: "get" });
      return { data: asObject(data), ...context.lastHeaders };
    });

  return {
    async directory(signal) {
      const { data, date } = await getJson(directory, signal);
      for (const name of ["newNonce", "newAccount", "newOrder"]) requiredText(data, name);
      const meta = asObject(data["meta"] ?? {});
      return {
        renewalInfo: typeof data["renewalInfo"] === "string" ? data["renewalInfo"] : undefined,
        requiresEab: meta["externalAccountRequired"] === true,
        terms: remoteText(meta["termsOfService"]) || undefined,
        skewMs: date === undefined ? undefined : date - now(),
      };
    },
    register: (key, email, signal) =>
      inContext(signal, async (client) => {
        const account = clientOf(client, key);
        await account
          .createAccount({ termsOfServiceAgreed: true, ...(email !== "" && { contact: [`mailto:${email}`] }) })
          .catch((error: unknown) => {
            // For a known key the client library would then change the contact, which is not wanted here.
            if (!isKnown(account)) throw registrationFailure(error);
          });
        return account.getAccountUrl();
      }),
    openSession: ({ key, url }) => ({
      newOrder: (names, replaces, signal) =>
        inContext(signal, async (client, context) => {
          const identifiers = names.map((value) => ({ type: "dns", value }));
          const order = { identifiers, ...(replaces !== null && { replaces }) };
          return parseOrder(await clientOf(client, key, url).createOrder(order), undefined, context);
        }),
      order: (at, signal) =>
        inContext(signal, async (client, context) =>
          parseOrder(await clientOf(client, key, url).getOrder({ url: at } as AcmeOrder), at, context),
        ),
      authorization: (at, signal) =>
        inContext(signal, async (client, context) => {
          const [found] = await clientOf(client, key, url).getAuthorizations({ authorizations: [at] } as AcmeOrder);
          return parseAuthorization(found, at, context);
        }),
      respond: (at, signal) =>
        inContext(signal, async (client) => {
          await clientOf(client, key, url).completeChallenge({ url: at } as AcmeChallenge);
        }),
      finalize: (order, names, certificateKey, signal) =>
        inContext(signal, async (client, context) => {
          const [, csr] = await client.crypto.createCsr({ altNames: [...names] }, certificateKey);
          const asked = { url: order.url, finalize: order.finalize } as AcmeOrder;
          return parseOrder(await clientOf(client, key, url).finalizeOrder(asked, csr), order.url, context);
        }),
      download: ({ url: at, certificate }, signal) =>
        inContext(signal, async (client) => {
          const pem: unknown = await clientOf(client, key, url).getCertificate({
            url: at,
            status: "valid",
            certificate,
          } as AcmeOrder);
          if (typeof pem !== "string") throw answerFault("a certificate that is not text");
          return pem;
        }),
    }),
    async renewalInfo(url, certId, signal) {
      const { data, retryAt } = await getJson(`${url.replace(/\/$/, "")}/${certId}`, signal);
      const { start, end } = asObject(data["suggestedWindow"]);
      const [begin, until] = [Date.parse(String(start)), Date.parse(String(end))];
      return Number.isNaN(begin) || Number.isNaN(until) ? undefined : { start: begin, end: until, retryAt };
    },
    close: () => dispatcher.destroy(),
  };
}

function isKnown(account: acmeClient.Client): boolean {
  try {
    return account.getAccountUrl() !== "";
  } catch {
    return false;
  }
}

/** Returns the thumbprint of an EC key (RFC 7638). */
export function thumbprintOf(key: string): string {
  const { crv, kty, x, y } = createPublicKey(key).export({ format: "jwk" });
  return createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
}

const answerFault = (what: string): AttemptFailed =>
  new AttemptFailed("ca_answer", `the authority's answer does not follow RFC 8555: ${what}`);

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw answerFault("no JSON object");
  return value as Readonly<Record<string, unknown>>;
}

const MAX_TEXT_LENGTH = 2_048;

function requiredText(record: Readonly<Record<string, unknown>>, name: string): string {
  const value = record[name];
  if (typeof value !== "string" || value === "" || value.length > MAX_TEXT_LENGTH) throw answerFault(`no \`${name}\``);
  return value;
}

const ORDER_STATUS: readonly OrderStatus[] = ["pending", "ready", "processing", "valid", "invalid"];
/** Maximum number of authorizations in an order, which has at most 100 names. */
const MAX_AUTHORIZATIONS = 200;

function parseOrder(answer: unknown, url: string | undefined, { lastHeaders }: CallContext): OrderState {
  const data = asObject(answer);
  const status = ORDER_STATUS.find((it) => it === data["status"]);
  const { authorizations } = data;
  if (status === undefined) throw answerFault("an order without a known `status`");
  if (!Array.isArray(authorizations) || authorizations.length === 0 || authorizations.length > MAX_AUTHORIZATIONS) {
    throw answerFault("an order without `authorizations`");
  }
  return {
    url: url ?? requiredText(data, "url"),
    status,
    authorizations: authorizations.map((it: unknown) => requiredText({ authorization: it }, "authorization")),
    finalize: requiredText(data, "finalize"),
    certificate: data["certificate"] === undefined ? undefined : requiredText(data, "certificate"),
    problem: parseProblem(data["error"]),
    retryAt: lastHeaders.retryAt,
  };
}

const AUTHORIZATION_STATUS: readonly AuthorizationState["status"][] = [
  "pending",
  "valid",
  "invalid",
  "deactivated",
  "expired",
  "revoked",
];
const MAX_CHALLENGES = 20;

/** Form of a challenge token (RFC 8555 section 8.3). Longer tokens are not used. */
const TOKEN = /^[A-Za-z0-9_-]{16,128}$/;

function parseAuthorization(answer: unknown, url: string, { lastHeaders }: CallContext): AuthorizationState {
  const data = asObject(answer);
  const status = AUTHORIZATION_STATUS.find((it) => it === data["status"]);
  if (status === undefined) throw answerFault("an authorization without a known `status`");
  const offered: readonly unknown[] = Array.isArray(data["challenges"]) ? data["challenges"] : [];
  const challenges = offered.slice(0, MAX_CHALLENGES).map(asObject);
  const failed = challenges.find((it) => it["error"] !== undefined);
  return {
    url,
    status,
    name: requiredText(asObject(data["identifier"]), "value").toLowerCase(),
    challenges: challenges.flatMap((it) => {
      const { type, token } = it;
      return typeof type === "string" && typeof token === "string" && TOKEN.test(token)
        ? [{ type, url: requiredText(it, "url"), token }]
        : [];
    }),
    problem: parseProblem(failed?.["error"]),
    retryAt: lastHeaders.retryAt,
  };
}

function parseProblem(value: unknown): { readonly type: string; readonly message: string } {
  if (value === undefined || value === null) return { type: "", message: "" };
  const { type, detail } = new AcmeProblem(0, value, undefined);
  return { type, message: detail };
}

/** Finds the challenge of the given type. */
export const findChallenge = ({ challenges }: AuthorizationState, type: ChallengeType) =>
  challenges.find((it) => it.type === type);

/** Problem types that refuse an order permanently, until its settings change. */
const REFUSED = [
  "caa",
  "rejectedIdentifier",
  "unsupportedIdentifier",
  "badCSR",
  "invalidContact",
  "unsupportedContact",
];

const EAB_HINT = "the authority requires a valid external account binding; check tls.eab (a change needs a restart)";

function failureOf(error: unknown): AttemptFailed {
  if (!(error instanceof AcmeProblem)) {
    return new AttemptFailed("ca_answer", "the authority's answer does not follow RFC 8555", { cause: error });
  }
  const { type, status, retryAt, message, detail } = error;
  const text = `the authority says ${message}`;
  const cause = error;
  if (type === "rateLimited" || status === 429) {
    return new AttemptFailed("rate_limited", text, { keepsOrder: true, retryAt, cause });
  }
  if (type === "accountDoesNotExist") return new AttemptFailed("account", text, { losesAccount: true, cause });
  if (type === "externalAccountRequired") return new AttemptFailed("eab", `${EAB_HINT}; it says ${message}`);
  if (type === "badNonce") return new AttemptFailed("nonce", text, { keepsOrder: true, cause });
  if (type === "unauthorized" && /account/i.test(detail)) return new AttemptFailed("account", text, { cause });
  if (REFUSED.includes(type)) return new AttemptFailed("refused", text, { cause });
  if (status >= 500) return new AttemptFailed("ca_unreachable", text, { keepsOrder: true, retryAt, cause });
  return new AttemptFailed("ca_answer", text, { retryAt, cause });
}

/** Returns whether an order was refused because of the certificate that it replaces. Without `replaces` it may be accepted. */
export function isReplacementRefused(error: unknown): boolean {
  const { cause } = error instanceof AttemptFailed ? error : { cause: undefined };
  if (!(cause instanceof AcmeProblem) || cause.status >= 500) return false;
  return cause.type === "alreadyReplaced" || /replace/i.test(cause.detail);
}

function registrationFailure(error: unknown): unknown {
  if (!(error instanceof AcmeProblem)) return error;
  const isOfBinding = error.type === "externalAccountRequired" || /external.?account|eab|mac/i.test(error.detail);
  if (!isOfBinding) return error;
  return new AttemptFailed("eab", `${EAB_HINT}; it says ${error.message}`);
}
