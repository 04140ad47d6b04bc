/**
 * Log lines about answers of upstreams that could not be used, so that an operator reads the reason without a client's help.
 * At most one line per upstream and kind in ten seconds; the next one says how many were left out.
 */
import { GatewayError, type Log } from "../../base/index.ts";
import { EarlyEnd } from "../core/dialects/index.ts";

export interface UpstreamFault {
  /** Provider, server or agent. */
  readonly upstream: string;
  readonly route: string;
  readonly request: string;
  /** `invalid` or `redirect`. */
  readonly kind: string;
  /** Null where there was no status. */
  readonly status: number | null;
  /** Quotes nothing of the answer. */
  readonly reason: string;
}

const QUIET_MS = 10_000;

interface Quiet {
  until: number;
  leftOut: number;
}

/** By log, then by upstream and kind: names of the configuration, which bounds them. */
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
  log.warn("the answer of an upstream could not be used", { upstream, ...fault, more: before?.leftOut ?? 0 });
}

/**
 * The refusal for an answer that broke off or could not be read, and the reason where its content is to blame. `isShown`: the
 * client has a part of it.
 */
export function faultOf(
  cause: Error,
  asked: string,
  isShown: boolean,
): { readonly error: GatewayError; readonly reason: string | undefined } {
  const hasNoMeaning = SHOWN.has(cause.name);
  const reason = reasonOf(cause);
  if (isShown && (!hasNoMeaning || cause instanceof EarlyEnd)) {
    return { error: brokenOff(cause, asked), reason: hasNoMeaning ? reason : undefined };
  }
  const message = `${asked}'s answer could not be read: ${reason}.`;
  return { error: new GatewayError("upstream_invalid", message, { cause }), reason };
}

export const brokenOff = (cause: Error, asked: string): GatewayError =>
  new GatewayError("upstream_incomplete", `${asked} broke off within its answer.`, { cause });

/** Why an answer could not be read, from the error that told it; what the system throws is told by its code alone. */
function reasonOf(cause: Error): string {
  if (SHOWN.has(cause.name) || ("code" in cause && String(cause.code).startsWith("UPSTREAM_"))) return cause.message;
  const code = "code" in cause ? ` (${String(cause.code)})` : "";
  return `the connection broke off within it${code}`;
}

/** Names of errors whose messages quote nothing of an answer. */
const SHOWN: ReadonlySet<string> = new Set(["AnswerProblem", "UnreadableAnswer"]);
