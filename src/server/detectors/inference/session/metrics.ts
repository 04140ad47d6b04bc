/** Metrics of model sessions. One set per process. */
import type { Instruments } from "../../../../base/index.ts";

export interface SessionMetrics {
  /** Records the time that a thread worked, in seconds. */
  readonly addWorkSeconds: (seconds: number) => void;
  /** Records that a thread was ended by force because it did not stop in time (`stopped`), or that it crashed. */
  readonly countEnded: (reason: "stopped" | "crashed") => void;
  readonly countRefused: () => void;
}

export interface SessionReadings {
  /** Returns the number of requests that wait for a session. */
  readonly waiting: () => number;
  /** Returns the number of sessions in memory. */
  readonly sessions: () => number;
}

export const NO_SESSION_METRICS: SessionMetrics = { addWorkSeconds() {}, countEnded() {}, countRefused() {} };

export function createSessionMetrics(instruments: Instruments, readings: SessionReadings): SessionMetrics {
  instruments.observedGauge(
    "gateway_model_sessions",
    "Loaded models: each in a process of its own, or on a server.",
    readings.sessions,
  );
  instruments.observedGauge("gateway_model_waiting", "Requests that are waiting for a model.", readings.waiting);
  const busy = instruments.counter("gateway_model_busy_seconds_total", "Busy time of models.");
  const restarts = instruments.counter(
    "gateway_model_restarts_total",
    "Model processes that were replaced, because they did not stop in time (`stopped`) or `crashed`.",
    ["reason"],
  );
  const refused = instruments.counter(
    "gateway_model_overloaded_total",
    "Scans that were refused because too many were waiting for a model. The request gets status 503 `overloaded`.",
  );
  return {
    addWorkSeconds: (seconds) => busy.with().inc(seconds),
    countEnded: (reason) => restarts.with(reason).inc(),
    countRefused: () => refused.with().inc(),
  };
}
