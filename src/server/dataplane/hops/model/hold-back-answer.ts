/**
 * Holds back an answer until the verdict on its request is known. Some bytes are buffered; after that the upstream must wait,
 * as for a slow client.
 */
import { asRefusal, GatewayError } from "../../../../base/index.ts";
import { BodyBuffer } from "../../../memory/index.ts";
import type { Downstream } from "../../../upstream/index.ts";
import type { Exchange } from "../../exchange.ts";

/**
 * Number of buffered bytes from which on the upstream must wait. Bytes that arrive nevertheless are accepted up to
 * `MAX_HELD_BYTES`.
 */
const MAX_READY_BYTES = 64 << 10;
const MAX_HELD_BYTES = 64 << 20;

type Client = Downstream & Pick<Exchange, "abortWithError" | "answerMemory">;

/**
 * Runs `forward` in parallel with `verdict` and waits for both. Rejects as `forward` does, after the verdict. If the verdict is
 * an error, it becomes the answer and the call of the upstream ends.
 */
export async function forwardDuringVerdict(
  client: Client,
  verdict: Promise<GatewayError | undefined>,
  forward: (downstream: Downstream) => Promise<void>,
): Promise<void> {
  const answer = new HeldBackAnswer(client);
  const judged = verdict.then((error) => {
    if (error === undefined) answer.release();
    else client.abortWithError(error);
  });
  const [forwarded] = await Promise.allSettled([
    forward(answer),
    judged.catch((error) => client.abortWithError(asRefusal(error))),
  ]);
  if (forwarded.status === "rejected") throw forwarded.reason;
}

class HeldBackAnswer implements Downstream {
  readonly #to: Client;
  readonly #held: BodyBuffer;
  #start: (() => void) | undefined;
  #end: (() => void) | undefined;
  #drain: (() => void) | undefined;
  #isPassing = false;
  #isPaused = false;

  constructor(to: Client) {
    this.#to = to;
    this.#held = new BodyBuffer(to.answerMemory, MAX_HELD_BYTES, true);
  }

  get isGone(): boolean {
    return this.#to.isGone;
  }

  onGone(listener: (() => void) | undefined): void {
    this.#to.onGone(listener);
  }

  onDrain(listener: () => void): void {
    this.#drain = listener;
    this.#to.onDrain(listener);
  }

  start(status: number, statusText: string, headers: readonly string[]): void {
    const start = (): void => this.#to.start(status, statusText, headers);
    if (this.#isPassing) start();
    else this.#start = start;
  }

  write(chunk: Buffer): boolean {
    if (this.#isPassing) return this.#to.write(chunk);
    if (this.isGone) return true;
    try {
      if (this.#held.bytes + chunk.length > MAX_HELD_BYTES) {
        throw new GatewayError(
          "overloaded",
          "The answer is too long to be held back until the guardrails have decided about the request.",
        );
      }
      this.#held.add(chunk);
    } catch (error) {
      this.#held.clear();
      this.#to.abortWithError(asRefusal(error));
      return true;
    }
    this.#isPaused = this.#held.bytes >= MAX_READY_BYTES;
    return !this.#isPaused;
  }

  end(): void {
    this.#endWith(() => this.#to.end());
  }

  breakOff(cause: Error): void {
    this.#endWith(() => this.#to.breakOff(cause));
  }

  #endWith(end: () => void): void {
    if (this.#isPassing) end();
    else this.#end = end;
  }

  /** Releases the buffered answer to the client; from then on chunks pass directly. */
  release(): void {
    this.#isPassing = true;
    if (this.isGone) return;
    try {
      this.#start?.();
    } catch (cause) {
      // An answer whose headers cannot be written is invalid.
      const message = "The provider's answer could not be read: one of its headers cannot be forwarded.";
      this.#to.abortWithError(new GatewayError("upstream_invalid", message, { cause }));
      return;
    }
    const { bytes } = this.#held;
    const hasRoom = bytes === 0 || this.#to.write(this.#held.take());
    // Bytes that the client has not received yet stay accounted until the exchange ends.
    if (hasRoom) this.#to.answerMemory.release(bytes);
    if (this.#end !== undefined) this.#end();
    else if (hasRoom && this.#isPaused) this.#drain?.();
  }
}
