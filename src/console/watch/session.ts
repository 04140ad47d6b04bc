/**
 * The time between a door's first answer and whatever ends it: lost, signed out, or the operator's wish. All reads run in
 * a session, and end with it.
 *
 * A call without an answer says little: its connection may have been closed by something between. So the door is asked
 * once for its status while all reads wait, and lost is a door that does not answer that. The same is asked of a door that
 * has been quiet, since a read that blocks does not notice that its peer is gone.
 */

import { pause, systemClock } from "../../base/index.ts";
import type { Failure } from "../model/data.ts";
import type { Peer } from "./ask.ts";
import type { Pace } from "./pace.ts";
import type { Probe } from "./probe.ts";

export type Ending =
  | { readonly kind: "refresh" }
  | { readonly kind: "next_door" }
  | { readonly kind: "lost"; readonly failure: Failure }
  | { readonly kind: "signed_out"; readonly failure: Failure }
  | { readonly kind: "closed" };

export interface Session {
  readonly peer: Peer;
  /** Aborted at its end. */
  readonly signal: AbortSignal;
  /** Resolves once no probe is under way; at once as a rule. */
  settled(): Promise<void>;
  /** To be told of each answer, whatever it was. */
  answered(): void;
  /** A call had no answer. Resolves once it is known whether the door answers at all; if not, the session has ended. */
  doubt(): Promise<void>;
  end(ending: Ending): void;
  readonly ended: Promise<Ending>;
}

export interface SessionOptions {
  readonly peer: Peer;
  readonly pace: Pace;
  /** Of the process behind the door, as its first answer told it. */
  readonly identity: string | undefined;
  probe(signal: AbortSignal): Promise<Probe>;
  onAnswer(): void;
}

export function openSession({ peer, pace, identity, probe, onAnswer }: SessionOptions): Session {
  const { monotonic } = systemClock;
  const over = new AbortController();
  const { signal } = over;
  let resolveEnded: (ending: Ending) => void = () => undefined;
  const ended = new Promise<Ending>((resolve) => {
    resolveEnded = resolve;
  });
  let answeredAt = monotonic();
  let probing: Promise<void> | undefined;

  function end(ending: Ending): void {
    if (signal.aborted) return;
    resolveEnded(ending);
    over.abort();
  }

  function answered(): void {
    answeredAt = monotonic();
    onAnswer();
  }

  async function verify(): Promise<void> {
    const found = await probe(signal);
    switch (found.kind) {
      case "answered":
        answered();
        // Another process counts its lists otherwise: everything is read from the start.
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

  function doubt(): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    probing ??= verify().finally(() => {
      probing = undefined;
    });
    return probing;
  }

  async function listen(): Promise<void> {
    while (!signal.aborted) {
      const leftMs = answeredAt + pace.quietMs - monotonic();
      if (leftMs > 0) await pause(leftMs, signal);
      else await doubt();
    }
  }

  void listen();
  return { peer, signal, settled: () => probing ?? Promise.resolve(), answered, doubt, end, ended };
}
