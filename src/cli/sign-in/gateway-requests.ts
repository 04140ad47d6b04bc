/**
 * Requests of the sign-in to a gateway: how to sign in (`GET /admin/v1/login`, which needs no token) and which principal the
 * token identifies (`GET /admin/v1/whoami`). Source: specification document 1, admin API; document 2,
 * `admin.issuers[].login`.
 *
 * Redirects are not followed, because the token is only for the named gateway.
 */

import type { RequestOptions } from "node:http";
import { isDataPlaneNotFound } from "../../admin-api/index.ts";
import { anySignal } from "../../base/index.ts";
import { field, isBearerToken, type TokenKind, text } from "./sign-in-entry.ts";
import { failureCode, printable, SignInError, tlsHint } from "./sign-in-errors.ts";

const ANSWER_MS = 10_000;
const MAX_ANSWER_BYTES = 64 << 10;

/** Sign-in option that the gateway offers. */
export interface SignInOffer {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Additional parameters of the authorization request, sent unchanged. */
  readonly extraParameters: Readonly<Record<string, string>>;
  readonly tokenKind: TokenKind;
}

export type Caller =
  | { readonly kind: "known"; readonly subject: string; readonly roles: readonly string[] }
  /** Status 401: the gateway does not accept the token. */
  | { readonly kind: "rejected" }
  /** Status 403: the gateway accepts the token, but its policy does not allow this request. */
  | { readonly kind: "forbidden" }
  | { readonly kind: "unasked"; readonly reason: string };

/** Returns the sign-in options; empty if the configuration has no `login` block. */
export async function readOffers(url: string, signal: AbortSignal): Promise<readonly SignInOffer[]> {
  const { status, body } = await get(`${url}/admin/v1/login`, undefined, signal);
  if (isDataPlaneNotFound(status, body)) {
    throw new SignInError(
      `${url} is the address for clients of models, not the admin API; use the one that \`admin.listen\` of the node file names`,
    );
  }
  if (status === 404) return [];
  if (status !== 200) {
    // A listener with TLS answers plain HTTP so. Only the code is used, since any server may have answered.
    const isPlain = field(field(body, "error"), "code") === "tls_required";
    const hint = isPlain ? `: it speaks TLS, so use ${url.replace(/^http:/, "https:")}` : "";
    throw new SignInError(`${url} answered ${status} when asked how to sign in${hint}`);
  }
  const issuers = field(body, "issuers");
  const offers = Array.isArray(issuers) ? issuers.map(parseOffer) : [undefined];
  if (!offers.every((offer) => offer !== undefined)) {
    throw new SignInError(
      `what ${url} says about signing in cannot be understood; is it the admin address of a gateway?`,
    );
  }
  return offers;
}

export async function readCaller(url: string, token: string, signal: AbortSignal): Promise<Caller> {
  let answer: Answer;
  try {
    answer = await get(`${url}/admin/v1/whoami`, token, signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof SignInError)) throw error;
    return { kind: "unasked", reason: error.message };
  }
  const { status, body } = answer;
  if (status === 401) return { kind: "rejected" };
  if (status === 403) return { kind: "forbidden" };
  const subject = text(body, "subject");
  if (status !== 200 || subject === undefined) return { kind: "unasked", reason: `it answered ${status}` };
  return { kind: "known", subject, roles: strings(field(body, "roles")) ?? [] };
}

function parseOffer(value: unknown): SignInOffer | undefined {
  const name = text(value, "name");
  const issuer = text(value, "issuer");
  const clientId = text(value, "client_id");
  const scopes = strings(field(value, "scopes"));
  const token = field(value, "token");
  const extra = Object.entries(field(value, "extra") ?? {});
  if (name === undefined || issuer === undefined || clientId === undefined || clientId === "") return undefined;
  if (scopes === undefined || (token !== "id" && token !== "access")) return undefined;
  if (!extra.every((pair): pair is [string, string] => typeof pair[1] === "string")) return undefined;
  return { name, issuer, clientId, scopes, extraParameters: Object.fromEntries(extra), tokenKind: token };
}

function strings(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((item): item is string => typeof item === "string") ? value : undefined;
}

interface Answer {
  readonly status: number;
  /** Parsed body; `undefined` if it is not JSON. */
  readonly body: unknown;
}

async function get(address: string, token: string | undefined, signal: AbortSignal): Promise<Answer> {
  if (token !== undefined && !isBearerToken(token)) throw new SignInError("the token is not allowed in a header");
  const timeout = AbortSignal.timeout(ANSWER_MS);
  try {
    return await exchange(new URL(address), {
      headers: { accept: "application/json", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      signal: anySignal([signal, timeout]),
    });
  } catch (error) {
    if (signal.aborted || error instanceof SignInError) throw error;
    const code = timeout.aborted ? `no answer within ${ANSWER_MS / 1_000} s` : failureCode(error);
    const failure = `${code ?? "the connection failed"}${tlsHint(code)}`;
    throw new SignInError(`${printable(new URL(address).origin)} could not be reached: ${failure}`, {
      cause: error,
      status: 3,
    });
  }
}

async function exchange(url: URL, options: RequestOptions): Promise<Answer> {
  // Imported here, since a verb with a stored token does not send these requests.
  const { request } = url.protocol === "https:" ? await import("node:https") : await import("node:http");
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ...options, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_ANSWER_BYTES) {
          reject(new SignInError(`the answer of ${url.origin} is longer than ${MAX_ANSWER_BYTES} bytes`));
          outgoing.destroy();
        } else chunks.push(chunk);
      });
      incoming.once("error", reject);
      incoming.once("close", () => reject(new Error("the answer broke off")));
      incoming.once("end", () =>
        resolve({ status: incoming.statusCode ?? 0, body: json(Buffer.concat(chunks).toString("utf8")) }),
      );
    });
    outgoing.once("error", reject);
    // If the server switches protocols (status 101), `close` is the only event.
    outgoing.once("close", () => reject(new Error("closed without an answer")));
    outgoing.end();
  });
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
