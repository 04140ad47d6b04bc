/** Members in turn; who could not be connected to lately comes after the others. */
import type { Server } from "../server.ts";
import type { Member } from "./member.ts";

/** Members that one attempt is made at. Those that fail rest, so that the next request hardly meets one. */
const MOST_TRIED = 16;

/** A failed connect takes as long as two seconds; whoever waits has waited long enough after these. */
const MOST_TRYING_MS = 10_000;

export class Turns {
  members: readonly Member[] = [];
  #at = 0;

  /** The next whose turn it is, of those that `tried` does not hold. */
  take(tried: ReadonlySet<Server> | undefined): Member | undefined {
    const { members } = this;
    let resting: Member | undefined;
    for (let i = 0; i < members.length; i++) {
      if (this.#at >= members.length) this.#at = 0;
      const member = members[this.#at++] as Member;
      if (tried?.has(member) === true) continue;
      if (!member.rests()) return member;
      resting ??= member;
    }
    return resting;
  }
}

/** `preferred`: tried before the others, in this order. `alone`: and nobody else. */
export function routeOver(
  turns: Turns,
  whyNone: () => string,
  now: () => number,
  preferred: readonly Member[] = NOBODY,
  alone = false,
) {
  return new PoolRoute(turns, whyNone, now, preferred, alone);
}

const NOBODY: readonly Member[] = [];

class PoolRoute {
  readonly #turns: Turns;
  readonly #whyNone: () => string;
  readonly #now: () => number;
  readonly #preferred: readonly Member[];
  readonly #alone: boolean;
  #tried: Set<Server> | undefined;
  #since = 0;

  constructor(turns: Turns, whyNone: () => string, now: () => number, preferred: readonly Member[], alone: boolean) {
    this.#turns = turns;
    this.#whyNone = whyNone;
    this.#now = now;
    this.#preferred = preferred;
    this.#alone = alone;
  }

  get whyNone(): string | undefined {
    return this.#tried === undefined ? this.#whyNone() : undefined;
  }

  next(failed: Server | undefined): Member | undefined {
    if (failed !== undefined) {
      if (this.#tried === undefined) {
        this.#tried = new Set();
        this.#since = this.#now();
      }
      this.#tried.add(failed);
      if (this.#tried.size >= MOST_TRIED || this.#now() - this.#since > MOST_TRYING_MS) return undefined;
    }
    if (this.#preferred.length > 0) {
      const chosen = this.#preferred.find((member) => this.#tried?.has(member) !== true);
      if (chosen !== undefined || this.#alone) return chosen;
    }
    return this.#turns.take(this.#tried);
  }
}
