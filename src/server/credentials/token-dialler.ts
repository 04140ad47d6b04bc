/** One request at a token endpoint: no redirect, a bounded answer. Source: credentials reference, 6; design decisions, section 13. */
import type { SecureContext } from "node:tls";
import { Agent, request } from "undici";
import { guardedLookup, isForbiddenAddress, LinkLocal } from "./guarded-lookup.ts";

const MAX_ANSWER_BYTES = 64 << 10;
const MAX_HEADER_BYTES = 32 << 10;

export interface TokenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface TokenDialler {
  /** Rejects with what went wrong, in words that name no address. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<TokenAnswer>;
  close(): void;
}

/** `secureContext`: what is trusted; undefined: what Node.js trusts. */
export function openTokenDialler(secureContext: SecureContext | undefined, connectMs: number): TokenDialler {
  const agent = new Agent({
    connect: { timeout: connectMs, lookup: guardedLookup, ...(secureContext !== undefined && { secureContext }) },
    maxHeaderSize: MAX_HEADER_BYTES,
    pipelining: 1,
    connections: 32,
    keepAliveTimeout: 10_000,
  });
  return {
    async post(url, headers, body, signal) {
      if (isForbiddenAddress(new URL(url).hostname.replace(/^\[|\]$/g, ""))) throw new LinkLocal();
      const answer = await request(url, { dispatcher: agent, method: "POST", headers: { ...headers }, body, signal });
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of answer.body) {
        const bytes = Buffer.from(chunk as Uint8Array);
        length += bytes.length;
        // To leave the loop ends the connection.
        if (length > MAX_ANSWER_BYTES) throw new Error(`its answer is longer than ${MAX_ANSWER_BYTES} bytes`);
        chunks.push(bytes);
      }
      const single = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
      return { status: answer.statusCode, headers: Object.fromEntries(single), text: Buffer.concat(chunks).toString() };
    },
    close() {
      agent.close().catch(() => undefined); // once its requests are over, each of which has a limit
    },
  };
}
