/** Interface to the client's side of a forwarded request. */

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query at the origin. */
  readonly path: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

export interface Downstream {
  /** True once the client has left; nothing more can be sent to it. */
  readonly gone: boolean;
  /** Calls the listener immediately when the client leaves. One listener at a time; `undefined` removes it. */
  onGone(listener: (() => void) | undefined): void;
  /** The answer begins. `headers` are alternating names and values, as the upstream sent them, one character per byte. */
  start(status: number, statusText: string, headers: readonly string[]): void;
  /** Returns false if the client is slow; `onDrain` reports when to continue. */
  write(chunk: Buffer): boolean;
  onDrain(listener: () => void): void;
  end(): void;
  /** The upstream broke off after `start`. */
  breakOff(cause: Error): void;
}
