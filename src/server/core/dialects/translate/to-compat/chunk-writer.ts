/**
 * Writes an answer as the chunks of a compat stream. Source: dialects reference, 3.3 and 9.1.
 *
 * Tool calls are numbered from 0 in the order in which they begin, whatever the index of their blocks. A client that uses the
 * older `functions` gets only the first call of an answer. Annotations are written together at the end, since clients replace
 * those of earlier chunks. Frames are collected as text until `takeFrames` returns them.
 */
import { stringOf, type Values } from "../../json/json-values.ts";
import type { EventEnding, EventSink } from "../messages-answers/event-reader.ts";
import { readArguments, readText } from "../messages-answers/message-answer-parts.ts";
import { translateErrorEvent } from "../translate-errors.ts";
import { AnswerProblem, type AnswerStamp, type AnswerTerms } from "../types.ts";
import { compatUsage } from "../usage-shape.ts";
import { encryptedDetail, readCall, readFinish, readHead, signedDetail } from "./answer-reading.ts";
import { Annotations, type CitedPage, type CitingBlock, citedPage, citedPages } from "./citations.ts";

type OpenBlock =
  | { readonly kind: "text"; readonly citing: CitingBlock }
  /**
   * Thinking block. Its detail is written whole when the block is closed, so that a signature is never separated from its text.
   */
  | { readonly kind: "thinking"; readonly index: number; text: string; signature: string }
  /** Tool call. `input` has its whole arguments, which are written if no fragment arrives. */
  | { readonly kind: "tool_use"; readonly index: number; readonly input: string; hasFragments: boolean }
  /** Block of the provider's own tools, or of an unknown type. Nothing of it is written. */
  | { readonly kind: "skipped" };

/** Maximum size of citations, and of thinking and input of open blocks, in UTF-16 units. */
const MAX_HELD = 8 << 20;

/** Approximate memory of a citation in addition to its text, in UTF-16 units. */
const CITATION_COST = 128;

const SKIPPED: OpenBlock = { kind: "skipped" };

export class ChunkWriter implements EventSink<OpenBlock> {
  readonly #terms: AnswerTerms;
  readonly #stamp: AnswerStamp;
  /** Beginning of each chunk; empty until the answer begins. */
  #before = "";
  /** Member `usage` of every chunk except the last one, which contains the usage. Empty unless the client asked for usage. */
  readonly #usage: string;
  readonly #rest: string;
  #frames = "";
  #calls = 0;
  #reasonings = 0;
  #held = 0;
  readonly #annotations = new Annotations();

  constructor(terms: AnswerTerms, stamp: AnswerStamp) {
    this.#terms = terms;
    this.#stamp = stamp;
    this.#usage = terms.showsUsage ? ',"usage":null' : "";
    this.#rest = `,"finish_reason":null}]${this.#usage}}\n\n`;
  }

  /** Returns the frames written since the last call. */
  takeFrames(): string {
    const frames = this.#frames;
    this.#frames = "";
    return frames;
  }

  start(message: Values): void {
    const { id, created, model, service_tier } = readHead(message, this.#terms, this.#stamp);
    const head = JSON.stringify({ id, object: "chat.completion.chunk", created, model, service_tier });
    this.#before = `data: ${head.slice(0, -1)},"choices":`;
    this.#delta('{"role":"assistant","content":""}');
  }

  /** Opens a block. `exact` belongs to the `JsonSource` that contains the block. */
  open(block: Values, exact?: (part: unknown) => unknown): OpenBlock {
    switch (block["type"]) {
      case "text": {
        const opened: OpenBlock = { kind: "text", citing: this.#annotations.open() };
        this.writeText(readText(block, "text"));
        for (const page of citedPages(block)) this.#cite(page, opened.citing);
        return opened;
      }
      case "thinking": {
        const opened: OpenBlock = { kind: "thinking", index: this.#reasonings++, text: "", signature: "" };
        this.writeThinking(stringOf(block["thinking"]) ?? "", opened);
        this.writeSignature(stringOf(block["signature"]) ?? "", opened);
        return opened;
      }
      case "redacted_thinking":
        this.#detail(encryptedDetail(block, this.#reasonings++));
        return SKIPPED;
      case "tool_use":
        return this.#call(block, exact);
      default:
        return SKIPPED;
    }
  }

  writeText(text: string): void {
    if (text === "") return;
    this.#annotations.countText(text);
    this.#delta(`{"content":${JSON.stringify(text)}}`);
  }

  writeCitation(citation: unknown, block: OpenBlock): void {
    const page = citedPage(citation);
    if (page !== undefined && block.kind === "text") this.#cite(page, block.citing);
  }

  writeThinking(text: string, block: OpenBlock): void {
    if (text === "" || block.kind !== "thinking") return;
    this.#hold(text.length);
    block.text += text;
    this.#delta(`{"reasoning_content":${JSON.stringify(text)}}`);
  }

  writeSignature(signature: string, block: OpenBlock): void {
    if (block.kind !== "thinking") return;
    this.#hold(signature.length - block.signature.length);
    block.signature = signature;
  }

  writeArguments(json: string, block: OpenBlock): void {
    if (json === "" || block.kind !== "tool_use") return;
    block.hasFragments = true;
    const text = JSON.stringify(json);
    this.#delta(
      this.#terms.callsFunctions
        ? `{"function_call":{"arguments":${text}}}`
        : `{"tool_calls":[{"index":${block.index},"function":{"arguments":${text}}}]}`,
    );
  }

  close(block: OpenBlock): void {
    if (block.kind === "text") this.#annotations.close(block.citing);
    if (block.kind === "tool_use") {
      if (!block.hasFragments) this.writeArguments(block.input, block);
      this.#hold(-block.input.length);
    }
    if (block.kind === "thinking") {
      this.#detail(signedDetail(block.text, block.signature, block.index));
      this.#hold(-block.text.length - block.signature.length);
    }
  }

  finish({ stopReason, refusal, usage }: EventEnding): void {
    const reason = readFinish(stopReason, this.#calls > 0, this.#terms);
    const { all: annotations } = this.#annotations;
    if (annotations.length > 0) this.#delta(JSON.stringify({ annotations }));
    if (refusal !== undefined) this.#delta(JSON.stringify({ refusal }));
    this.#frames += `${this.#before}[{"index":0,"delta":{},"finish_reason":"${reason}"}]${this.#usage}}\n\n`;
    if (this.#terms.showsUsage && usage !== undefined) {
      this.#frames += `${this.#before}[],"usage":${JSON.stringify(compatUsage(usage))}}\n\n`;
    }
    this.#frames += "data: [DONE]\n\n";
  }

  fail(data: unknown): void {
    this.#frames += translateErrorEvent("compat", data, this.#stamp.seed);
  }

  #call(block: Values, exact: ((part: unknown) => unknown) | undefined): OpenBlock {
    const index = this.#calls++;
    const { callsFunctions } = this.#terms;
    const { id, name } = readCall(block, index, this.#terms, this.#stamp);
    const input = readArguments(block, exact);
    if (callsFunctions && index > 0) return SKIPPED;
    this.#hold(input.length);
    const called = { name, arguments: "" };
    this.#delta(
      JSON.stringify(
        callsFunctions
          ? { function_call: called }
          : { tool_calls: [{ index, id, type: "function", function: called }] },
      ),
    );
    return { kind: "tool_use", index, input, hasFragments: false };
  }

  #cite(page: CitedPage, citing: CitingBlock): void {
    this.#hold(CITATION_COST + page.title.length + page.url.length);
    citing.pages.push(page);
  }

  #detail(detail: object | undefined): void {
    if (detail !== undefined) this.#delta(JSON.stringify({ reasoning_details: [detail] }));
  }

  /** Writes a delta, given as JSON text. */
  #delta(delta: string): void {
    this.#frames += `${this.#before}[{"index":0,"delta":${delta}${this.#rest}`;
  }

  #hold(length: number): void {
    this.#held += length;
    if (this.#held > MAX_HELD) throw new AnswerProblem("the open content blocks contain too much text");
  }
}
