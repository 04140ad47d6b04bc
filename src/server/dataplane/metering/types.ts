/**
 * Defines the types of metering: usage is read from an answer as it passes and charged once. Source: design decisions, section 6;
 * dialects reference, sections 3 and 5; lessons P11 to P16.
 */
import type { Dialect, Usage } from "../../core/dialects/index.ts";
import type { AttemptResult, Provider } from "../../upstream/index.ts";

/** Parts of an answer's body that the meter reads. */
export type MeteredParts = "events" | "bytes" | "nothing";

/** Reader of the current attempt's answer. It reads the answer before the client does, and changes nothing. */
export interface AnswerMeter {
  /** Must be called when an answer to the client begins. Returns which parts of its body the meter must read. */
  beginAnswer(status: number, headers: readonly string[]): MeteredParts;
  /** Reads the data of one event of an event stream. */
  readEvent(data: string): void;
  /** Counts events that report no usage and were not parsed. */
  countEvents(events: number): void;
  readBytes(chunk: Buffer): void;
  /** Must be called when the answer is complete. */
  endAnswer(): void;
  /** Must be called when the upstream broke off its answer. */
  breakAnswer(): void;
}

/** Meter of one request. */
export interface Meter extends AnswerMeter {
  /**
   * Begins an attempt. `model`: model name sent to this provider; empty on a route without a model. `dialect`: dialect of the
   * answer.
   */
  beginAttempt(provider: Pick<Provider, "name">, model: string, dialect: Dialect): void;
  /** Usage that the current attempt has reported so far. */
  readonly usage: Usage | undefined;
  /**
   * Ends the attempt. `abandoned`: the client left during it. `hasTimedOut`: the gateway's own timeout ended it after the request
   * was sent. `hasEmbeddedError`: its answer has status 200 but is an error.
   */
  endAttempt(result: AttemptResult, how?: { readonly hasTimedOut: boolean; readonly hasEmbeddedError: boolean }): void;
  /** Charges the request. Must be called once, at the very end, whatever the outcome. */
  close(): void;
}

/** Meter of one WebSocket session. */
export interface SessionMeter {
  /** Reads one message of the upstream. */
  readMessage(data: Buffer, isBinary: boolean): void;
  /** Ends the session. Also counts the known part of a response whose usage was not reported. */
  close(): void;
}

/** Provider and model that used tokens. */
export interface UsageSource {
  readonly provider: string;
  readonly model: string;
}

/** Receiver of the usage of each attempt. */
export interface UsageAccount {
  /** Adds usage that a provider reported. */
  addUsage(usage: Usage, of: UsageSource): void;
  /** Counts a stream, or a response within a session, that ended before it had reported all of its usage. */
  countUnmeasured(of: UsageSource): void;
  /** Adds cost units that were charged. */
  addUnits(units: number, of: UsageSource): void;
}
