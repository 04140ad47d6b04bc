/** Counts the bytes that one request holds, so that all of them are released together, whatever the outcome. */
import type { Admission } from "./admission.ts";
import { Region } from "./region.ts";

/** Account that counts held bytes. `hold` throws `overloaded` if the limit is reached. */
export type Account = Pick<Admission, "hold" | "release">;

const NONE: readonly Region[] = [];

/** Bytes held by one request. It counts nothing once it is closed. */
export class RequestMemory implements Account {
  readonly #account: Account;
  #bytes = 0;
  #regions: readonly Region[] = NONE;
  #isClosed = false;

  constructor(account: Account) {
    this.#account = account;
  }

  hold(bytes: number): void {
    if (this.#isClosed) return;
    this.#account.hold(bytes);
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    if (this.#isClosed) return;
    this.#bytes -= bytes;
    this.#account.release(bytes);
  }

  /** Holds `bytes` more, or releases them if the number is negative. */
  change(bytes: number): void {
    if (bytes > 0) this.hold(bytes);
    else if (bytes < 0) this.release(-bytes);
  }

  /**
   * Returns a memory region that lives until this is closed. The caller counts the bytes that it puts into it. Throws
   * `overloaded`.
   */
  region(maxBytes: number): Region {
    const region = new Region(maxBytes);
    if (this.#isClosed) region.release();
    this.#regions = [...this.#regions, region];
    return region;
  }

  /** Releases everything that is held. May be called more than once. */
  close(): void {
    this.#isClosed = true;
    this.#account.release(this.#bytes);
    this.#bytes = 0;
    for (const region of this.#regions) region.release();
    this.#regions = NONE;
  }
}
