/**
 * Redirect target of the browser: an HTTP listener on a free port of 127.0.0.1 that accepts one answer (RFC 8252
 * sections 7.3 and 8.3).
 *
 * Only `GET /callback` with the state of this sign-in counts; everything else gets a 404 and changes nothing, so that
 * no other page in the browser can end or forge a sign-in. `Host` must name the listener, which prevents DNS rebinding.
 * The browser gets its page only when the outcome of the sign-in is known.
 */

import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { callbackPage, type Page } from "./callback-page.ts";

const MAX_HEADER_BYTES = 32 << 10;
const REQUEST_MS = 10_000;
/** Maximum time for sending the page to the browser, in milliseconds. */
const SHOW_MS = 2_000;

export interface Callback {
  readonly redirectUri: string;
  /** Resolves with the first answer that has this `state`. Rejects when `signal` aborts. Call it once. */
  wait(state: string, signal: AbortSignal): Promise<Arrival>;
  /** Closes the listener and all of its connections. */
  close(): Promise<void>;
}

export interface Arrival {
  /** The redirect URI with the query that the provider added. */
  readonly url: URL;
  /** Shows the outcome in the browser. Resolves when the page is sent, or cannot be sent. */
  show(page: Page): Promise<void>;
}

export async function listenForCallback(): Promise<Callback> {
  const { createServer } = await import("node:http");
  let accept: ((request: IncomingMessage, answer: ServerResponse) => boolean) | undefined;
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: REQUEST_MS }, (request, answer) => {
    if (accept?.(request, answer) === true) accept = undefined;
    else void send(answer, 404, { title: "Not found", message: "There is nothing here." });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("listening without a port");
  const origin = `http://127.0.0.1:${address.port}`;
  const redirectUri = `${origin}/callback`;

  return {
    redirectUri,
    wait: (state, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const stop = () => reject(signal.reason);
        signal.addEventListener("abort", stop, { once: true });
        accept = (request, answer) => {
          const url = answerOf(request, origin, state);
          if (url === undefined) return false;
          signal.removeEventListener("abort", stop);
          resolve({ url, show: (page) => send(answer, 200, page) });
          return true;
        };
      }),
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Returns the URL of the request if it is the expected answer, otherwise `undefined`. */
function answerOf(request: IncomingMessage, origin: string, state: string): URL | undefined {
  const target = request.url ?? "";
  if (request.method !== "GET" || !target.startsWith("/callback?")) return undefined;
  if (`http://${request.headers.host}` !== origin) return undefined;
  const url = new URL(`${origin}${target}`);
  const [answeredState = "", ...more] = url.searchParams.getAll("state");
  return more.length === 0 && isSame(answeredState, state) ? url : undefined;
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}

async function send(answer: ServerResponse, status: number, page: Page): Promise<void> {
  if (answer.destroyed) return;
  const connectionClosed = once(answer, "close", { signal: AbortSignal.timeout(SHOW_MS) }).catch(() => undefined);
  answer.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    connection: "close",
  });
  answer.end(callbackPage(page));
  await connectionClosed;
}
