/**
 * Client for the forward listeners of nodes: one link per address, kept while it is used, with many exchanges at once. Source:
 * cluster reference, section 4.
 *
 * A request that was not yet handed to an open link has certainly not been sent, so it fails as `unreachable` or `busy` and may
 * be sent to another node. After that it fails as `unknown`.
 */

import type { Identity } from "../identity/index.ts";
import {
  DialError,
  dial,
  encodeFrame,
  type Frame,
  isRecord,
  KIND,
  type Link,
  type LinkHandlers,
  type SelfDescription,
  systemTiming,
  type Timing,
  WireError,
} from "../wire/index.ts";
import { decodePayload, encodePayload, kindNumber, MAX_OUTSTANDING } from "./forward-frame.ts";
import type { ForwardClient, ForwardReply } from "./types.ts";

interface ForwardClientOptions {
  readonly identity: Identity;
  readonly self: SelfDescription;
  readonly timing?: Timing;
}

interface Exchange {
  readonly kind: number;
  readonly payload: readonly Uint8Array[];
  isSent: boolean;
  id: number;
  /** Ends the exchange; has no effect if it has ended. */
  settle(reply: ForwardReply): void;
}

interface PooledLink {
  readonly exchanges: Set<Exchange>;
  readonly byId: Map<number, Exchange>;
  link: Link | undefined;
  nextId: number;
  cancelIdleTimer: () => void;
}

/** Idle time after which a link is closed, in milliseconds. A new link costs a few milliseconds. */
const IDLE_MS = 60_000;
const MAX_ID = 0xffff_ffff;

export function createForwardClient({ identity, self, timing = systemTiming }: ForwardClientOptions): ForwardClient {
  const pool = new Map<string, PooledLink>();
  const stop = new AbortController();

  function pooledLink(address: string): PooledLink {
    const known = pool.get(address);
    if (known !== undefined) return known;
    const made: PooledLink = {
      exchanges: new Set(),
      byId: new Map(),
      link: undefined,
      nextId: 1,
      cancelIdleTimer: () => undefined,
    };
    pool.set(address, made);
    dial({
      address,
      identity,
      self,
      purpose: "forward",
      signal: stop.signal,
      timing,
      onLink(link) {
        made.link = link;
        for (const exchange of made.exchanges) start(made, link, exchange);
        return handlersOf(address, made);
      },
    }).catch((error: unknown) => {
      forget(address, made);
      for (const exchange of [...made.exchanges]) exchange.settle(unreachable(error));
    });
    return made;
  }

  function forget(address: string, pooled: PooledLink): void {
    pooled.cancelIdleTimer();
    pooled.link = undefined;
    if (pool.get(address) === pooled) pool.delete(address);
  }

  function handlersOf(address: string, of: PooledLink): LinkHandlers {
    return {
      onFrame: (frame) => receive(of, frame),
      onEnd(error) {
        forget(address, of);
        const message = error?.message ?? "the connection was closed";
        for (const exchange of [...of.exchanges]) exchange.settle({ kind: "unknown", message });
      },
    };
  }

  function closeWhenIdle(address: string, of: PooledLink): void {
    of.cancelIdleTimer();
    if (of.exchanges.size > 0 || of.link === undefined) return;
    of.cancelIdleTimer = timing.after(IDLE_MS, () => {
      const { link } = of;
      forget(address, of);
      link?.end();
    });
  }

  return {
    request(address, { kind, header, body }, { timeoutMs, signal }) {
      return new Promise((resolve, reject) => {
        const payload = encodePayload(header, body);
        signal?.throwIfAborted();
        if (stop.signal.aborted) return resolve(unreachable(stop.signal.reason));
        const of = pooledLink(address);
        if (of.exchanges.size >= MAX_OUTSTANDING) return resolve({ kind: "busy" });

        let isFinished = false;
        const finish = (): boolean => {
          if (isFinished) return false;
          isFinished = true;
          stopTimer();
          signal?.removeEventListener("abort", onAbort);
          of.exchanges.delete(exchange);
          of.byId.delete(exchange.id);
          closeWhenIdle(address, of);
          return true;
        };
        const exchange: Exchange = {
          kind: kindNumber(kind),
          payload,
          isSent: false,
          id: 0,
          settle(reply) {
            if (finish()) resolve(reply);
          },
        };
        const stopTimer = timing.after(timeoutMs, () => {
          const message = `no answer from ${address} within ${timeoutMs} ms`;
          giveUp(of, exchange);
          exchange.settle(
            exchange.isSent
              ? { kind: "unknown", message }
              : { kind: "unreachable", failure: "unreachable", code: "timeout", message },
          );
        });
        const onAbort = (): void => {
          giveUp(of, exchange);
          if (finish()) reject(signal?.reason);
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        of.cancelIdleTimer();
        of.exchanges.add(exchange);
        if (of.link !== undefined) start(of, of.link, exchange);
      });
    },
    close() {
      stop.abort(new Error("the client is closing"));
      for (const { link } of [...pool.values()]) link?.close();
    },
  };
}

function start(of: PooledLink, link: Link, exchange: Exchange): void {
  do {
    exchange.id = of.nextId;
    of.nextId = of.nextId === MAX_ID ? 1 : of.nextId + 1;
  } while (of.byId.has(exchange.id));
  of.byId.set(exchange.id, exchange);
  exchange.isSent = true;
  const { kind, id, payload } = exchange;
  link.send(encodeFrame({ kind, id, isLast: true }, ...payload));
}

/** Tells the peer, if it has the request, that the caller no longer waits for the answer. */
function giveUp(of: PooledLink, exchange: Exchange): void {
  if (!exchange.isSent) return;
  const header = { code: "cancelled", message: "the caller no longer waits for the answer" };
  of.link?.send(encodeFrame({ kind: KIND.error, id: exchange.id, isLast: true }, ...encodePayload(header)));
}

function receive(of: PooledLink, { kind, id, isLast, payload }: Frame): void {
  if (!isLast) throw new WireError("an answer of several frames");
  // An answer to a request that was given up is dropped.
  const exchange = of.byId.get(id);
  const { header, body } = decodePayload(payload);
  if (kind === KIND.result) exchange?.settle({ kind: "result", header, body });
  else if (kind === KIND.error) exchange?.settle(errorOf(header));
  else throw new WireError(`a frame of kind ${kind} where none is expected`);
}

function errorOf(header: unknown): ForwardReply {
  const { code, message, details } = isRecord(header) ? header : {};
  if (typeof code !== "string" || typeof message !== "string") throw new WireError("an error without code and message");
  return { kind: "error", code, message, details };
}

function unreachable(error: unknown): ForwardReply {
  if (error instanceof DialError) {
    return { kind: "unreachable", failure: error.kind, code: error.code, message: error.message };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { kind: "unreachable", failure: "broken", code: "closed", message };
}
