/**
 * Chunks of a compat stream as events of a messages stream. Source: dialects reference, 3.3 (with its deviations) and 9.2.
 *
 * Only the first choice is answered. Why the answer ended and what it used is remembered until the provider says that it
 * is over, since usage comes last or on any chunk; a stream that ends without either saying so ended too early.
 */
import { raiseUsage, type Usage } from "../../usage.ts";
import { listOf, objectOf, parsedJson, type Values } from "../../values.ts";
import { translateErrorEvent } from "../errors.ts";
import { shownModel, shownTool } from "../shown-names.ts";
import { AnswerProblem, type AnswerStamp, type AnswerTerms, type StreamTranslation } from "../types.ts";
import { callsOf, messageId, reasoningOf, refusalOf, textOf } from "./answer-parts.ts";
import { ArrivingCalls } from "./arriving-calls.ts";
import { checkFinish, endingOf, tierShown, usageIn, usageShown } from "./ending.ts";
import { COMMENT, MESSAGE_STOP, messageDelta, messageStart, PING } from "./frames.ts";
import { MAX_HELD, OpenBlocks } from "./open-blocks.ts";

export function openEventStream(terms: AnswerTerms, stamp: AnswerStamp): StreamTranslation {
  return new EventStream(terms, stamp);
}

const DONE = "[DONE]";

class EventStream implements StreamTranslation {
  readonly #terms: AnswerTerms;
  readonly #stamp: AnswerStamp;
  readonly #blocks: OpenBlocks;
  readonly #calls = new ArrivingCalls();
  #state: StreamTranslation["state"] = "open";
  #hasStarted = false;
  /** Empty until the provider gives a reason. */
  #finishReason = "";
  #refusal = "";
  #usage: Usage | undefined;

  constructor(terms: AnswerTerms, stamp: AnswerStamp) {
    this.#terms = terms;
    this.#stamp = stamp;
    this.#blocks = new OpenBlocks({ stamp, nameOf: (name) => shownTool(terms, name) });
  }

  get state(): StreamTranslation["state"] {
    return this.#state;
  }

  event(name: string, data: string): string {
    if (this.#state !== "open") return "";
    const text = data.trim();
    if (text === "") return "";
    if (text === DONE) return this.#finish();
    const value = parsedJson(text);
    if (name === "error" || tellsError(value)) return this.#fail(value);
    const chunk = objectOf(value);
    if (chunk === undefined) throw new AnswerProblem("an event of the stream is not a JSON object");
    return this.#chunk(chunk);
  }

  keepAlive(): string {
    if (this.#state !== "open") return "";
    return this.#hasStarted ? PING : COMMENT;
  }

  end(): string {
    if (this.#state !== "open") return "";
    if (this.#finishReason === "") throw new AnswerProblem("the stream ended before its answer did");
    return this.#finish();
  }

  #chunk(chunk: Values): string {
    const { choices = null, usage = null } = chunk;
    if (choices !== null && !Array.isArray(choices)) throw new AnswerProblem("choices is not an array");
    // An event that tells nothing, as a sign of life.
    if (choices === null && usage === null) return this.keepAlive();
    let text = this.#start(chunk);
    this.#usage = raised(this.#usage, usageIn(usage));
    for (const choice of choices ?? []) text += this.#choice(objectOf(choice));
    return text;
  }

  #start({ id, model, service_tier: tier }: Values): string {
    if (this.#hasStarted) return "";
    this.#hasStarted = true;
    const shown = shownModel(this.#terms, model);
    const beginning = { id: messageId(this.#stamp, id), model: shown, serviceTier: tierShown(tier) };
    return messageStart(beginning, this.#terms.inputEstimate());
  }

  #choice(choice: Values | undefined): string {
    if (choice === undefined) throw new AnswerProblem("a choice is not an object");
    const { index, delta = null, finish_reason: finishReason } = choice;
    if (typeof (index ?? 0) !== "number") throw new AnswerProblem("the index of a choice is not a number");
    if ((index ?? 0) !== 0) return "";
    checkFinish(finishReason);
    if (typeof finishReason === "string" && finishReason !== "") this.#finishReason = finishReason;
    if (delta === null) return "";
    const said = objectOf(delta);
    if (said === undefined) throw new AnswerProblem("a delta is not an object");
    return this.#delta(said);
  }

  #delta(delta: Values): string {
    let text = "";
    if (this.#terms.showsThinking) for (const piece of reasoningOf(delta)) text += this.#blocks.thinking(piece);
    const content = textOf(delta);
    if (content !== "") text += this.#blocks.text("text", content);
    const refusal = refusalOf(delta);
    if (refusal !== "") {
      this.#refusal += refusal;
      if (this.#refusal.length > MAX_HELD) throw new AnswerProblem("the refusal is too long");
      text += this.#blocks.text("refusal", refusal);
    }
    for (const part of callsOf(delta)) text += this.#blocks.call(this.#calls.of(part), part.arguments);
    return text;
  }

  #finish(): string {
    if (!this.#hasStarted) throw new AnswerProblem("the stream ended before its answer began");
    const text = this.#blocks.close();
    const { arguments: came } = this.#blocks;
    const ending = endingOf({ finishReason: this.#finishReason, arguments: came, refusal: this.#refusal });
    this.#state = "ended";
    return text + messageDelta(ending, usageShown(this.#usage)) + MESSAGE_STOP;
  }

  #fail(event: unknown): string {
    this.#state = "failed";
    return translateErrorEvent("messages", event, this.#stamp.seed);
  }
}

/** As metering reads it: no count goes down again. */
function raised(before: Usage | undefined, now: Usage | undefined): Usage | undefined {
  return before === undefined || now === undefined ? (now ?? before) : raiseUsage(before, now, true);
}

/**
 * In an object, or in a list of one. Some providers carry `"error": null` on every chunk, and some send the error itself, as
 * an object of that name, and `[DONE]` after it.
 */
function tellsError(value: unknown): boolean {
  const { error, object }: Values = objectOf(value) ?? objectOf(listOf(value)[0]) ?? {};
  if (object === "error") return true;
  return typeof error === "object" ? error !== null : typeof error === "string" && error !== "";
}
