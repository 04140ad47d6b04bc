/**
 * Logs upstreams that could not be reached and answers that could not be used, so that an operator sees the reason without a
 * client's help. One line is logged per upstream and kind in ten seconds; the next one includes the number of suppressed lines.
 */
import { GatewayError, type Log } from "../../base/index.ts";
import { StreamEndedEarly } from "../core/dialects/index.ts";

interface UpstreamFault {
  /** Name of the upstream: a provider, MCP server or agent. */
  readonly upstream: string;
  readonly route: string;
  readonly request: string;
  /** Kind of the fault: `connect`, `invalid` or `redirect`. */
  readonly kind: string;
  /** Status of the answer; `null` if there was none. */
  readonly status: number | null;
  /** Reason of the fault. It quotes nothing from the answer. */
  readonly reason: string;
}

const LOG_INTERVAL_MS = 10_000;

interface LogThrottle {
  until: number;
  suppressedCount: number;
}

/** Rate limits by log, then by upstream and kind of fault. The map is bounded, because the names come from the configuration. */
const throttles = new WeakMap<object, Map<string, LogThrottle>>();

export function logUpstreamFault(log: Pick<Log, "warn">, { upstream, ...fault }: UpstreamFault): void {
  let upstreams = throttles.get(log);
  if (upstreams === undefined) {
    upstreams = new Map();
    throttles.set(log, upstreams);
  }
  const now = performance.now();
  const name = `${upstream} ${fault.kind}`;
  const before = upstreams.get(name);
  if (before !== undefined && now < before.until) {
    before.suppressedCount += 1;
    return;
  }
  upstreams.set(name, { until: now + LOG_INTERVAL_MS, suppressedCount: 0 });
  const message =
    fault.kind === "connect" ? "an upstream could not be reached" : "an answer of an upstream could not be used";
  log.warn(message, { upstream, ...fault, more: before?.suppressedCount ?? 0 });
}

/**
 * Returns the refusal for an answer that broke off or could not be read, and the reason if its content is at fault. `hasBegun`:
 * the client has already received a part of the answer.
 */
export function faultOf(
  cause: Error,
  upstreamName: string,
  hasBegun: boolean,
): { readonly error: GatewayError; readonly reason: string | undefined } {
  const isContentAtFault = QUOTABLE_ERRORS.has(cause.name);
  const reason = reasonOf(cause);
  if (hasBegun && (!isContentAtFault || cause instanceof StreamEndedEarly)) {
    return { error: incompleteAnswerError(cause, upstreamName), reason: isContentAtFault ? reason : undefined };
  }
  const message = `${upstreamName}'s answer could not be read: ${reason}.`;
  return { error: new GatewayError("upstream_invalid", message, { cause }), reason };
}

export const incompleteAnswerError = (cause: Error, upstreamName: string): GatewayError =>
  new GatewayError("upstream_incomplete", `${upstreamName} closed the connection in the middle of its answer.`, {
    cause,
  });

/** Returns why an answer could not be read. For a system error only the code is shown. */
function reasonOf(cause: Error): string {
  if (QUOTABLE_ERRORS.has(cause.name) || ("code" in cause && String(cause.code).startsWith("UPSTREAM_")))
    return cause.message;
  const code = "code" in cause ? ` (${String(cause.code)})` : "";
  return `the connection ended unexpectedly within it${code}`;
}

/** Names of errors whose messages quote nothing from an answer. */
const QUOTABLE_ERRORS: ReadonlySet<string> = new Set(["AnswerProblem", "UnreadableAnswer"]);
