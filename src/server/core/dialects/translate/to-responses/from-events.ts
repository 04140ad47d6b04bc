/** Converts an answer of the messages dialect to a response. Source: responses reference, 5.3, 6 and 7.3. */
import type { JsonSource } from "../../json/json-source.ts";
import { objectOf, stringOf, type Values } from "../../json/json-values.ts";
import { normalizeUsage } from "../../usage/usage-normalize.ts";
import { finishReason } from "../finish-reasons.ts";
import type { EventEnding, EventSink } from "../messages-answers/event-reader.ts";
import {
  readArguments,
  readMessage,
  readRefusal,
  readRequiredText,
  readText,
  readToolName,
} from "../messages-answers/message-answer-parts.ts";
import { type CitedPage, citedPage, citedPages } from "../to-compat/citations.ts";
import { failureOf } from "../translate-errors.ts";
import { AnswerProblem } from "../types.ts";
import { incompleteReason } from "./endings.ts";
import type { ResponseWriter } from "./response-writer.ts";

type Block =
  /** Text. Its pages are written when it is closed, since citations may precede it. */
  | { readonly kind: "text"; readonly pages: CitedPage[] }
  | { readonly kind: "thinking" }
  /** Tool call. `input` has its whole arguments, which are written if no fragment arrives; it may be empty. */
  | { readonly kind: "tool_use"; readonly input: string; hasFragments: boolean }
  /** Block of the provider's own tools, or of an unknown type. Nothing of it is written. */
  | { readonly kind: "skipped" };

/** Approximate memory of an annotation in addition to its text, in UTF-16 units. */
const ANNOTATION_COST = 128;

const SKIPPED: Block = { kind: "skipped" };

/** Service tiers with an equivalent. */
const TIERS: ReadonlyMap<unknown, string> = new Map([["priority", "priority"]]);

export class EventsToResponse implements EventSink<Block> {
  readonly #writer: ResponseWriter;
  /** Block that deltas may belong to. There is only one, since items of a response do not interleave. */
  #current: Block | undefined;
  #failed = "";

  constructor(writer: ResponseWriter) {
    this.#writer = writer;
  }

  start(message: Values): void {
    this.#writer.begin(message["model"], TIERS.get(objectOf(message["usage"])?.["service_tier"]));
  }

  open(block: Values, exact?: JsonSource["exact"]): Block {
    switch (block["type"]) {
      case "text": {
        this.#writer.endPart();
        const opened = this.#begin({ kind: "text", pages: [] });
        this.writeText(readText(block, "text"), opened);
        for (const page of citedPages(block)) this.#cite(page, opened);
        return opened;
      }
      case "thinking": {
        this.#writer.endReasoning();
        const opened = this.#begin({ kind: "thinking" });
        this.writeThinking(stringOf(block["thinking"]) ?? "", opened);
        this.writeSignature(stringOf(block["signature"]) ?? "", opened);
        return opened;
      }
      case "redacted_thinking":
        this.#begin(SKIPPED);
        this.#writer.writeRedacted(readRequiredText(block, "data"));
        return SKIPPED;
      case "tool_use": {
        const input = readArguments(block, exact);
        this.#writer.beginCall(readToolName(block), stringOf(block["id"]) ?? "");
        return this.#begin({ kind: "tool_use", input: input === "{}" ? "" : input, hasFragments: false });
      }
      default:
        return SKIPPED;
    }
  }

  writeText(text: string, block: Block): void {
    this.#requireCurrent(block);
    this.#writer.writeText(text);
  }

  writeCitation(citation: unknown, block: Block): void {
    this.#requireCurrent(block);
    const page = citedPage(citation);
    if (page !== undefined) this.#cite(page, block);
  }

  writeThinking(text: string, block: Block): void {
    this.#requireCurrent(block);
    this.#writer.writeReasoning(text);
  }

  writeSignature(signature: string, block: Block): void {
    this.#requireCurrent(block);
    this.#writer.writeSignature(signature);
  }

  writeArguments(json: string, block: Block): void {
    this.#requireCurrent(block);
    if (json === "" || block.kind !== "tool_use") return;
    block.hasFragments = true;
    this.#writer.writeArguments(json);
  }

  close(block: Block): void {
    if (block !== this.#current) return;
    if (block.kind === "text") for (const page of block.pages.splice(0)) this.#writer.annotate(page);
    if (block.kind === "tool_use" && !block.hasFragments) this.writeArguments(block.input, block);
    // Each block of thinking has its own signature, so it becomes a separate item.
    if (block.kind === "thinking") this.#writer.endReasoning();
  }

  finish({ stopReason, refusal = "", usage }: EventEnding): void {
    this.#writer.writeRefusal(refusal);
    this.#writer.finish(incompleteReason(finishReason(stopReason)), usage);
  }

  fail(data: unknown): void {
    this.#failed = this.#writer.fail(failureOf(data), undefined);
  }

  takeFrames(): string {
    return this.#writer.takeFrames() + this.#failed;
  }

  #cite(page: CitedPage, block: Block): void {
    if (block.kind !== "text") return;
    this.#writer.countHeld(ANNOTATION_COST + page.title.length + page.url.length);
    block.pages.push(page);
  }

  #begin(block: Block): Block {
    this.#current = block;
    return block;
  }

  #requireCurrent(block: Block): void {
    if (block !== this.#current) throw new AnswerProblem("a delta belongs to a content block that has ended");
  }
}

/** Writes a whole messages answer as a response. Throws `AnswerProblem`. */
export function writeMessage(body: string, writer: ResponseWriter): void {
  const { message, blocks, exact } = readMessage(body);
  const sink = new EventsToResponse(writer);
  sink.start(message);
  for (const block of blocks) sink.close(sink.open(block, exact));
  const usage = normalizeUsage("messages", message["usage"]);
  sink.finish({ stopReason: message["stop_reason"], refusal: readRefusal(message), usage });
}
