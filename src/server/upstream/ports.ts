/** Interface to the client's side of a forwarded request. */

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query at the origin. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

export interface Downstream {
  /** True once the client has left; nothing more can be sent to it. */
  readonly gone: boolean;
  /** Called at once when the client leaves. One listener at a time; undefined takes it off. */
  onGone(listener: (() => void) | undefined): void;
  /** The answer begins. `headers`: names and values in turn, as the upstream sent them, a character a byte. */
  start(status: number, statusText: string, headers: readonly string[]): void;
  /** Returns false if the client is slow; `onDrain` reports when to continue. */
  write(chunk: Buffer): boolean;
  onDrain(listener: () => void): void;
  end(): void;
  /** The upstream broke off after `start`. */
  breakOff(cause: Error): void;
}
