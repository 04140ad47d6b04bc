/**
 * Fetches one JSON document of an issuer, with limits on time, size and redirects.
 *
 * Redirects are followed only within the origin, so that the bearer token and the trust in this origin's certificate do not
 * extend to another. Messages name origin and path, never a query, header or body. Sizes are in bytes.
 */

import * as http from "node:http";
import * as https from "node:https";
import type { Duplex } from "node:stream";
import type { SecureContext } from "node:tls";
import { connectionErrorText } from "../../base/index.ts";
import {
  createProxyConnection,
  type ForwardProxies,
  type ForwardProxy,
  hostOf,
  portOf,
  refusedByProxy,
} from "../forward-proxy/index.ts";

const MAX_DOCUMENT_BYTES = 1 << 20;
const MAX_HEADER_BYTES = 32 << 10;
const MAX_REDIRECTS = 3;
const MAX_MESSAGE_LENGTH = 200;
/**
 * Timeout for connecting through a proxy, in milliseconds. It exceeds that of every fetch, so the fetch's own signal ends it
 * first.
 */
const PROXY_TIMEOUT_MS = 60_000;

export interface FetchOptions {
  /** Trusted certificates; `undefined` for those of Node.js. */
  readonly secureContext: SecureContext | undefined;
  /** Bearer token, sent only to the origin of the address. */
  readonly token: string | undefined;
  /** Forward proxies; if omitted, connections are direct. */
  readonly proxies?: ForwardProxies | undefined;
  /** Signal that limits the time. Its reason becomes the error. */
  readonly signal: AbortSignal;
}

interface FetchedDocument {
  readonly value: unknown;
  /** Value of `cache-control` in the answer. */
  readonly cacheControl: string;
}

/** Failure of a fetch, described for operators. */
export class FetchFailure extends Error {}

/** Fetches and parses the document. Rejects with `FetchFailure`. */
export async function fetchJson(from: URL, options: FetchOptions): Promise<FetchedDocument> {
  let url = from;
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const answer = await fetchOnce(url, options);
    if (answer.location === undefined) return readJson(answer, url);
    const next = URL.canParse(answer.location, url.href) ? new URL(answer.location, url) : undefined;
    if (next?.origin !== url.origin) throw new FetchFailure(`${originAndPath(url)}: redirects to another origin`);
    url = next;
  }
  throw new FetchFailure(`${originAndPath(from)}: more than ${MAX_REDIRECTS} redirects`);
}

interface Answer {
  /** Target of a redirect; `undefined` if the answer is no redirect. */
  readonly location: string | undefined;
  readonly cacheControl: string;
  readonly body: Buffer;
}

/** Sends one request on its own connection, which is closed after the answer or when `signal` aborts. */
async function fetchOnce(url: URL, { secureContext, token, signal, proxies }: FetchOptions): Promise<Answer> {
  const options = {
    signal,
    maxHeaderSize: MAX_HEADER_BYTES,
    headers: { accept: "application/json", ...(token !== undefined && { authorization: `Bearer ${token}` }) },
  };
  try {
    signal.throwIfAborted();
    const proxy = proxies?.proxyFor(url);
    const request =
      proxy !== undefined
        ? getThrough(proxy, url, { secureContext, signal }, options)
        : url.protocol === "https:"
          ? https.get(url, {
              ...options,
              agent: new https.Agent({ ...(secureContext !== undefined && { secureContext }) }),
            })
          : http.get(url, { ...options, agent: new http.Agent() });
    try {
      const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
        // Both listeners stay, because an error after the beginning of the answer is emitted here as well as on the body.
        request.on("response", resolve).on("error", reject);
        // An answer that switches protocols counts as none; Node.js closes it without an error.
        request.once("close", () => reject(new Error("closed without an answer")));
      });
      if (answer.statusCode === 407 && proxy !== undefined) throw refusedByProxy(proxy, url.origin, 407);
      return await readAnswer(answer, url);
    } finally {
      request.destroy();
    }
  } catch (error) {
    if (error instanceof FetchFailure) throw error;
    throw new FetchFailure(`${originAndPath(url)}: ${reasonOf(signal.aborted ? signal.reason : error)}`, {
      cause: error,
    });
  }
}

/** Sends the request through a tunnel, which `signal` limits too. Documents are small, so plain HTTP is tunneled as well. */
function getThrough(
  proxy: ForwardProxy,
  url: URL,
  { secureContext, signal }: Pick<FetchOptions, "secureContext" | "signal">,
  options: http.RequestOptions,
): http.ClientRequest {
  const tls = url.protocol === "https:" ? { ...(secureContext !== undefined && { secureContext }) } : undefined;
  const connecting = {
    proxy,
    target: { host: hostOf(url), port: portOf(url) },
    tls,
    limitMs: PROXY_TIMEOUT_MS,
    signal,
  };
  const createConnection = (_: unknown, callback: (error: Error | null, socket: Duplex) => void): undefined => {
    createProxyConnection(connecting, (error, socket) => callback(error, socket as Duplex));
  };
  // The protocol is `http:` because the connection is already encrypted.
  return http.get({
    ...options,
    protocol: "http:",
    host: url.host,
    path: url.pathname + url.search,
    headers: { ...options.headers, host: url.host },
    createConnection,
  });
}

async function readAnswer(answer: http.IncomingMessage, url: URL): Promise<Answer> {
  const { statusCode: status = 0, headers } = answer;
  const cacheControl = headers["cache-control"] ?? "";
  const location = status >= 300 && status < 400 ? headers.location : undefined;
  if (location !== undefined) return { location, cacheControl, body: Buffer.alloc(0) };
  if (status !== 200) throw new FetchFailure(`${originAndPath(url)}: status ${status}`);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer) {
    const bytes: Buffer = Buffer.from(chunk);
    length += bytes.length;
    if (length > MAX_DOCUMENT_BYTES) throw new FetchFailure(`${originAndPath(url)}: over ${MAX_DOCUMENT_BYTES} bytes`);
    chunks.push(bytes);
  }
  return { location, cacheControl, body: Buffer.concat(chunks) };
}

function readJson({ body, cacheControl }: Answer, url: URL): FetchedDocument {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return { value, cacheControl };
  } catch {
    // The parser's message quotes the text.
    throw new FetchFailure(`${originAndPath(url)}: the answer is not JSON`);
  }
}

/** Returns origin and path, without the parts that may contain a secret. */
export function originAndPath({ origin, pathname }: URL): string {
  return (origin + pathname).slice(0, MAX_MESSAGE_LENGTH);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "failed";
  if ("code" in error && error.code === "FORWARD_PROXY") return connectionErrorText(error) ?? error.message;
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  const message = error.message.slice(0, MAX_MESSAGE_LENGTH);
  return message === "" || code === undefined || message.includes(code)
    ? message || code || error.name
    : `${code}: ${message}`;
}
