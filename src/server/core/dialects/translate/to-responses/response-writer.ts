/**
 * Writes an answer as a response: as the events of a stream, or as the final object alone, by the same steps. Source: responses
 * reference, 5 to 7.
 *
 * Invariants: one item is open at a time, and a new item ends it; indexes and sequence numbers have no gaps; the ids of an item
 * are the same in all its events; the last event repeats exactly what was sent before.
 * Only the last item can have been cut
 * off, which is known only at the end, so an item stays open until then.
 */
import type { Usage } from "../../usage/usage.ts";
import type { ContentImage } from "../chat-answers/answer-content.ts";
import type { ClientTool, ResponsesTerms } from "../responses-terms.ts";
import { shownModel } from "../shown-names.ts";
import type { AnswerStamp, SealedBlock } from "../types.ts";
import { createCallIds } from "./call-ids.ts";
import { EventLog } from "./event-log.ts";
import {
  type Annotation,
  CallItem,
  type Item,
  type ItemPosition,
  type ItemStatus,
  MessageItem,
  ReasoningItem,
  writeImageItem,
} from "./item-writers.ts";
import { failureFrames } from "./response-failure.ts";
import { type Failure, type IncompleteReason, type Progress, ResponseObject } from "./response-object.ts";

/** Approximate memory of an item in addition to its text, in UTF-16 units. */
const ITEM_COST = 512;

const NO_LOGPROBS: readonly string[] = [];

/** Parts of the open reasoning that are sealed together with its text. */
interface SealedParts {
  signature: string;
  redacted: string | undefined;
  details: readonly unknown[];
}

export class ResponseWriter {
  readonly #terms: ResponsesTerms;
  readonly #stamp: AnswerStamp;
  readonly #events: EventLog;
  readonly #callId: (id: string, position: number) => string;
  /** JSON texts of the finished items. */
  readonly #output: string[] = [];
  #response: ResponseObject | undefined;
  #open: Item | undefined;
  /** Latest finished message, and its position in the output. */
  #lastMessage: { readonly item: MessageItem; readonly position: number } | undefined;
  /** Whether the output lacks annotations of the latest finished message. */
  #lacksAnnotations = false;
  #sealedParts: SealedParts = noSealedParts();
  #itemCount = 0;
  /** Whether there was a message or a call. Some clients endlessly repeat a request that is answered without either. */
  #hasAnswered = false;
  /** Final response as JSON text. */
  #last = "";

  constructor(terms: ResponsesTerms, stamp: AnswerStamp, isStream: boolean) {
    this.#terms = terms;
    this.#stamp = stamp;
    this.#events = new EventLog(isStream);
    this.#callId = createCallIds(stamp, terms.takenCallIds);
  }

  /** Returns the frames written since the last call. */
  takeFrames(): string {
    return this.#events.takeFrames();
  }

  /** Final response as JSON text. */
  get responseText(): string {
    return this.#last;
  }

  get isReasoning(): boolean {
    return this.#open?.kind === "reasoning";
  }

  /** Begins the response. `model` and `serviceTier` come from the provider, the latter in the compat dialect's values. */
  begin(model?: unknown, serviceTier = "default"): void {
    if (this.#response !== undefined) return;
    const { created: createdAt, seed } = this.#stamp;
    const head = { id: `resp_${seed}`, createdAt, model: shownModel(this.#terms, model), serviceTier };
    this.#response = new ResponseObject(head, this.#terms.echo);
    const response = `"response":${this.#response.text({ status: "in_progress" }, [], undefined)},`;
    this.#events.write("response.created", response);
    this.#events.write("response.in_progress", response);
  }

  /** Writes text. `logprobs` has the JSON texts of its tokens. */
  writeText(text: string, logprobs = NO_LOGPROBS): void {
    if (text === "") return;
    this.#events.countHeld(text.length);
    for (const each of logprobs) this.#events.countHeld(each.length);
    this.#message().text(text, logprobs);
  }

  /** Annotates the latest text, even if its item has ended. */
  annotate(annotation: Annotation): void {
    if (this.#open?.kind === "message") {
      this.#open.annotate(annotation);
      return;
    }
    if (this.#lastMessage === undefined) return;
    this.#lastMessage.item.annotate(annotation);
    this.#lacksAnnotations = true;
  }

  /** Writes the latest finished message again if annotations followed it, once for all of them. */
  #addLateAnnotations(): void {
    if (!this.#lacksAnnotations || this.#lastMessage === undefined) return;
    const { item, position } = this.#lastMessage;
    const text = item.itemText();
    this.#output[position] = text;
    this.#stamp.remember?.(item.id, text);
    this.#lacksAnnotations = false;
  }

  /** Returns whether the answer has room for an image of that length of base64, and reserves it. */
  reserveImage(length: number): boolean {
    return this.#events.reserve(length);
  }

  /** Writes an image, whose room is reserved, as the result of an image generation. */
  writeImage({ format, data }: ContentImage): void {
    this.#end("completed");
    const { id, index } = this.#nextPosition("ig");
    const text = writeImageItem(this.#events, { id, index }, { format, data });
    this.#output.push(text);
    this.#stamp.remember?.(id, text);
  }

  /** Counts data that is kept until the end of a part. Throws `AnswerProblem` above the limit. */
  countHeld(size: number): void {
    this.#events.countHeld(size);
  }

  writeRefusal(text: string): void {
    if (text === "") return;
    this.#events.countHeld(text.length);
    this.#message().refusal(text);
  }

  /** Ends the part of the open message, if there is one; further text goes into a new part. */
  endPart(): void {
    if (this.#open?.kind === "message") this.#open.endPart();
  }

  writeReasoning(text: string): void {
    if (text === "") return;
    this.#events.countHeld(text.length);
    this.#reasoning().text(text);
  }

  writeSignature(signature: string): void {
    if (signature === "") return;
    this.#events.countHeld(signature.length);
    this.#reasoning();
    this.#sealedParts.signature += signature;
  }

  /** Writes redacted thinking as an item of its own. */
  writeRedacted(data: string): void {
    this.#end("completed");
    this.#events.countHeld(data.length);
    this.#reasoning();
    this.#sealedParts.redacted = data;
    this.#end("completed");
  }

  /** Sets the details of the open reasoning. `details` has all of them; `size` is the size of the new ones. */
  setDetails(details: readonly unknown[], size: number): void {
    this.#events.countHeld(size);
    this.#reasoning();
    this.#sealedParts.details = details;
  }

  /** Ends the open reasoning, so that the next reasoning is a new item. */
  endReasoning(): void {
    if (this.isReasoning) this.#end("completed");
  }

  /** Begins a call. `name` is the provider's name of the tool; `id` is empty if the provider gave none. */
  beginCall(name: string, id: string): void {
    this.#end("completed");
    const tool = this.#terms.tools.get(name) ?? functionOf(name);
    this.#hasAnswered = true;
    const place = this.#nextPosition(tool.isCustom ? "ctc" : "fc");
    this.#open = new CallItem(place, this.#events, tool, this.#callId(id, place.index));
  }

  /** Adds a fragment of the arguments of the open call. */
  writeArguments(json: string): void {
    if (this.#open?.kind !== "call") return;
    this.#events.countHeld(json.length);
    this.#open.fragment(json);
  }

  /** Ends the open call and marks it as incomplete. */
  endCutCall(): void {
    if (this.#open?.kind === "call") this.#end("incomplete");
  }

  /** Finishes the response. `shortage` is `undefined` if the answer is complete. */
  finish(shortage: IncompleteReason | undefined, usage: Usage | undefined): void {
    const status = shortage === undefined ? "completed" : "incomplete";
    if (!this.#hasAnswered) this.#message().text("", NO_LOGPROBS);
    this.#end(status);
    const now = this.#stamp.now?.() ?? this.#stamp.created;
    const progress: Progress =
      shortage === undefined
        ? { status: "completed", completedAt: Math.max(now, this.#stamp.created) }
        : { status: "incomplete", reason: shortage };
    this.#addLateAnnotations();
    this.#last = this.#response?.text(progress, this.#output, usage) ?? "";
    this.#events.write(`response.${status}`, `"response":${this.#last},`);
  }

  /** Fails the response and returns the last frames. The open item stays open, since it was never completed. */
  fail(failure: Failure, usage: Usage | undefined): string {
    this.begin();
    this.#addLateAnnotations();
    const { code, message } = failure;
    this.#last = this.#response?.text({ status: "failed", error: { code, message } }, this.#output, usage) ?? "";
    return this.takeFrames() + failureFrames(failure, this.#last, this.#events.sequence);
  }

  #message(): MessageItem {
    if (this.#open?.kind === "message") return this.#open;
    this.#end("completed");
    this.#hasAnswered = true;
    const message = new MessageItem(this.#nextPosition("msg"), this.#events);
    this.#open = message;
    return message;
  }

  #reasoning(): ReasoningItem {
    if (this.#open?.kind === "reasoning") return this.#open;
    this.#end("completed");
    const reasoning = new ReasoningItem(this.#nextPosition("rs"), this.#events, this.#terms.showsSummary);
    this.#open = reasoning;
    return reasoning;
  }

  #nextPosition(prefix: string): ItemPosition {
    this.#events.countHeld(ITEM_COST);
    const index = this.#itemCount++;
    return { id: `${prefix}_${this.#stamp.seed}_${index}`, index };
  }

  #end(status: ItemStatus): void {
    const item = this.#open;
    if (item === undefined) return;
    this.#open = undefined;
    const text =
      item.kind === "reasoning"
        ? item.close(blocksOf(item.fullText, this.#sealedParts), this.#terms.seal)
        : item.close(status);
    this.#sealedParts = noSealedParts();
    if (item.kind === "message") {
      this.#addLateAnnotations();
      this.#lastMessage = { item, position: this.#output.length };
    }
    this.#output.push(text);
    this.#stamp.remember?.(item.id, text);
  }
}

function noSealedParts(): SealedParts {
  return { signature: "", redacted: undefined, details: [] };
}

function functionOf(name: string): ClientTool {
  return { name, namespace: undefined, isCustom: false };
}

function blocksOf(text: string, { signature, redacted, details }: SealedParts): readonly SealedBlock[] {
  if (redacted !== undefined) return [{ k: "r", x: redacted }];
  if (signature !== "") return [{ k: "t", x: text, s: signature }];
  const blocks: SealedBlock[] = [];
  if (text !== "") blocks.push({ k: "c", x: text });
  if (details.length > 0) blocks.push({ k: "d", j: details });
  return blocks;
}
