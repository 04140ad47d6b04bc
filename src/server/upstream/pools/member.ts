/** One server of a pool: its connections and its health. */

import type { LookupFunction } from "node:net";
import { isIPv6 } from "node:net";
import { systemClock } from "../../../base/index.ts";
import { type HttpClient, openHttpClient } from "../http/index.ts";
import type { Server } from "../server.ts";

/**
 * Time after a failed connect during which other servers are preferred, in milliseconds. It doubles up to the maximum. After it
 * one request tries the server.
 */
const FIRST_REST_MS = 1_000;
const MAX_REST_MS = 30_000;

/**
 * Connect timeout of pool members, in milliseconds. An operator's own servers are near, so a slower one is down and another is
 * tried.
 */
const MEMBER_CONNECT_MS = 2_000;

export type MemberState = "ok" | "failing" | "idle" | "draining";

/** Last failed connect. */
export interface ConnectFailure {
  /** Error code of the system, of TLS or of the client, such as `ECONNREFUSED`. */
  readonly code: string;
  /** Time of the failure, in milliseconds since 1970. */
  readonly at: number;
}

interface MemberOptions {
  /** Origin of the pool in the form `scheme://host[:port]`: the name in TLS and `host`. */
  readonly origin: string;
  readonly address: string;
  readonly port: number;
  readonly ca: string | undefined;
  /** Returns the monotonic time in milliseconds. */
  readonly now: () => number;
  /** Called after a failed connect. */
  readonly onUnreachable: () => void;
}

export class Member implements Server {
  readonly address: string;
  /** Endpoint in the form `address:port`, IPv6 in brackets, as schedulers write it. */
  readonly endpoint: string;
  readonly lookup: LookupFunction;
  readonly proxies = undefined;
  inFlight = 0;
  attempts = 0;
  /** Number of failed connects. */
  failures = 0;
  lastFailure: ConnectFailure | undefined;
  /** Time since which connects fail, in milliseconds since 1970; `undefined` if the last connect succeeded. */
  failingSince: number | undefined;
  readonly #options: MemberOptions;
  /** Number of failed connects since the last successful one. */
  #consecutiveFailures = 0;
  #restingUntil = 0;
  #client: HttpClient | undefined;
  #isDraining = false;

  constructor(options: MemberOptions) {
    const { address, port } = options;
    const isV6 = isIPv6(address);
    this.#options = options;
    this.address = address;
    this.endpoint = isV6 ? `[${address}]:${port}` : `${address}:${port}`;
    this.lookup = (_, { all }, callback) => {
      const family = isV6 ? 6 : 4;
      if (all === true) callback(null, [{ address, family }]);
      else callback(null, address, family);
    };
  }

  get state(): MemberState {
    if (this.#isDraining) return "draining";
    if (this.#consecutiveFailures > 0) return "failing";
    return this.attempts === 0 ? "idle" : "ok";
  }

  /** Returns whether other servers are preferred for now. */
  isResting(): boolean {
    return this.#restingUntil !== 0 && this.#options.now() < this.#restingUntil;
  }

  get client(): HttpClient {
    const { origin, ca } = this.#options;
    this.#client ??= openHttpClient({ origin, lookup: this.lookup, ca, connectLimitMs: MEMBER_CONNECT_MS });
    return this.#client;
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#client?.connections ?? 0;
  }

  beginAttempt(): void {
    this.inFlight += 1;
    this.attempts += 1;
    // Only one request tries the server after the pause.
    if (this.#restingUntil !== 0) this.#restingUntil = this.#options.now() + MEMBER_CONNECT_MS;
  }

  recordConnect(): void {
    this.#consecutiveFailures = 0;
    this.failingSince = undefined;
    this.#restingUntil = 0;
  }

  recordConnectFailure(cause: unknown): void {
    this.failures += 1;
    const at = systemClock.now();
    this.lastFailure = { code: codeOf(cause), at };
    this.failingSince ??= at;
    this.#restingUntil =
      this.#options.now() + Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** Math.min(this.#consecutiveFailures, 10));
    this.#consecutiveFailures += 1;
    this.#options.onUnreachable();
  }

  endAttempt(): void {
    this.inFlight -= 1;
  }

  /** Accepts no new requests. Those in progress finish. */
  drain(): void {
    this.#isDraining = true;
    this.#client?.close();
  }

  async destroy(): Promise<void> {
    await this.#client?.destroy();
  }
}

/** Pattern of an error code. Only codes are shown, because an error's message may contain parts of the request. */
const CODE = /^[A-Z][A-Z0-9_]{1,63}$/;
/** Maximum depth of nested causes. */
const MAX_CAUSES = 4;

function codeOf(error: unknown): string {
  let at = error;
  for (let depth = 0; depth < MAX_CAUSES && at instanceof Error; depth++, at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (typeof code === "string" && CODE.test(code)) return code;
  }
  return "unknown";
}
