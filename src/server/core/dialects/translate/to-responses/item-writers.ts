/**
 * Writes the items of a response with their events. Source: responses reference, 6.1, 7.1, 7.2.
 *
 * `close` returns the item as JSON text, exactly as it appears in the response.
 */
import { objectOf, stringOf, tryParseJson } from "../../json/json-values.ts";
import type { ContentImage } from "../chat-answers/answer-content.ts";
import type { ClientTool } from "../responses-terms.ts";
import { charactersIn } from "../to-compat/citations.ts";
import type { ReasoningSeal, SealedBlock } from "../types.ts";
import type { EventLog } from "./event-log.ts";

export type ItemStatus = "completed" | "incomplete";

/** Identifier and index of one item. */
export interface ItemPosition {
  readonly id: string;
  readonly index: number;
}

export type Item = MessageItem | ReasoningItem | CallItem;

function itemAdded(events: EventLog, index: number, item: string): void {
  events.write("response.output_item.added", `"output_index":${index},"item":${item},`);
}

function itemDone(events: EventLog, index: number, item: string): string {
  events.write("response.output_item.done", `"output_index":${index},"item":${item},`);
  return item;
}

/** Web page as the source of a text. */
export interface Annotation {
  readonly title: string;
  readonly url: string;
  /** Offsets of the text in the part; `undefined` for all of it. */
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

interface Part {
  readonly kind: "output_text" | "refusal";
  /** JSON members of an event that state the part's position. */
  readonly at: string;
  text: string;
  /** JSON texts of the log probabilities. */
  readonly logprobs: string[];
  readonly annotations: Annotation[];
  /** Length of the finished text in characters, once it was needed. */
  characters?: number;
}

export class MessageItem {
  readonly kind = "message";
  readonly id: string;
  readonly #index: number;
  readonly #events: EventLog;
  /** JSON texts of the finished parts. */
  readonly #parts: string[] = [];
  #open: Part | undefined;
  /** Latest finished text, and its position among the parts. */
  #lastText: { readonly part: Part; readonly position: number } | undefined;
  /** Whether `#parts` lacks annotations of the latest finished text. */
  #lacksAnnotations = false;
  #status: ItemStatus = "completed";

  constructor({ id, index }: ItemPosition, events: EventLog) {
    this.id = id;
    this.#index = index;
    this.#events = events;
    itemAdded(events, index, `{"id":"${id}","type":"message","status":"in_progress","role":"assistant","content":[]}`);
  }

  /** Ends the open part; further text goes into a new part. */
  endPart(): void {
    const part = this.#open;
    if (part === undefined) return;
    this.#open = undefined;
    const { at, kind } = part;
    const text = JSON.stringify(part.text);
    const annotations = this.#writeAnnotations(part);
    const whole = kind === "refusal" ? refusalPart(text) : textPart(text, part.logprobs.join(), annotations);
    if (kind === "refusal") this.#events.write("response.refusal.done", `${at}"refusal":${text},`);
    else this.#events.write("response.output_text.done", `${at}"text":${text},"logprobs":[${part.logprobs.join()}],`);
    this.#events.write("response.content_part.done", `${at}"part":${whole},`);
    if (kind === "output_text") {
      this.#addLateAnnotations();
      this.#lastText = { part, position: this.#parts.length };
    }
    this.#parts.push(whole);
  }

  /** Adds text. `logprobs` has the JSON texts of its tokens. */
  text(text: string, logprobs: readonly string[]): void {
    const part = this.#partOf("output_text");
    if (text === "") return;
    part.text += text;
    for (const each of logprobs) part.logprobs.push(each);
    const members = `${part.at}"delta":${JSON.stringify(text)},"logprobs":[${logprobs.join()}],`;
    this.#events.write("response.output_text.delta", members);
  }

  /**
   * Annotates the latest text. Annotations of an open text are written at its end, when its length is known. One that arrives
   * after that is an event of its own, and is part of the item that the last event repeats.
   */
  annotate(annotation: Annotation): void {
    if (this.#open?.kind === "output_text") {
      this.#open.annotations.push(annotation);
      return;
    }
    if (this.#lastText === undefined) return;
    const { part } = this.#lastText;
    const index = part.annotations.push(annotation) - 1;
    this.#lacksAnnotations = true;
    this.#writeAnnotation(part, index, annotationText(annotation, part));
  }

  /** Writes the latest finished text again. It is done once for all late annotations, since the text may be long. */
  #addLateAnnotations(): void {
    if (!this.#lacksAnnotations || this.#lastText === undefined) return;
    const { part, position } = this.#lastText;
    const annotations = part.annotations.map((annotation) => annotationText(annotation, part));
    this.#parts[position] = textPart(JSON.stringify(part.text), part.logprobs.join(), annotations.join());
    this.#lacksAnnotations = false;
  }

  refusal(text: string): void {
    const part = this.#partOf("refusal");
    part.text += text;
    this.#events.write("response.refusal.delta", `${part.at}"delta":${JSON.stringify(text)},`);
  }

  close(status: ItemStatus): string {
    this.endPart();
    this.#status = status;
    return itemDone(this.#events, this.#index, this.itemText());
  }

  /** Returns the finished item as JSON text. */
  itemText(): string {
    this.#addLateAnnotations();
    return `{"id":"${this.id}","type":"message","status":"${this.#status}","role":"assistant","content":[${this.#parts.join()}]}`;
  }

  /** Writes the events of the part's annotations. Returns their JSON texts, joined by commas. */
  #writeAnnotations(part: Part): string {
    const written = part.annotations.map((annotation) => annotationText(annotation, part));
    for (const [index, text] of written.entries()) this.#writeAnnotation(part, index, text);
    return written.join();
  }

  #writeAnnotation({ at }: Part, index: number, text: string): void {
    this.#events.write(
      "response.output_text.annotation.added",
      `${at}"annotation_index":${index},"annotation":${text},`,
    );
  }

  #partOf(kind: Part["kind"]): Part {
    if (this.#open?.kind === kind) return this.#open;
    this.endPart();
    const at = `"item_id":"${this.id}","output_index":${this.#index},"content_index":${this.#parts.length},`;
    const empty = kind === "refusal" ? refusalPart('""') : textPart('""', "", "");
    this.#events.write("response.content_part.added", `${at}"part":${empty},`);
    this.#open = { kind, at, text: "", logprobs: [], annotations: [] };
    return this.#open;
  }
}

/** Returns an annotation of a finished text as JSON text. */
function annotationText({ title, url, start = 0, end }: Annotation, part: Part): string {
  part.characters ??= charactersIn(part.text);
  return JSON.stringify({ type: "url_citation", start_index: start, end_index: end ?? part.characters, title, url });
}

function textPart(text: string, logprobs: string, annotations: string): string {
  return `{"type":"output_text","annotations":[${annotations}],"logprobs":[${logprobs}],"text":${text}}`;
}

function refusalPart(text: string): string {
  return `{"type":"refusal","refusal":${text}}`;
}

/**
 * Reasoning item. It contains, in sealed form, what has to be sent back to the provider, and a summary that the client may
 * read.
 */
export class ReasoningItem {
  readonly kind = "reasoning";
  readonly id: string;
  readonly #index: number;
  readonly #events: EventLog;
  readonly #showsSummary: boolean;
  readonly #at: string;
  #text = "";
  #hasSummary = false;

  constructor({ id, index }: ItemPosition, events: EventLog, showsSummary: boolean) {
    this.id = id;
    this.#index = index;
    this.#events = events;
    this.#showsSummary = showsSummary;
    this.#at = `"item_id":"${id}","output_index":${index},"summary_index":0,`;
    itemAdded(events, index, `{"id":"${id}","type":"reasoning","summary":[]}`);
  }

  get fullText(): string {
    return this.#text;
  }

  text(text: string): void {
    if (text === "") return;
    this.#text += text;
    if (!this.#showsSummary) {
      // The client gets nothing while the model thinks, so a comment keeps proxies from closing the connection.
      this.#events.writeComment();
      return;
    }
    if (!this.#hasSummary)
      this.#events.write("response.reasoning_summary_part.added", `${this.#at}${summaryPart('""')},`);
    this.#hasSummary = true;
    this.#events.write("response.reasoning_summary_text.delta", `${this.#at}"delta":${JSON.stringify(text)},`);
  }

  close(blocks: readonly SealedBlock[], seal: ReasoningSeal | undefined): string {
    let summary = "";
    if (this.#hasSummary) {
      const text = JSON.stringify(this.#text);
      summary = `{"type":"summary_text","text":${text}}`;
      this.#events.write("response.reasoning_summary_text.done", `${this.#at}"text":${text},`);
      this.#events.write("response.reasoning_summary_part.done", `${this.#at}${summaryPart(text)},`);
    }
    const sealed = seal === undefined || blocks.length === 0 ? null : seal.seal(blocks);
    return itemDone(
      this.#events,
      this.#index,
      `{"id":"${this.id}","type":"reasoning","summary":[${summary}],"encrypted_content":${JSON.stringify(sealed)}}`,
    );
  }
}

function summaryPart(text: string): string {
  return `"part":{"type":"summary_text","text":${text}}`;
}

export class CallItem {
  readonly kind = "call";
  readonly id: string;
  readonly #index: number;
  readonly #events: EventLog;
  readonly #isCustom: boolean;
  readonly #name: string;
  readonly #at: string;
  /** JSON members between the status and the arguments. */
  readonly #called: string;
  readonly #namespace: string;
  #arguments = "";

  constructor({ id, index }: ItemPosition, events: EventLog, tool: ClientTool, callId: string) {
    this.id = id;
    this.#index = index;
    this.#events = events;
    this.#isCustom = tool.isCustom;
    this.#name = JSON.stringify(tool.name);
    this.#at = `"item_id":"${id}","output_index":${index},`;
    this.#called = `"call_id":"${callId}","name":${this.#name},`;
    this.#namespace = tool.namespace === undefined ? "" : `,"namespace":${JSON.stringify(tool.namespace)}`;
    itemAdded(events, index, this.#text("in_progress", '""'));
  }

  /** Adds a fragment of the arguments. Arguments of a custom tool are sent at the end, since its input is only part of them. */
  fragment(json: string): void {
    if (json === "") return;
    this.#arguments += json;
    if (this.#isCustom) this.#events.writeComment();
    else this.#events.write("response.function_call_arguments.delta", `${this.#at}"delta":${JSON.stringify(json)},`);
  }

  close(status: ItemStatus): string {
    // Empty arguments mean a tool without parameters, unless they were cut off before they began.
    if (this.#arguments === "" && status === "completed" && !this.#isCustom) this.fragment("{}");
    const item = this.#isCustom ? this.#endCustom(status) : this.#endFunction(status);
    return itemDone(this.#events, this.#index, item);
  }

  #endFunction(status: ItemStatus): string {
    const text = JSON.stringify(this.#arguments);
    this.#events.write("response.function_call_arguments.done", `${this.#at}"name":${this.#name},"arguments":${text},`);
    return this.#text(status, text);
  }

  #endCustom(status: ItemStatus): string {
    const input = stringOf(objectOf(tryParseJson(this.#arguments))?.["input"]) ?? this.#arguments;
    const text = JSON.stringify(input);
    if (input !== "") this.#events.write("response.custom_tool_call_input.delta", `${this.#at}"delta":${text},`);
    this.#events.write("response.custom_tool_call_input.done", `${this.#at}"input":${text},`);
    return this.#text(status, text);
  }

  #text(status: ItemStatus | "in_progress", json: string): string {
    const [type, member] = this.#isCustom ? ["custom_tool_call", "input"] : ["function_call", "arguments"];
    return `{"id":"${this.id}","type":"${type}","status":"${status}",${this.#called}"${member}":${json}${this.#namespace}}`;
  }
}

/** Writes an image as the item of an image generation, and returns it as JSON text. */
export function writeImageItem(events: EventLog, { id, index }: ItemPosition, { format, data }: ContentImage): string {
  const item = { id, type: "image_generation_call", status: "completed", output_format: format, result: data };
  itemAdded(events, index, JSON.stringify({ ...item, status: "in_progress", result: null }));
  return itemDone(events, index, JSON.stringify(item));
}
