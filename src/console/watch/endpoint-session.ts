/**
 * Session: the time between the first answer of an admin endpoint and its end by failure, sign-out or the operator. All reads
 * run in a session and end with it.
 *
 * A call without an answer proves little, since an intermediary may have closed its connection. So the endpoint is probed once
 * while all reads wait; it is lost if the probe fails. An endpoint without recent answers is probed too, since a blocking read
 * does not notice that its peer is gone.
 */

import { pause, systemClock } from "../../base/index.ts";
import type { Failure } from "../model/data.ts";
import type { Probe } from "./endpoint-probe.ts";
import type { ReadIntervals } from "./intervals.ts";
import type { Peer } from "./read-endpoint.ts";

export type SessionEnd =
  | { readonly kind: "refresh" }
  | { readonly kind: "next_endpoint" }
  | { readonly kind: "lost"; readonly failure: Failure }
  | { readonly kind: "signed_out"; readonly failure: Failure }
  | { readonly kind: "closed" };

export interface Session {
  readonly peer: Peer;
  /** Aborted at the end of the session. */
  readonly signal: AbortSignal;
  /** Resolves once no probe is running, usually immediately. */
  whenChecked(): Promise<void>;
  /** Must be called on each answer of any kind. */
  markAnswered(): void;
  /**
   * Reports a call without an answer. Resolves once the probe has decided; if the endpoint does not answer, the session has
   * ended.
   */
  checkEndpoint(): Promise<void>;
  end(reason: SessionEnd): void;
  readonly ended: Promise<SessionEnd>;
}

interface SessionOptions {
  readonly peer: Peer;
  readonly intervals: ReadIntervals;
  /** Identity of the process in its first answer. */
  readonly identity: string | undefined;
  probe(signal: AbortSignal): Promise<Probe>;
  onAnswer(): void;
}

export function openSession({ peer, intervals, identity, probe, onAnswer }: SessionOptions): Session {
  const { monotonic } = systemClock;
  const abortController = new AbortController();
  const { signal } = abortController;
  let resolveEnded: (reason: SessionEnd) => void = () => undefined;
  const ended = new Promise<SessionEnd>((resolve) => {
    resolveEnded = resolve;
  });
  let answeredAt = monotonic();
  let probing: Promise<void> | undefined;

  function end(reason: SessionEnd): void {
    if (signal.aborted) return;
    resolveEnded(reason);
    abortController.abort();
  }

  function markAnswered(): void {
    answeredAt = monotonic();
    onAnswer();
  }

  async function runProbe(): Promise<void> {
    const found = await probe(signal);
    switch (found.kind) {
      case "answered":
        markAnswered();
        // Another process numbers its lists differently, so everything is read again.
        if (found.identity !== identity) end({ kind: "refresh" });
        break;
      case "signed_out":
        end(found);
        break;
      case "unanswered":
        end({ kind: "lost", failure: found.failure });
        break;
      case "ended":
        break;
      default:
        found satisfies never;
    }
  }

  function checkEndpoint(): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    probing ??= runProbe().finally(() => {
      probing = undefined;
    });
    return probing;
  }

  async function listen(): Promise<void> {
    while (!signal.aborted) {
      const silenceLeftMs = answeredAt + intervals.silenceMs - monotonic();
      if (silenceLeftMs > 0) await pause(silenceLeftMs, signal);
      else await checkEndpoint();
    }
  }

  void listen();
  return { peer, signal, whenChecked: () => probing ?? Promise.resolve(), markAnswered, checkEndpoint, end, ended };
}
