/**
 * Transport of `acme-client` over undici. The client's own transport retries for 75 s, cannot be interrupted, has no limits, has
 * one set of roots for the whole process, and loses the cause of a failure. An `AsyncLocalStorage` carries the context of a call
 * (signal, roots), since the client has no parameter for it.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type acmeClient from "acme-client";
import { type Dispatcher, request } from "undici";
import { anySignal } from "../../../base/index.ts";
import { AttemptFailed, unreachable } from "./attempt-failed.ts";
import { remoteText } from "./bounded-text.ts";
import { retryAtOf } from "./retry-after.ts";

/** Problem document of the certificate authority (RFC 7807, RFC 8555 section 6.7). */
export class AcmeProblem extends Error {
  readonly status: number;
  /** Type after `urn:ietf:params:acme:error:`; empty if the answer is no problem document. */
  readonly type: string;
  readonly detail: string;
  readonly retryAt: number | undefined;

  constructor(status: number, body: unknown, retryAt: number | undefined) {
    const { type, detail } = (typeof body === "object" && body !== null ? body : {}) as {
      readonly type?: unknown;
      readonly detail?: unknown;
    };
    const known =
      typeof type === "string" ? /^urn:ietf:params:acme:error:([A-Za-z]{1,64})$/.exec(type)?.[1] : undefined;
    const detailText = remoteText(detail);
    super(`${known ?? `status ${status}`}${detailText === "" ? "" : `: ${detailText}`}`);
    this.name = "AcmeProblem";
    this.status = status;
    this.type = known ?? "";
    this.detail = detailText;
    this.retryAt = retryAt;
  }
}

export interface CallContext {
  readonly signal: AbortSignal;
  readonly dispatcher: Dispatcher;
  /** Origin of the directory; everything else is requested under its scheme. */
  readonly origin: URL;
  readonly userAgent: string;
  readonly now: () => number;
  /** Headers of the last answer that are needed besides its body. */
  lastHeaders: { retryAt: number | undefined; date: number | undefined };
}

export const callContexts = new AsyncLocalStorage<CallContext>();

/** Maximum size of an answer. A chain of many certificates has 20 KB. */
const MAX_BODY_BYTES = 512 * 1024;
const REQUEST_TIMEOUT_MS = 15_000;

const BAD_NONCE = "urn:ietf:params:acme:error:badNonce";

let loaded: Promise<typeof acmeClient> | undefined;

/** Loads the client when a certificate is first ordered, because that takes a tenth of a second. */
export function loadClient(): Promise<typeof acmeClient> {
  loaded ??= import("acme-client").then(({ default: client }) => {
    client.axios.defaults.adapter = async (config) => {
      const { url, method, headers, data } = config;
      const answer = await sendRequest(url ?? "", (method ?? "get").toUpperCase(), headers.toJSON(), data);
      return { ...answer, statusText: "", config, request: null };
    };
    return client;
  });
  return loaded;
}

/** Sends one request in the context of a call. Throws `AcmeProblem`, or `AttemptFailed` if there is no answer. */
async function sendRequest(
  url: string,
  method: string,
  initialHeaders: Readonly<Record<string, unknown>>,
  body: unknown,
) {
  const context = callContexts.getStore();
  if (context === undefined) throw new Error("the authority is called without a context");
  const { origin, signal, dispatcher, userAgent, now } = context;
  const target = URL.canParse(url) ? new URL(url) : undefined;
  if (target?.protocol !== origin.protocol) {
    throw new AttemptFailed("ca_answer", `the authority names an address that is not ${origin.protocol}//…`);
  }
  const headers: Record<string, string> = { "user-agent": userAgent };
  for (const [name, value] of Object.entries(initialHeaders)) {
    if (typeof value === "string" && name.toLowerCase() !== "user-agent") headers[name] = value;
  }
  const limited = anySignal([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
  const verb = method === "POST" || method === "HEAD" ? method : "GET";
  try {
    const content = typeof body === "string" ? body : null;
    const answer = await request(target, { method: verb, headers, body: content, dispatcher, signal: limited });
    const { statusCode: status } = answer;
    const retryAt = retryAtOf(answer.headers["retry-after"], now());
    const date = Date.parse(String(answer.headers["date"]));
    context.lastHeaders = { retryAt, date: Number.isNaN(date) ? undefined : date };
    const text = await readBounded(answer.body);
    // An answer to HEAD has a content type but no body.
    const isJson = verb !== "HEAD" && /json/i.test(String(answer.headers["content-type"]));
    const data = isJson ? parseBody(text, status) : text;
    const isRetried = (data as { readonly type?: unknown } | null)?.type === BAD_NONCE && status === 400;
    if (status >= 300 && !isRetried) throw new AcmeProblem(status, data, retryAt);
    return { data, status, headers: singleValueHeaders(answer.headers) };
  } catch (error) {
    if (error instanceof AcmeProblem || error instanceof AttemptFailed) throw error;
    signal.throwIfAborted();
    throw unreachable("ca_unreachable", `the authority at ${origin.origin}`, error);
  }
}

async function readBounded(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) {
      throw new AttemptFailed("ca_answer", `the authority's answer is longer than ${MAX_BODY_BYTES / 1024} KiB`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseBody(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The body of a failed request may have any form, because its status is enough.
    if (status >= 300) return undefined;
    throw new AttemptFailed("ca_answer", "the authority's answer is declared as JSON but is not JSON", {
      keepsOrder: true,
    });
  }
}

const singleValueHeaders = (headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
