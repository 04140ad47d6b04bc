/** Time limit of a detector for one message. Source: design decisions, section 11, "`timeout` of a detector". */
import { DetectorError } from "../../core/guardrails/index.ts";
import type { Member } from "./types.ts";

/** Timeout if neither the document nor the client sets one, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 30_000;

/** Maximum delay of a timer, in milliseconds. */
const MOST_MS = 2 ** 31 - 1;

/**
 * Error for a client's timeout that passed before the detector's own. The request is then always refused, even if
 * `on_error` would let it pass.
 */
export class ClientTimeout extends DetectorError {}

export interface Limit {
  /** Signal that aborts with a `DetectorError` of kind `timeout`, or with the request's own reason. */
  readonly signal: AbortSignal;
  readonly close: () => void;
}

export function openLimit({ timeoutMs }: Member, timeLeftMs: number | undefined, request: AbortSignal): Limit {
  const ending = new AbortController();
  const own = timeoutMs ?? timeLeftMs ?? DEFAULT_TIMEOUT_MS;
  const isClients = timeLeftMs !== undefined && timeLeftMs <= own;
  const ms = Math.max(0, Math.min(isClients ? timeLeftMs : own, MOST_MS));
  const timer = setTimeout(() => {
    const Late = isClients ? ClientTimeout : DetectorError;
    ending.abort(new Late("timeout", `it took longer than ${Math.round(ms)} ms`));
  }, ms);
  const onAbort = (): void => ending.abort(request.reason);
  request.addEventListener("abort", onAbort, { once: true });
  return {
    signal: ending.signal,
    close() {
      clearTimeout(timer);
      request.removeEventListener("abort", onAbort);
    },
  };
}
