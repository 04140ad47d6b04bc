/** Base class for stages that observe an answer, or change a part of it, as it passes. */
import type { Downstream } from "./ports.ts";

export class PassThrough implements Downstream {
  readonly #to: Downstream;

  constructor(to: Downstream) {
    this.#to = to;
  }

  get isGone(): boolean {
    return this.#to.isGone;
  }

  onGone(listener: (() => void) | undefined): void {
    this.#to.onGone(listener);
  }

  onDrain(listener: () => void): void {
    this.#to.onDrain(listener);
  }

  start(status: number, statusText: string, headers: readonly string[]): void {
    this.#to.start(status, statusText, headers);
  }

  write(chunk: Buffer): boolean {
    return this.#to.write(chunk);
  }

  end(): void {
    this.#to.end();
  }

  breakOff(cause: Error): void {
    this.#to.breakOff(cause);
  }
}
