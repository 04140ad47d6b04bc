/**
 * Shows heads to the cluster: the first at once, then every `intervalMs`, every `records`, and at the end. Calls are
 * made one at a time, each with a timeout. A head is shown only after its record was emitted. A failed call is counted,
 * and the next one shows a newer head.
 *
 * Source: cluster reference, 9.3.
 */

import type { Counter } from "../../base/index.ts";
import type { AuditHead, AuditOptions } from "./types.ts";

interface WitnessPace {
  readonly intervalMs: number;
  readonly records: number;
  /** Timeout of one call, in milliseconds. */
  readonly timeoutMs: number;
  /** Timeout when closing, in milliseconds. Without a leader, the next start reports the head instead. */
  readonly closeTimeoutMs: number;
}

export const WITNESS_PACE: WitnessPace = { intervalMs: 5_000, records: 1_000, timeoutMs: 5_000, closeTimeoutMs: 2_000 };

export interface Witness {
  /** Notes the new head of the chain. */
  advance(head: AuditHead): void;
  /** Waits for the current call, then shows the last head unless it was shown, within `closeTimeoutMs` in total. Never rejects. */
  close(): Promise<void>;
}

/** Creates a witness. `succeeds` is sent with every head until one was accepted. */
export function createWitness(
  publish: AuditOptions["witness"],
  succeeds: AuditHead | null | undefined,
  failures: Counter,
  pace: WitnessPace = WITNESS_PACE,
): Witness {
  let newest: AuditHead | undefined;
  /** Last head that was accepted, and sequence number of the last one that was sent. */
  let accepted: AuditHead | undefined;
  let triedSeq = -1;
  let running: Promise<void> | undefined;
  let isClosing = false;
  /** Deadline; set by `close`. */
  let endsAt = Number.POSITIVE_INFINITY;
  let giveUpAfter: (ms: number) => void = () => undefined;

  async function attempt(head: AuditHead): Promise<void> {
    const limit = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    triedSeq = head.seq;
    const timedOut = new Promise<never>((_, reject) => {
      giveUpAfter = (ms) => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          const error = new Error(`the cluster did not store a head within ${ms} ms`);
          limit.abort(error);
          reject(error);
        }, ms);
      };
    });
    giveUpAfter(Math.min(pace.timeoutMs, endsAt - performance.now()));
    try {
      await Promise.race([publish(head, accepted === undefined ? succeeds : undefined, limit.signal), timedOut]);
      accepted = head;
    } catch {
      failures.inc();
    } finally {
      clearTimeout(timer);
      running = undefined;
    }
  }

  function start(): void {
    if (running !== undefined || newest === undefined || newest.seq === accepted?.seq) return;
    running = attempt(newest);
  }

  const interval = setInterval(start, pace.intervalMs);
  interval.unref();

  return {
    advance(head) {
      newest = head;
      if (!isClosing && (triedSeq < 0 || head.seq - triedSeq >= pace.records)) start();
    },
    async close() {
      isClosing = true;
      clearInterval(interval);
      endsAt = performance.now() + pace.closeTimeoutMs;
      if (running !== undefined) giveUpAfter(pace.closeTimeoutMs);
      await running;
      // A timer may fire up to a millisecond before its time.
      if (endsAt - performance.now() >= 1) start();
      await running;
    },
  };
}
