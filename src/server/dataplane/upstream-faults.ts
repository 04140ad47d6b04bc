/**
 * Logs answers of upstreams that could not be used, so that an operator sees the reason without a client's help. One line is
 * logged per upstream and kind in ten seconds; the next one includes the number of suppressed lines.
 */
import { GatewayError, type Log } from "../../base/index.ts";
import { StreamEndedEarly } from "../core/dialects/index.ts";

interface UpstreamFault {
  /** Name of the upstream: a provider, MCP server or agent. */
  readonly upstream: string;
  readonly route: string;
  readonly request: string;
  /** Kind of the fault: `invalid` or `redirect`. */
  readonly kind: string;
  /** Status of the answer; `null` if there was none. */
  readonly status: number | null;
  /** Reason of the fault. It quotes nothing from the answer. */
  readonly reason: string;
}

const QUIET_MS = 10_000;

interface Quiet {
  until: number;
  leftOut: number;
}

/** Rate limits by log, then by upstream and kind of fault. The map is bounded, because the names come from the configuration. */
const quiet = new WeakMap<object, Map<string, Quiet>>();

export function logUpstreamFault(log: Pick<Log, "warn">, { upstream, ...fault }: UpstreamFault): void {
  let upstreams = quiet.get(log);
  if (upstreams === undefined) {
    upstreams = new Map();
    quiet.set(log, upstreams);
  }
  const now = performance.now();
  const name = `${upstream} ${fault.kind}`;
  const before = upstreams.get(name);
  if (before !== undefined && now < before.until) {
    before.leftOut += 1;
    return;
  }
  upstreams.set(name, { until: now + QUIET_MS, leftOut: 0 });
  log.warn("an answer of an upstream could not be used", { upstream, ...fault, more: before?.leftOut ?? 0 });
}

/**
 * Returns the refusal for an answer that broke off or could not be read, and the reason if its content is at fault. `isShown`:
 * the client has already received a part of the answer.
 */
export function faultOf(
  cause: Error,
  asked: string,
  isShown: boolean,
): { readonly error: GatewayError; readonly reason: string | undefined } {
  const hasNoMeaning = SHOWN.has(cause.name);
  const reason = reasonOf(cause);
  if (isShown && (!hasNoMeaning || cause instanceof StreamEndedEarly)) {
    return { error: brokenOff(cause, asked), reason: hasNoMeaning ? reason : undefined };
  }
  const message = `${asked}'s answer could not be read: ${reason}.`;
  return { error: new GatewayError("upstream_invalid", message, { cause }), reason };
}

export const brokenOff = (cause: Error, asked: string): GatewayError =>
  new GatewayError("upstream_incomplete", `${asked} closed the connection in the middle of its answer.`, { cause });

/** Returns why an answer could not be read. For a system error only the code is shown. */
function reasonOf(cause: Error): string {
  if (SHOWN.has(cause.name) || ("code" in cause && String(cause.code).startsWith("UPSTREAM_"))) return cause.message;
  const code = "code" in cause ? ` (${String(cause.code)})` : "";
  return `the connection ended unexpectedly within it${code}`;
}

/** Names of errors whose messages quote nothing from an answer. */
const SHOWN: ReadonlySet<string> = new Set(["AnswerProblem", "UnreadableAnswer"]);
