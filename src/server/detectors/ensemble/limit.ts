/** Time limit of a detector for one message. Source: design decisions, section 11, "`timeout` of a detector". */
import { DetectorError } from "../../core/guardrails/index.ts";
import type { Member } from "./types.ts";

/** Timeout if neither the document nor the client sets one, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 30_000;

/** Maximum delay of a timer, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Error for a client's timeout that passed before the detector's own. The request is then always refused, even if
 * `on_error` would let it pass.
 */
export class ClientTimeout extends DetectorError {}

export interface DetectorTimeout {
  /** Signal that aborts with a `DetectorError` of kind `timeout`, or with the request's own reason. */
  readonly signal: AbortSignal;
  readonly close: () => void;
}

export function startTimeout(
  { timeoutMs }: Member,
  timeLeftMs: number | undefined,
  request: AbortSignal,
): DetectorTimeout {
  const controller = new AbortController();
  const detectorTimeoutMs = timeoutMs ?? timeLeftMs ?? DEFAULT_TIMEOUT_MS;
  const isClientTimeout = timeLeftMs !== undefined && timeLeftMs <= detectorTimeoutMs;
  const ms = Math.max(0, Math.min(isClientTimeout ? timeLeftMs : detectorTimeoutMs, MAX_TIMER_MS));
  const timer = setTimeout(() => {
    const Late = isClientTimeout ? ClientTimeout : DetectorError;
    controller.abort(new Late("timeout", `it took longer than ${Math.round(ms)} ms`));
  }, ms);
  const onAbort = (): void => controller.abort(request.reason);
  request.addEventListener("abort", onAbort, { once: true });
  return {
    signal: controller.signal,
    close() {
      clearTimeout(timer);
      request.removeEventListener("abort", onAbort);
    },
  };
}
