/** Converts errors for their way over a channel. */
import { GatewayError, REFUSALS, type RefusalCode, type RefusalOptions } from "../../../base/index.ts";

/** Error if the channel to the peer is closed. */
export class ChannelClosed extends Error {
  override readonly name = "ChannelClosed";
  constructor() {
    super("the channel between a worker and its node process is closed");
  }
}

/** Returns an error as JSON. For errors other than refusals, only the message is sent. */
export function encodeError(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof GatewayError)) return { message: error instanceof Error ? error.message : String(error) };
  const { code, status, message, param, retryAfterSeconds, details, challenge, by } = error;
  return { code, status, message, param, retryAfterSeconds, details, challenge, by };
}

interface EncodedError extends RefusalOptions {
  readonly code?: RefusalCode;
  readonly status?: number;
  readonly message?: string;
}

/** Returns the error of a fault. `fault`: result of `encodeError`. */
export function decodeError(fault: unknown): Error {
  const { code, status, message = "unknown", ...rest } = (fault ?? {}) as EncodedError;
  if (code === undefined || !(code in REFUSALS)) return new Error(message);
  return new GatewayError(code, message, {
    ...rest,
    ...(status === 403 && REFUSALS[code].status !== 403 && { suspended: "caller" as const }),
  });
}
