/**
 * What a request used, read from its answer as it passes, and charged once. Source: design decisions, section 6;
 * dialects reference, sections 3 and 5; lessons P11 to P16.
 */
import type { Dialect, Usage } from "../../core/dialects/index.ts";
import type { AttemptResult, Provider } from "../../upstream/index.ts";

/** What is shown of an answer's body. */
export type Shown = "events" | "bytes" | "nothing";

/** Fed by the answer of the attempt under way, before the client sees it; changes nothing of it. */
export interface AnswerMeter {
  /** Of an answer that is going to the client. Says whether the body is to be shown, and how. */
  started(status: number, headers: readonly string[]): Shown;
  /** The data of one event of an event stream. */
  event(data: string): void;
  /** So many events went by that tell no usage, and were not looked into. */
  passed(events: number): void;
  bytes(chunk: Buffer): void;
  /** The answer is complete. */
  ended(): void;
  /** The upstream broke off within it. */
  broken(): void;
}

/** One for each request that is metered. */
export interface Meter extends AnswerMeter {
  /** `model`: as this provider is sent it; empty on a modelless route. `dialect`: of its answer. */
  attempting(provider: Pick<Provider, "name">, model: string, dialect: Dialect): void;
  /** Told by the attempt under way so far. */
  readonly usage: Usage | undefined;
  /**
   * The attempt is over. `abandoned`: the client left while it was under way. `hasTimedOut`: the gateway's own timeout
   * ended it once the request was out. `hasErred`: its answer of status 200 was an error.
   */
  attempted(result: AttemptResult, how?: { readonly hasTimedOut: boolean; readonly hasErred: boolean }): void;
  /** Once, at the very end, whatever happened: charges what is to be charged. */
  close(): void;
}

/** One for each WebSocket session that is metered. */
export interface SessionMeter {
  /** One message of the upstream. */
  message(data: Buffer, isBinary: boolean): void;
  /** The session is over: what was said of a response whose usage was not told is counted too. */
  close(): void;
}

/** Who used it, and of which model it was asked. */
export interface UsedOf {
  readonly provider: string;
  readonly model: string;
}

/** For whoever keeps an account of what a request used, of each of its attempts. */
export interface Account {
  /** Usage that a provider told. */
  counted(usage: Usage, of: UsedOf): void;
  /** A stream, or a response within a session, ended before it had told all that it used. */
  unmeasured(of: UsedOf): void;
  /** Cost units that were charged. */
  spent(units: number, of: UsedOf): void;
}
