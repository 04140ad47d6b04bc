/**
 * Records the only attempt of a WebSocket session in metrics and statistics. The upstream's answer to the handshake decides its
 * outcome; the attempt is pending until the session ends.
 */
import { performance } from "node:perf_hooks";
import { type AttemptSpan, connectionErrorText, type GatewayError, type RefusalCode } from "../../../../base/index.ts";
import { type AttemptResult, type FailureKind, statusTrigger } from "../../../upstream/index.ts";
import type { Ports } from "../../ports.ts";
import type { AttemptFailure } from "../../statistics.ts";

export interface SessionAttempt {
  /** Whether the upstream was dialed. */
  readonly isBegun: boolean;
  /** Milliseconds since the upstream was dialed; 0 before. */
  readonly elapsedMs: number;
  /** Must be called when the upstream is dialed. */
  begin(): void;
  /** Must be called when the upstream has answered the handshake, with 101 or a refusal of its own. */
  recordAnswer(status: number): void;
  /**
   * Must be called when the session fails to open. Returns how the upstream failed, or `undefined` if it did not. `reason` is empty
   * if nothing more is known.
   */
  recordRefusal(refusal: GatewayError): { readonly kind: FailureKind; readonly reason: string } | undefined;
  /** Must be called once at the very end, even if the upstream was never dialed. */
  end(): void;
}

const UPSTREAM_FAULTS: ReadonlyMap<RefusalCode, FailureKind> = new Map([
  ["upstream_unreachable", "connect"],
  ["upstream_timeout", "timeout"],
  ["upstream_invalid", "invalid"],
  ["upstream_redirect", "redirect"],
]);

/** Starts the attempt. `span`: span of the attempt, which ends with it; `undefined` if traces are not exported. */
export function startSessionAttempt(
  provider: string,
  { metrics, statistics }: Ports,
  span: AttemptSpan | undefined,
  requestLabels: Pick<AttemptFailure, "request" | "caller" | "model">,
): SessionAttempt {
  const providerStatistics = statistics?.of(provider);
  let begunAt: number | undefined;
  let result: AttemptResult = "abandoned";
  let answer: number | null = null;
  const recordFailure = (kind: FailureKind, status: number | null, reason = ""): void => {
    result = kind;
    const durationMs = begunAt === undefined ? 0 : performance.now() - begunAt;
    providerStatistics?.recordFailure({
      kind,
      status,
      attempt: 1,
      movedTo: null,
      ...requestLabels,
      durationMs,
      error: undefined,
      reason,
    });
  };
  return {
    get isBegun() {
      return begunAt !== undefined;
    },
    get elapsedMs() {
      return begunAt === undefined ? 0 : performance.now() - begunAt;
    },
    begin() {
      begunAt = performance.now();
      providerStatistics?.beginAttempt(false);
    },
    recordAnswer(status) {
      answer = status;
      const trigger = statusTrigger(status);
      if (trigger !== undefined) return recordFailure(trigger, status);
      result = "answered";
      providerStatistics?.recordAnswer(performance.now() - (begunAt ?? 0));
    },
    recordRefusal({ code, message, cause }) {
      const kind = UPSTREAM_FAULTS.get(code);
      if (kind === undefined || begunAt === undefined) return undefined;
      const isAnswered = kind === "invalid" || kind === "redirect";
      const reason = isAnswered ? message : (connectionErrorText(cause) ?? "");
      recordFailure(kind, null, reason);
      return { kind, reason };
    },
    end() {
      span?.end(result, answer);
      if (begunAt === undefined) return;
      metrics.countAttempt(provider, result);
      providerStatistics?.endAttempt();
    },
  };
}
