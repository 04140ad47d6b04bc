/**
 * Sessions of a process: one for each graph with its options, shared by all its readers. A session that no current
 * detector uses ends after some time without work; a rehearsal or a request of an earlier configuration starts it
 * again.
 */

import { createHash } from "node:crypto";
import type { Log } from "../../../../base/index.ts";
import { createCrashLog } from "./crash-log.ts";
import type { SessionMetrics, SessionReadings } from "./metrics.ts";
import type { AskServer } from "./served/server-calls.ts";
import { createSession, type Session, type SessionOptions } from "./session.ts";
import type { SessionSpec } from "./session-protocol.ts";
import { type AskSession, isShared, sharedSession } from "./shared.ts";

/**
 * Time that an unused session is kept, in milliseconds, since a configuration that was tested is often applied right
 * after.
 */
const IDLE_MS = 10_000;

export interface Sessions {
  /** Returns the session of a spec. `server` is for a served graph; equal specs must have equivalent servers. */
  readonly of: (spec: SessionSpec, server?: AskServer) => Session;
  /** Keeps only the sessions with these keys. */
  readonly keep: (keys: ReadonlySet<string>) => void;
}

export interface SessionsOptions extends Omit<SessionOptions, "metrics" | "onIdle" | "server" | "logEnded"> {
  readonly idleMs?: number;
  /** Asks another process that has the graphs in memory; if omitted, this process loads them. */
  readonly askOtherProcess?: AskSession | undefined;
  readonly metrics?: (readings: SessionReadings) => SessionMetrics;
  /** Log; omitted if this process runs no sessions. */
  readonly log?: Log | undefined;
}

export const keyOf = (spec: SessionSpec): string =>
  createHash("sha256")
    .update(JSON.stringify([spec.graph, spec.identity, spec.tokenizers]))
    .digest("hex");

export function createSessions(options: SessionsOptions = {}): Sessions {
  const { idleMs = IDLE_MS, metrics: open, askOtherProcess, log, ...rest } = options;
  const logEnded = log && createCrashLog(log, rest.now);
  const sessions = new Map<string, { readonly session: Session; timer: NodeJS.Timeout | undefined }>();
  let keptKeys: ReadonlySet<string> = new Set();
  const metrics = open?.({
    sessions: () => sessions.size,
    waiting: () => Array.from(sessions.values()).reduce((sum, { session }) => sum + session.waiting, 0),
  });

  const endIfUnused = (key: string): void => {
    const one = sessions.get(key);
    if (one === undefined) return;
    clearTimeout(one.timer);
    if (keptKeys.has(key)) return;
    one.timer = setTimeout(() => {
      if (keptKeys.has(key) || !one.session.isIdle) return;
      sessions.delete(key);
      one.session.end();
    }, idleMs).unref();
  };

  return {
    of(spec, server) {
      if (askOtherProcess !== undefined && isShared(spec)) return sharedSession(spec, askOtherProcess);
      const key = keyOf(spec);
      const known = sessions.get(key);
      if (known !== undefined) return known.session;
      const session = createSession(spec, {
        ...rest,
        ...(server !== undefined && { server }),
        ...(metrics !== undefined && { metrics }),
        ...(logEnded !== undefined && { logEnded }),
        onIdle: () => endIfUnused(key),
      });
      sessions.set(key, { session, timer: undefined });
      endIfUnused(key);
      return session;
    },
    keep(keys) {
      keptKeys = keys;
      for (const key of sessions.keys()) endIfUnused(key);
    },
  };
}
