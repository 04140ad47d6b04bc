/** Sends one request to a token endpoint. Source: credentials reference, 6; design decisions, section 13. */
import type { SecureContext } from "node:tls";
import type { ForwardProxies } from "../../forward-proxy/index.ts";
import { type GuardedAnswer, openGuardedDialer } from "../guarded-dialer.ts";

const MAX_ANSWER_BYTES = 64 << 10;

export type TokenAnswer = GuardedAnswer;

export interface TokenDialer {
  /** Sends the request. Rejects with a message that names no address. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<TokenAnswer>;
  close(): void;
}

/** Opens a dialer. `secureContext`: trusted certificates; `undefined` for those of Node.js. */
export function openTokenDialer(
  secureContext: SecureContext | undefined,
  connectMs: number,
  proxies?: ForwardProxies,
): TokenDialer {
  const { send, close } = openGuardedDialer({ connectMs, maxAnswerBytes: MAX_ANSWER_BYTES, secureContext, proxies });
  return { post: (url, headers, body, signal) => send({ method: "POST", url, headers, body, signal }), close };
}
