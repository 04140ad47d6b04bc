/**
 * Owner of opened things, which closes them in reverse order, once, each with a time limit.
 *
 * `await using node = new Lifetime()` closes at the end of the block, even after an exception; a long-lived owner keeps
 * the object and calls `close()`. Node 20 has `Symbol.asyncDispose` but not `AsyncDisposableStack`, so this class exists. A
 * closer that fails or exceeds its limit is reported, and the remaining ones still run.
 */

/**
 * Maximum time of one closer, in milliseconds: enough for a flush to a slow disk, and short enough that a stop ends
 * even if several closers hang.
 */
const DEFAULT_CLOSER_LIMIT_MS = 10_000;

/** Function that closes a thing. `signal` aborts at the limit, after which nothing waits for the closer. */
export type Closer<Thing> = (thing: Thing, signal: AbortSignal) => unknown;

export interface LifetimeOptions {
  /** Limit for closers that have none, in milliseconds. */
  readonly limitMs?: number;
  /** Called for each closer that failed or took too long. Without it, `close()` rejects with all failures at the end. */
  readonly onFailure?: (name: string, error: unknown) => void;
}

export interface OwnOptions {
  /** Limit of this closer in milliseconds, for one that may take longer, such as one that drains requests. */
  readonly limitMs?: number;
}

interface Owned {
  readonly name: string;
  readonly limitMs: number;
  readonly close: (signal: AbortSignal) => unknown;
}

export class Lifetime implements AsyncDisposable {
  readonly #limitMs: number;
  readonly #onFailure: (name: string, error: unknown) => void;
  readonly #owned: Owned[] = [];
  /** Errors thrown by the failure callback, or the failures themselves if there is no callback. */
  readonly #unreported: unknown[] = [];
  #closing: Promise<void> | undefined;

  constructor(options: LifetimeOptions = {}) {
    this.#limitMs = options.limitMs ?? DEFAULT_CLOSER_LIMIT_MS;
    this.#onFailure =
      options.onFailure ??
      ((_name, error) => {
        throw error;
      });
  }

  /**
   * Takes ownership of `thing` and returns it. Once closing has begun, it throws, but first closes `thing` in the
   * background, since nothing else owns it.
   */
  own<Thing>(name: string, thing: Thing, closer: Closer<Thing>, options: OwnOptions = {}): Thing {
    const owned = {
      name,
      limitMs: options.limitMs ?? this.#limitMs,
      close: (signal: AbortSignal) => closer(thing, signal),
    };
    if (this.#closing !== undefined) {
      void this.#closeOne(owned);
      throw new Error(`cannot own ${name}: its owner is closing or closed`);
    }
    this.#owned.push(owned);
    return thing;
  }

  /** Closes everything, newest first. Repeated calls wait for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAll(): Promise<void> {
    for (let owned = this.#owned.pop(); owned !== undefined; owned = this.#owned.pop()) await this.#closeOne(owned);
    if (this.#unreported.length > 0) {
      throw new AggregateError(this.#unreported, `${this.#unreported.length} of the owned objects failed to close`);
    }
  }

  /** Closes one thing. Never rejects. */
  async #closeOne({ name, limitMs, close }: Owned): Promise<void> {
    const limit = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    try {
      await Promise.race([
        // Called within a promise, so that a closer that throws is handled like one that rejects.
        Promise.resolve().then(() => close(limit.signal)),
        new Promise<never>((_resolve, reject) => {
          timer = setTimeout(() => {
            const error = new Error(`closing ${name} took longer than ${limitMs} ms`);
            limit.abort(error);
            reject(error);
          }, limitMs);
        }),
      ]);
    } catch (error) {
      try {
        this.#onFailure(name, error);
      } catch (unreported) {
        this.#unreported.push(unreported);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}
