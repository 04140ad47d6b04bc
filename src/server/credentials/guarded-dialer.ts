/**
 * Sends one request to a server that receives credentials, such as a token endpoint or an administration API: follows no
 * redirect, refuses link-local addresses, and limits the answer. Source: credentials reference, 6; design decisions, section
 * 13.
 */
import type { SecureContext } from "node:tls";
import { request } from "undici";
import { type ForwardProxies, NO_FORWARD_PROXIES, openProxyAgent } from "../forward-proxy/index.ts";
import { guardedLookup, isForbiddenAddress, LinkLocal } from "./guarded-lookup.ts";

const MAX_HEADER_BYTES = 32 << 10;

export interface GuardedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface GuardedRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface GuardedDialer {
  /** Sends the request. Rejects with a message that names no address. */
  send(asked: GuardedRequest): Promise<GuardedAnswer>;
  close(): void;
}

interface GuardedDialerOptions {
  readonly connectMs: number;
  readonly maxAnswerBytes: number;
  /** Trusted certificates; `undefined` for those of Node.js. */
  readonly secureContext?: SecureContext | undefined;
  /** Forward proxies; if omitted, connections are direct. */
  readonly proxies?: ForwardProxies | undefined;
}

export function openGuardedDialer({
  connectMs,
  maxAnswerBytes,
  secureContext,
  proxies = NO_FORWARD_PROXIES,
}: GuardedDialerOptions): GuardedDialer {
  const connect = { timeout: connectMs, lookup: guardedLookup, ...(secureContext !== undefined && { secureContext }) };
  const limits = { maxHeaderSize: MAX_HEADER_BYTES, pipelining: 1, connections: 32, keepAliveTimeout: 10_000 };
  const agent = openProxyAgent({ connect, ...limits }, proxies);
  return {
    async send({ method, url, headers, body, signal }) {
      if (isForbiddenAddress(new URL(url).hostname.replace(/^\[|\]$/g, ""))) throw new LinkLocal();
      const answer = await request(url, {
        dispatcher: agent,
        method,
        headers: { ...headers },
        body: body ?? null,
        signal,
      });
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of answer.body) {
        const bytes = Buffer.from(chunk as Uint8Array);
        length += bytes.length;
        // An exception in this loop closes the connection.
        if (length > maxAnswerBytes) throw new Error(`its answer is longer than ${maxAnswerBytes} bytes`);
        chunks.push(bytes);
      }
      const single = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
      return { status: answer.statusCode, headers: Object.fromEntries(single), text: Buffer.concat(chunks).toString() };
    },
    close() {
      agent.close().catch(() => undefined); // The agent closes after its requests, each of which has a timeout.
    },
  };
}
