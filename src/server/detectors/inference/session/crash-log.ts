/** Log lines about model processes that crashed or had to be killed. */
import type { Log } from "../../../../base/index.ts";
import type { SessionSpec } from "./session-protocol.ts";

/** Minimum interval between two lines about the same model, in milliseconds. */
const INTERVAL_MS = 60_000;

interface EndedProcess {
  readonly spec: SessionSpec;
  /** Signal or exit status, or the limit that the process exceeded. */
  readonly reason: string;
  /** Milliseconds until a request can start another process; 0 if the next request does. */
  readonly againInMs: number;
}

export type LogEndedProcess = (ended: EndedProcess) => void;

export const LOG_NOTHING: LogEndedProcess = () => undefined;

/** Creates the log function. `now` returns milliseconds from any origin. */
export function createCrashLog(log: Pick<Log, "error">, now: () => number = () => performance.now()): LogEndedProcess {
  /** Models that were logged within the interval. */
  const recent = new Map<string, { readonly at: number; unlogged: number }>();
  return ({ spec: { graph }, reason, againInMs }) => {
    const model = graph.kind === "served" ? graph.model : graph.path;
    const last = recent.get(model);
    if (last !== undefined && now() - last.at < INTERVAL_MS) {
      last.unlogged += 1;
      return;
    }
    for (const [name, { at, unlogged }] of recent) {
      if (unlogged === 0 && now() - at >= INTERVAL_MS) recent.delete(name);
    }
    recent.set(model, { at: now(), unlogged: 0 });
    const kind = graph.kind === "served" ? "thread" : "process";
    const next =
      againInMs === 0
        ? "the next request starts a new one"
        : `its detectors follow \`on_error\` for ${Math.ceil(againInMs / 1_000)} s, then the next request starts a new one`;
    log.error(`a model's ${kind} ended: waiting requests follow \`on_error\`; ${next}`, {
      model,
      reason,
      ...(last !== undefined && last.unlogged > 0 && { unlogged: last.unlogged }),
    });
  };
}
