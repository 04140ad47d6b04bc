/** Selects members by round robin. Members with a recent failed connect come last. */
import type { PickerFeedback, Route, Server } from "../server.ts";
import type { Member } from "./member.ts";

/** Maximum number of members that an attempt tries. Failing ones are paused, so that later requests rarely try one. */
const MAX_TRIED = 16;

/** Time after which no further server is tried, in milliseconds. A failed connect takes up to two seconds. */
const MAX_TRYING_MS = 10_000;

export class RoundRobin {
  members: readonly Member[] = [];
  #at = 0;

  /** Returns the next member that is not in `tried`. */
  next(tried: ReadonlySet<Server> | undefined): Member | undefined {
    const { members } = this;
    let resting: Member | undefined;
    for (let i = 0; i < members.length; i++) {
      if (this.#at >= members.length) this.#at = 0;
      const member = members[this.#at++] as Member;
      if (tried?.has(member) === true) continue;
      if (!member.isResting()) return member;
      resting ??= member;
    }
    return resting;
  }
}

/** Choice of a picker. */
interface PickerChoice extends Pick<Route, "model" | "feedback"> {
  /** Members that are tried before the others, in this order. */
  readonly preferred: readonly Member[];
  /** Whether no other server is tried. */
  readonly isExclusive: boolean;
}

export const routeOver = (
  roundRobin: RoundRobin,
  noServerReason: () => string,
  now: () => number,
  chosen?: PickerChoice,
): Route => new PoolRoute(roundRobin, noServerReason, now, chosen);

class PoolRoute implements Route {
  readonly kind = "route";
  readonly #roundRobin: RoundRobin;
  readonly #noServerReason: () => string;
  readonly #now: () => number;
  readonly #chosen: PickerChoice | undefined;
  #tried: Set<Server> | undefined;
  #since = 0;

  constructor(roundRobin: RoundRobin, whyNone: () => string, now: () => number, chosen: PickerChoice | undefined) {
    this.#roundRobin = roundRobin;
    this.#noServerReason = whyNone;
    this.#now = now;
    this.#chosen = chosen;
  }

  get noServerReason(): string | undefined {
    return this.#tried === undefined ? this.#noServerReason() : undefined;
  }

  get model(): string | undefined {
    return this.#chosen?.model;
  }

  get feedback(): PickerFeedback | undefined {
    return this.#chosen?.feedback;
  }

  next(failed: Server | undefined): Member | undefined {
    if (failed !== undefined) {
      if (this.#tried === undefined) {
        this.#tried = new Set();
        this.#since = this.#now();
      }
      this.#tried.add(failed);
      if (this.#tried.size >= MAX_TRIED || this.#now() - this.#since > MAX_TRYING_MS) return undefined;
    }
    if (this.#chosen !== undefined) {
      const member = this.#chosen.preferred.find((it) => this.#tried?.has(it) !== true);
      if (member !== undefined || this.#chosen.isExclusive) return member;
    }
    return this.#roundRobin.next(this.#tried);
  }
}
