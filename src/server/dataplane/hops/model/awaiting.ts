/**
 * An answer that the client is not sent a byte of before the verdict over its request is there. Until then some of it is
 * held, and then the upstream waits, as for a client that is slow.
 */
import { asRefusal, GatewayError } from "../../../../base/index.ts";
import { Gathering } from "../../../memory/index.ts";
import type { Downstream } from "../../../upstream/index.ts";
import type { Exchange } from "../../exchange.ts";

/** Held before the upstream waits; whoever hands over more at once is not cut short below `MAX_HELD_BYTES`. */
const MAX_READY_BYTES = 64 << 10;
const MAX_HELD_BYTES = 64 << 20;

type Client = Downstream & Pick<Exchange, "cutOff" | "holding">;

/**
 * Runs `forward` beside `verdict`, and returns when both are over; rejects as `forward` does, once the verdict is there. An
 * error of the verdict is the answer, whatever the upstream says, and ends the call.
 */
export async function whileJudged(
  client: Client,
  verdict: Promise<GatewayError | undefined>,
  forward: (downstream: Downstream) => Promise<void>,
): Promise<void> {
  const answer = new Awaiting(client);
  const judged = verdict.then((error) => {
    if (error === undefined) answer.pass();
    else client.cutOff(error);
  });
  const [forwarded] = await Promise.allSettled([
    forward(answer),
    judged.catch((error) => client.cutOff(asRefusal(error))),
  ]);
  if (forwarded.status === "rejected") throw forwarded.reason;
}

class Awaiting implements Downstream {
  readonly #to: Client;
  readonly #held: Gathering;
  #start: (() => void) | undefined;
  #end: (() => void) | undefined;
  #drain: (() => void) | undefined;
  #isPassing = false;
  #isPaused = false;

  constructor(to: Client) {
    this.#to = to;
    this.#held = new Gathering(to.holding, MAX_HELD_BYTES, true);
  }

  get gone(): boolean {
    return this.#to.gone;
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
    if (this.gone) return true;
    try {
      if (this.#held.bytes + chunk.length > MAX_HELD_BYTES) {
        throw new GatewayError("overloaded", "The answer is too long to be held until the request is judged.");
      }
      this.#held.add(chunk);
    } catch (error) {
      this.#held.clear();
      this.#to.cutOff(asRefusal(error));
      return true;
    }
    this.#isPaused = this.#held.bytes >= MAX_READY_BYTES;
    return !this.#isPaused;
  }

  end(): void {
    this.#endBy(() => this.#to.end());
  }

  breakOff(cause: Error): void {
    this.#endBy(() => this.#to.breakOff(cause));
  }

  #endBy(end: () => void): void {
    if (this.#isPassing) end();
    else this.#end = end;
  }

  /** The client may have it: what is held now, and what comes as it comes. */
  pass(): void {
    this.#isPassing = true;
    if (this.gone) return;
    try {
      this.#start?.();
    } catch (cause) {
      // It cannot be passed on, so it is none.
      const message = "The provider's answer could not be read: one of its headers cannot be passed on.";
      this.#to.cutOff(new GatewayError("upstream_invalid", message, { cause }));
      return;
    }
    const { bytes } = this.#held;
    const hasRoom = bytes === 0 || this.#to.write(this.#held.take());
    // What the client has not taken yet is counted until it is done with.
    if (hasRoom) this.#to.holding.release(bytes);
    if (this.#end !== undefined) this.#end();
    else if (hasRoom && this.#isPaused) this.#drain?.();
  }
}
