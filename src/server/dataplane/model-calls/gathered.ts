/** Receives an answer without a client: gathers it in memory, up to a limit. */
import { GatewayError } from "../../../base/index.ts";
import type { Account } from "../../memory/index.ts";
import type { Downstream } from "../../upstream/index.ts";
import type { AnswerMeter } from "../metering/index.ts";

export interface Gathered extends Downstream {
  /** Returns the answer after all attempts. Throws the refusal if no complete answer came. */
  readonly answer: () => Buffer;
  readonly close: () => void;
}

interface GatherOptions {
  readonly maxBytes: number;
  readonly meter: AnswerMeter;
  /** Memory account of the received bytes. The caller releases them. */
  readonly account: Account;
}

export function gather(signal: AbortSignal, { maxBytes, meter, account }: GatherOptions): Gathered {
  let onGone: (() => void) | undefined;
  let isOver = signal.aborted;
  let status = 0;
  let isEnded = false;
  let failure: GatewayError | undefined;
  let isShown = false;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const leave = (): void => {
    isOver = true;
    onGone?.();
  };
  signal.addEventListener("abort", leave, { once: true });
  return {
    get isGone() {
      return isOver;
    },
    onGone(listener) {
      onGone = listener;
    },
    start(code, _text, headers) {
      status = code;
      isShown = meter.started(code, headers) === "bytes";
    },
    write(chunk) {
      if (isShown) meter.bytes(chunk);
      bytes += chunk.length;
      try {
        if (bytes > maxBytes) {
          throw new GatewayError("upstream_incomplete", `its provider's answer is longer than ${maxBytes} bytes`);
        }
        account.hold(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        failure = error;
        leave();
      }
      return true;
    },
    onDrain() {},
    end() {
      isEnded = true;
      meter.ended();
    },
    breakOff(cause) {
      failure ??= new GatewayError(
        "upstream_incomplete",
        "the connection to its provider ended in the middle of the answer",
        { cause },
      );
      meter.broken();
    },
    answer() {
      signal.throwIfAborted();
      if (failure !== undefined) throw failure;
      if (!isEnded) throw new GatewayError("upstream_incomplete", "its provider did not answer");
      // The body is left out, because a provider's error may repeat parts of the request.
      if (status !== 200) throw new GatewayError("upstream_unreachable", `its provider answered ${status}`);
      return Buffer.concat(chunks, bytes);
    },
    close() {
      signal.removeEventListener("abort", leave);
    },
  };
}
