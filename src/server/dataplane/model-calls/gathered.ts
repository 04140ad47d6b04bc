/** Receives an answer without a client: gathers it in memory, up to a limit. */
import { GatewayError } from "../../../base/index.ts";
import type { Account } from "../../memory/index.ts";
import type { Downstream } from "../../upstream/index.ts";
import type { AnswerMeter } from "../metering/index.ts";

export interface GatheredAnswer extends Downstream {
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

export function gatherAnswer(signal: AbortSignal, { maxBytes, meter, account }: GatherOptions): GatheredAnswer {
  let onGone: (() => void) | undefined;
  let isGone = signal.aborted;
  let status = 0;
  let isEnded = false;
  let failure: GatewayError | undefined;
  let isMetered = false;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const abort = (): void => {
    isGone = true;
    onGone?.();
  };
  signal.addEventListener("abort", abort, { once: true });
  return {
    get isGone() {
      return isGone;
    },
    onGone(listener) {
      onGone = listener;
    },
    start(code, _text, headers) {
      status = code;
      isMetered = meter.beginAnswer(code, headers) === "bytes";
    },
    write(chunk) {
      if (isMetered) meter.readBytes(chunk);
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
        abort();
      }
      return true;
    },
    onDrain() {},
    end() {
      isEnded = true;
      meter.endAnswer();
    },
    breakOff(cause) {
      failure ??= new GatewayError(
        "upstream_incomplete",
        "the connection to its provider ended in the middle of the answer",
        { cause },
      );
      meter.breakAnswer();
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
      signal.removeEventListener("abort", abort);
    },
  };
}
