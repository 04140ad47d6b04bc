/**
 * Reads usage from a stream of events, as it becomes known. Source: dialects reference, 3.3, 4 and 5.3.
 *
 * compat: `usage` of a chunk has running totals, or comes at the end; media events have it in the same place. The responses
 * route reports it once, in the event that ends the response. messages: `message_start` has the input, and each `message_delta`
 * has the counts that it names. No count decreases, whatever later events report.
 *
 * No text of the answer is kept.
 */
import { type Member, scanObject } from "../json/json-scan.ts";
import { listOf, objectOf, tryParseJson } from "../json/json-values.ts";
import type { Dialect } from "../routes/routes.ts";
import { raiseUsage, type Usage } from "./usage.ts";
import { MAX_USAGE_BYTES, mayHaveUsage, nestedUsage, stringValue, usageValue } from "./usage-member.ts";
import { countsOf, isDoubtful, mergeCounts, type UsageCounts, usageOf } from "./usage-normalize.ts";

export interface StreamUsage {
  /** Reads the `data` of one event. Returns whether the known usage changed. */
  read(data: string): boolean;
  /**
   * Usage known so far. Counts that are all zero are only trusted once final: a bridge begins its stream with zeros, and if
   * the client disconnects then, tokens were used anyway.
   */
  readonly usage: Usage | undefined;
  /** Whether the provider has reported the usage of the whole answer. */
  readonly isFinal: boolean;
  /** Whether the provider has reported an impossible count; see `isDoubtful`. */
  readonly isDoubtful: boolean;
  /** Whether a total was lower than an earlier one. */
  readonly hasShrunk: boolean;
}

/** Usage of one event: counts that override the known ones, and whether they are the last. */
interface UsageReport {
  readonly counts: UsageCounts | undefined;
  readonly isDoubtful: boolean;
  readonly isFinal: boolean;
}

/** Events that end a response of the responses route, finished or not. */
export const RESPONSE_ENDS: ReadonlySet<string> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
  "response.cancelled",
  "response.done",
]);

export function createStreamUsage(dialect: Dialect, routeName: string): StreamUsage {
  return new StreamUsageReader(dialect, routeName);
}

/**
 * Implemented as a class, since there is one instance for each stream: every object literal with getters would get a hidden
 * class of its own.
 */
class StreamUsageReader implements StreamUsage {
  readonly #dialect: Dialect;
  readonly #readReport: (data: Buffer) => UsageReport | undefined;
  #counts: UsageCounts | undefined;
  #usage: Usage | undefined;
  #isFinal = false;
  #isDoubtful = false;
  #hasShrunk = false;

  constructor(dialect: Dialect, routeName: string) {
    this.#dialect = dialect;
    this.#readReport = dialect === "messages" ? readMessages : routeName === "responses" ? readResponses : readChunk;
  }

  read(data: string): boolean {
    if (data === "[DONE]") {
      this.#isFinal ||= this.#usage !== undefined;
      return false;
    }
    if (!mayHaveUsage(data)) return false;
    const report = this.#readReport(Buffer.from(data));
    this.#isDoubtful ||= report?.isDoubtful === true;
    if (report?.counts === undefined) return false;
    const before = this.#usage;
    this.#counts = this.#dialect === "messages" ? mergeCounts(this.#counts, report.counts) : report.counts;
    const usage = usageOf(this.#dialect, this.#counts);
    this.#hasShrunk ||= before !== undefined && isLess(usage, before);
    this.#usage = before === undefined ? usage : raiseUsage(before, usage, report.counts.total !== undefined);
    this.#isFinal = report.isFinal;
    return !isSame(before, this.#usage);
  }

  get usage(): Usage | undefined {
    return this.#usage !== undefined && this.#usage.totalTokens === 0 && !this.#isFinal ? undefined : this.#usage;
  }

  get isFinal(): boolean {
    return this.#isFinal;
  }

  get isDoubtful(): boolean {
    return this.#isDoubtful;
  }

  get hasShrunk(): boolean {
    return this.#hasShrunk;
  }
}

/** Returns whether a total decreased. Parts are not compared: plain input may turn out to have been cached. */
const isLess = (now: Usage, before: Usage): boolean =>
  now.inputTokens < before.inputTokens ||
  now.outputTokens < before.outputTokens ||
  now.totalTokens < before.totalTokens;

/** Returns the counts that the value of `usage` reports. */
const reportOf = (dialect: Dialect, usage: unknown, isFinal: boolean): UsageReport => ({
  counts: countsOf(dialect, usage),
  isDoubtful: isDoubtful(dialect, usage),
  isFinal,
});

/**
 * Reads the usage of a chunk. Usage beside choices may be followed by higher counts; usage without choices, or of a media
 * event, is final.
 */
function readChunk(data: Buffer): UsageReport | undefined {
  const scan = scanObject(data, ["usage", "choices", "x_groq"]);
  if (scan.kind === "problem") return undefined;
  const [usage, choices, groq] = scan.members;
  const isFinal =
    choices === undefined || /^(\[\s*\]|null)$/.test(data.toString("latin1", choices.valueStart, choices.valueEnd));
  const found = usageValue(data, usage) ?? nestedUsage(data, groq).usage ?? usageOfChoices(data, choices);
  return reportOf("compat", found, isFinal);
}

/** Returns the usage within a choice, where some hosts report it. */
function usageOfChoices(data: Buffer, choices: Member | undefined): unknown {
  if (choices === undefined || choices.valueEnd - choices.valueStart > MAX_USAGE_BYTES) return undefined;
  const list = listOf(tryParseJson(data.toString("utf8", choices.valueStart, choices.valueEnd)));
  return list.map((choice) => objectOf(objectOf(choice)?.["usage"])).findLast((usage) => usage !== undefined);
}

/** Reads an event of a response, or a chunk: a provider without the responses route answers with a chat stream. */
function readResponses(data: Buffer): UsageReport | undefined {
  const scan = scanObject(data, ["type", "response"]);
  if (scan.kind === "problem") return undefined;
  const [type, response] = scan.members;
  if (type === undefined) return readChunk(data);
  if (!RESPONSE_ENDS.has(stringValue(data, type) ?? "")) return undefined;
  return reportOf("compat", nestedUsage(data, response).usage, true);
}

function readMessages(data: Buffer): UsageReport | undefined {
  const scan = scanObject(data, ["usage", "message"]);
  if (scan.kind === "problem") return undefined;
  const [delta, message] = scan.members;
  if (delta !== undefined) return reportOf("messages", usageValue(data, delta), true);
  return reportOf("messages", nestedUsage(data, message).usage, false);
}

function isSame(a: Usage | undefined, b: Usage | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.inputTokens === b.inputTokens &&
    a.outputTokens === b.outputTokens &&
    a.totalTokens === b.totalTokens &&
    a.cachedInputTokens === b.cachedInputTokens &&
    a.cacheCreationInputTokens === b.cacheCreationInputTokens &&
    a.reasoningTokens === b.reasoningTokens
  );
}
