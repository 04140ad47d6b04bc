/**
 * One attempt: a request to one channel, its answer flowing to the client as it arrives, or judged and given up.
 *
 * The dispatcher calls in with headers and chunks as they are read from the socket; nothing is copied and no promise is
 * made per chunk. Back-pressure goes through: a client that does not read pauses the upstream's socket.
 */
import { performance } from "node:perf_hooks";
import type { Dispatcher } from "undici";
import { SseSplitter } from "../core/dialects/index.ts";
import type { Downstream } from "./ports.ts";

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query at the origin. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

export type AttemptOutcome =
  /** The answer was handed over whole, or broke off after it had begun. */
  | { readonly kind: "delivered" }
  /** An answer came and was not handed over. */
  | { readonly kind: "judged" }
  /** No answer came: connection, TLS, name or protocol. */
  | { readonly kind: "unreachable"; readonly cause: Error }
  | { readonly kind: "timeout" }
  /** The client left; the upstream request is aborted. */
  | { readonly kind: "abandoned" };

export interface AttemptOptions {
  readonly firstByteTimeoutMs: number | undefined;
  /** Whether the answer with these headers goes to the client; decided at once, since its body waits. */
  readonly accepts: (status: number, headers: readonly Buffer[]) => boolean;
  /**
   * Set while the request may still move: looks at the first event of an event stream before anything is sent, for a
   * provider may answer 200 and fail in the first event.
   */
  readonly acceptsFirstEvent: ((data: string) => boolean) | undefined;
  /** Milliseconds from dispatch to headers, or to failure. */
  readonly waited: (ms: number) => void;
}

/** What is read of an answer that nobody wants, so that its connection can be used again. */
const MAX_DISCARDED_BYTES = 64 << 10;

/** A first event larger than this is no error message. */
const MAX_HELD_BYTES = 64 << 10;

type Phase = "waiting" | "holding" | "flowing" | "discarding" | "settled";

export function attempt(
  dispatcher: Dispatcher,
  request: UpstreamRequest,
  downstream: Downstream,
  options: AttemptOptions,
): Promise<AttemptOutcome> {
  return new Promise((resolve) => {
    const startedAt = performance.now();
    let phase: Phase = "waiting";
    let abort: ((cause?: Error) => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    let discarded = 0;
    let held: HeldAnswer | undefined;

    const settle = (outcome: AttemptOutcome): void => {
      if (phase === "settled") return;
      if (phase === "waiting") options.waited(performance.now() - startedAt);
      phase = "settled";
      clearTimeout(timer);
      downstream.onGone(undefined);
      resolve(outcome);
    };
    /** Ends the upstream request; before it has a connection, as soon as it gets one. */
    const giveUp = (outcome: AttemptOutcome): void => {
      settle(outcome);
      abort?.();
    };

    const handler: Dispatcher.DispatchHandler = {
      onConnect(abortRequest: (cause?: Error) => void): void {
        abort = abortRequest;
        if (phase === "settled") abortRequest();
      },
      onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
        if (status < 200 || phase === "settled") return true; // informational; a final answer follows
        clearTimeout(timer);
        options.waited(performance.now() - startedAt);
        if (!options.accepts(status, headers)) {
          phase = "discarding";
          return true;
        }
        downstream.onDrain(resume);
        if (options.acceptsFirstEvent !== undefined && status === 200 && isEventStream(headers)) {
          phase = "holding";
          held = { status, statusText, headers, splitter: new SseSplitter(), chunks: [], bytes: 0 };
          return true;
        }
        phase = "flowing";
        downstream.start(status, statusText, headers);
        return true;
      },
      onData(chunk: Buffer): boolean {
        if (phase === "flowing") return downstream.write(chunk);
        if (phase === "holding" && held !== undefined) return hold(held, chunk);
        discarded += chunk.length;
        if (phase === "discarding" && discarded > MAX_DISCARDED_BYTES) giveUp({ kind: "judged" });
        return true;
      },
      onComplete(): void {
        if (phase === "holding" && held !== undefined) release(held);
        if (phase === "flowing") downstream.end();
        settle(phase === "discarding" ? { kind: "judged" } : { kind: "delivered" });
      },
      onError(cause: Error): void {
        if (phase === "flowing") downstream.breakOff(cause);
        settle(ended(phase, cause));
      },
    };

    function hold(answer: HeldAnswer, chunk: Buffer): boolean {
      answer.chunks.push(chunk);
      answer.bytes += chunk.length;
      const first = answer.splitter.push(chunk).find((event) => event.data !== undefined);
      if (first === undefined && answer.bytes <= MAX_HELD_BYTES) return true;
      if (first?.data !== undefined && options.acceptsFirstEvent?.(first.data) === false) {
        giveUp({ kind: "judged" });
        return true;
      }
      return release(answer);
    }

    function release(answer: HeldAnswer): boolean {
      held = undefined;
      phase = "flowing";
      downstream.start(answer.status, answer.statusText, answer.headers);
      let hasRoom = true;
      for (const chunk of answer.chunks) hasRoom = downstream.write(chunk);
      return hasRoom;
    }

    if (downstream.gone) return settle({ kind: "abandoned" });
    downstream.onGone(() => giveUp({ kind: "abandoned" }));
    if (options.firstByteTimeoutMs !== undefined) {
      timer = setTimeout(() => giveUp({ kind: "timeout" }), options.firstByteTimeoutMs);
    }
    try {
      dispatcher.dispatch(
        {
          method: request.method as Dispatcher.HttpMethod,
          path: request.path,
          headers: request.headers as string[],
          body: request.body,
        },
        handler,
      );
    } catch (cause) {
      settle({ kind: "unreachable", cause: cause instanceof Error ? cause : new Error(String(cause)) });
    }
  });
}

function ended(phase: Phase, cause: Error): AttemptOutcome {
  if (phase === "flowing") return { kind: "delivered" };
  return phase === "discarding" ? { kind: "judged" } : { kind: "unreachable", cause };
}

interface HeldAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly Buffer[];
  readonly splitter: SseSplitter;
  readonly chunks: Buffer[];
  bytes: number;
}

function isEventStream(headers: readonly Buffer[]): boolean {
  return headerValue(headers, "content-type")?.toLowerCase().startsWith("text/event-stream") === true;
}

/** The first value of a header in raw pairs; `name` in lower case. */
export function headerValue(headers: readonly Buffer[], name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    const candidate = headers[i] as Buffer;
    if (candidate.length === name.length && candidate.toString("latin1").toLowerCase() === name) {
      return (headers[i + 1] as Buffer).toString("latin1");
    }
  }
  return undefined;
}
