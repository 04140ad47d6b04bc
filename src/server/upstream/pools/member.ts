/** One server of a pool: its connections, and how it fares. */

import type { LookupFunction } from "node:net";
import { isIPv6 } from "node:net";
import { systemClock } from "../../../base/index.ts";
import { type HttpClient, openHttpClient } from "../http/index.ts";
import type { Server } from "../server.ts";

/** After a failed connect others are asked first for so long, doubling; then one request tries it. */
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 30_000;

/** Servers of one's own are near: who has not connected by now is down, and another is asked. */
export const MEMBER_CONNECT_MS = 2_000;

export type MemberState = "ok" | "failing" | "idle" | "draining";

/** The last connect that failed. */
export interface ConnectFailure {
  /** As the system, TLS or the client names it: `ECONNREFUSED`. */
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface MemberOptions {
  /** `scheme://host[:port]` of the pool: the name in TLS and `host`. */
  readonly origin: string;
  readonly address: string;
  readonly port: number;
  readonly ca: string | undefined;
  /** Milliseconds; monotonic. */
  readonly now: () => number;
  /** It could not be connected to. */
  readonly onUnreachable: () => void;
}

export class Member implements Server {
  readonly address: string;
  /** `address:port`, IPv6 in brackets: as schedulers call it. */
  readonly endpoint: string;
  readonly lookup: LookupFunction;
  readonly proxies = undefined;
  inFlight = 0;
  attempts = 0;
  /** Connects that failed. */
  failures = 0;
  lastFailure: ConnectFailure | undefined;
  /** Milliseconds since 1970; undefined: the last connect did not fail. */
  failingSince: number | undefined;
  readonly #options: MemberOptions;
  /** Failed connects since the last that did not. */
  #failedInTurn = 0;
  #restsUntil = 0;
  #client: HttpClient | undefined;
  #isDraining = false;

  constructor(options: MemberOptions) {
    const { address, port } = options;
    const isV6 = isIPv6(address);
    this.#options = options;
    this.address = address;
    this.endpoint = isV6 ? `[${address}]:${port}` : `${address}:${port}`;
    this.lookup = (_, { all }, told) => {
      const family = isV6 ? 6 : 4;
      if (all === true) told(null, [{ address, family }]);
      else told(null, address, family);
    };
  }

  get state(): MemberState {
    if (this.#isDraining) return "draining";
    if (this.#failedInTurn > 0) return "failing";
    return this.attempts === 0 ? "idle" : "ok";
  }

  /** True while others are to be asked first. */
  rests(): boolean {
    return this.#restsUntil !== 0 && this.#options.now() < this.#restsUntil;
  }

  get client(): HttpClient {
    const { origin, ca } = this.#options;
    this.#client ??= openHttpClient({ origin, lookup: this.lookup, ca, connectLimitMs: MEMBER_CONNECT_MS });
    return this.#client;
  }

  /** Open connections. */
  get connections(): number {
    return this.#client?.connections ?? 0;
  }

  begun(): void {
    this.inFlight += 1;
    this.attempts += 1;
    // Whoever tries it after a rest tries it alone.
    if (this.#restsUntil !== 0) this.#restsUntil = this.#options.now() + MEMBER_CONNECT_MS;
  }

  connected(): void {
    this.#failedInTurn = 0;
    this.failingSince = undefined;
    this.#restsUntil = 0;
  }

  unreachable(cause: unknown): void {
    this.failures += 1;
    const at = systemClock.now();
    this.lastFailure = { code: codeOf(cause), at };
    this.failingSince ??= at;
    this.#restsUntil =
      this.#options.now() + Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(this.#failedInTurn, 10));
    this.#failedInTurn += 1;
    this.#options.onUnreachable();
  }

  ended(): void {
    this.inFlight -= 1;
  }

  /** What is under way ends in its own time; nothing new comes. */
  drain(): void {
    this.#isDraining = true;
    this.#client?.close();
  }

  async destroy(): Promise<void> {
    await this.#client?.destroy();
  }
}

/** Words of an error may hold what was sent; its code is one of a few. */
const CODE = /^[A-Z][A-Z0-9_]{1,63}$/;
/** Causes of causes that are looked through. */
const MOST_CAUSES = 4;

function codeOf(error: unknown): string {
  let at = error;
  for (let depth = 0; depth < MOST_CAUSES && at instanceof Error; depth++, at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (typeof code === "string" && CODE.test(code)) return code;
  }
  return "unknown";
}
