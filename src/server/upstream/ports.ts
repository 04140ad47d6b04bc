/** Defines the interface to the client's side of a forwarded request. */

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query at the origin. */
  readonly path: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

export interface Downstream {
  /** Whether the client has left, so that nothing more can be sent to it. */
  readonly isGone: boolean;
  /** Calls the listener as soon as the client leaves. There is one listener at a time; `undefined` removes it. */
  onGone(listener: (() => void) | undefined): void;
  /** Begins the answer. `headers`: alternating names and values as the upstream sent them, one character per byte. */
  start(status: number, statusText: string, headers: readonly string[]): void;
  /** Writes a chunk. Returns false if the client is slow; `onDrain` reports when to continue. */
  write(chunk: Buffer): boolean;
  onDrain(listener: () => void): void;
  end(): void;
  /** Called when the upstream broke off after `start`. */
  breakOff(cause: Error): void;
}
