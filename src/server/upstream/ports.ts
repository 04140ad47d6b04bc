/** What forwarding needs of others: the side that faces the client. */

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query at the origin. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

export interface Downstream {
  /** True once the client has left; nothing more can reach it. */
  readonly gone: boolean;
  /** Called at once when the client leaves. One listener at a time; undefined takes it off. */
  onGone(listener: (() => void) | undefined): void;
  /** The answer begins. `headers`: name and value buffers in turn, as the upstream sent them. */
  start(status: number, statusText: string, headers: readonly Buffer[]): void;
  /** False: the client is slow; `onDrain` tells when to go on. */
  write(chunk: Buffer): boolean;
  onDrain(listener: () => void): void;
  end(): void;
  /** The upstream broke off after `start`. */
  breakOff(cause: Error): void;
}
