/** Reports the statistics of providers that workers use. They are summed in the worker, and the node counts them like its own. */
import type { AttemptFailure, ProviderStatistics, Statistics } from "../../dataplane/index.ts";
import type { Channel } from "../channel/index.ts";
import { createKeyedBatch } from "./keyed-batch.ts";

/** Maximum number of pairs of provider and model, which come from the configuration. */
const MAX_PAIRS = 1_000;
/** Maximum time to wait for the body of a provider's error after a failed attempt, in milliseconds. */
const ERROR_WAIT_MS = 250;

/** Counts since the last message. */
interface StatisticsDelta {
  readonly provider: string;
  readonly model: string | undefined;
  begun: number;
  retried: number;
  ended: number;
  came: number;
  left: number;
  units: number;
  /** Milliseconds to the first byte of each answered attempt. */
  readonly firstByteMs: number[];
}

interface ReportedFailure {
  readonly provider: string;
  readonly model: string | undefined;
  readonly failure: AttemptFailure;
}

/** Write-only view of the statistics. */
export type WriteOnlyStatistics = Pick<Statistics, "of">;

export function sendStatistics(channel: Channel): WriteOnlyStatistics {
  const gathered = createKeyedBatch<StatisticsDelta>(channel, "statistics", MAX_PAIRS);
  const known = new Map<string, ProviderStatistics>();
  /** Pending reports of failures whose errors have not been read completely. */
  const pendingFailures = new Set<() => void>();
  channel.on("flush", () => {
    for (const send of pendingFailures) send();
  });

  const createRecorder = (key: string, provider: string, model: string | undefined): ProviderStatistics => {
    const delta = (): StatisticsDelta =>
      gathered.getOrCreate(key, () => ({
        ...{
          provider,
          model,
          begun: 0,
          retried: 0,
          ended: 0,
          came: 0,
          left: 0,
          units: 0,
          firstByteMs: [],
        },
      }));
    return {
      beginAttempt(isRetry) {
        if (isRetry) delta().retried += 1;
        else delta().begun += 1;
      },
      recordAnswer: (ms) => void delta().firstByteMs.push(Math.round(ms * 1_000) / 1_000),
      recordFailure(failure) {
        const sendFailure = (): void => {
          pendingFailures.delete(sendFailure);
          clearTimeout(timer);
          const { error, ...others } = failure;
          const providerError = error && { reported: error.reported };
          const report: ReportedFailure = { provider, model, failure: { ...others, error: providerError } };
          channel.send("statistics.failed", report);
        };
        const timer = setTimeout(sendFailure, ERROR_WAIT_MS).unref();
        if (failure.error === undefined) sendFailure();
        else pendingFailures.add(sendFailure);
      },
      endAttempt() {
        delta().ended += 1;
      },
      countFailoverIn() {
        delta().came += 1;
      },
      countFailoverOut() {
        delta().left += 1;
      },
      addUnits(units) {
        if (units !== 0) delta().units += units;
      },
    };
  };

  return {
    of(provider, model) {
      const key = `${provider}\0${model ?? ""}`;
      let made = known.get(key);
      if (made === undefined) {
        // This drops names of earlier configurations.
        if (known.size >= MAX_PAIRS) known.clear();
        made = createRecorder(key, provider, model);
        known.set(key, made);
      }
      return made;
    },
  };
}

/**
 * Receives the statistics of a worker. Returns a function that must be called after the worker's last output was read: it ends
 * the attempts that were in progress there.
 */
export function takeStatistics(channel: Channel, statistics: Pick<Statistics, "of">): () => void {
  const inProgress = new Map<string, { readonly at: ProviderStatistics; count: number }>();
  const repeat = (count: number, run: () => void): void => {
    for (let left = count; left > 0; left -= 1) run();
  };
  channel.on("statistics", (body) => {
    for (const delta of body as readonly StatisticsDelta[]) {
      const key = `${delta.provider}\0${delta.model ?? ""}`;
      // The statistics object stays the same over a configuration change while an attempt is in progress there.
      const current = statistics.of(delta.provider, delta.model);
      const held = inProgress.get(key);
      const at = held?.at ?? current;
      if (at === undefined) continue;
      repeat(delta.begun, () => at.beginAttempt(false));
      repeat(delta.retried, () => at.beginAttempt(true));
      for (const ms of delta.firstByteMs) at.recordAnswer(ms);
      repeat(delta.came, () => at.countFailoverIn());
      repeat(delta.left, () => at.countFailoverOut());
      if (delta.units > 0) at.addUnits(delta.units);
      repeat(delta.ended, () => at.endAttempt());
      const count = (held?.count ?? 0) + delta.begun + delta.retried - delta.ended;
      if (count <= 0) inProgress.delete(key);
      else inProgress.set(key, { at, count });
    }
  });
  channel.on("statistics.failed", (body) => {
    const { provider, model, failure } = body as ReportedFailure;
    statistics.of(provider, model)?.recordFailure(failure);
  });
  return () => {
    for (const { at, count } of inProgress.values()) repeat(count, () => at.endAttempt());
    inProgress.clear();
  };
}
