/** Bytes that one request holds, so that all of them are released at once, whatever happens. */
import type { Admission } from "./admission.ts";
import { Region } from "./region.ts";

/** Account that counts held bytes. `hold` throws `overloaded` if no room is left. */
export type Account = Pick<Admission, "hold" | "release">;

const NONE: readonly Region[] = [];

/** Bytes held by one request. Counts nothing once it is closed. */
export class Holding implements Account {
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

  /** Holds so many more, or fewer where it is negative. */
  change(bytes: number): void {
    if (bytes > 0) this.hold(bytes);
    else if (bytes < 0) this.release(-bytes);
  }

  /** Memory for as long as this is open; what is put into it is to be counted by who does. Throws `overloaded`. */
  region(mostBytes: number): Region {
    const region = new Region(mostBytes);
    if (this.#isClosed) region.leave();
    this.#regions = [...this.#regions, region];
    return region;
  }

  /** Gives back all that is held; may be called more than once. */
  close(): void {
    this.#isClosed = true;
    this.#account.release(this.#bytes);
    this.#bytes = 0;
    for (const region of this.#regions) region.leave();
    this.#regions = NONE;
  }
}
