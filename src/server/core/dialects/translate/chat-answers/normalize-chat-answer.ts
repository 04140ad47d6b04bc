/**
 * Normalizes deviations of compat hosts: arguments of a call as an object, usage within a choice or under another name, several
 * choices that are parts of one message, and a whole answer sent as a stream. Source: design decisions, section 20; shapes seen
 * at Groq, Moonshot, Copilot, Ollama and vLLM.
 */
import { createVerbatimOf, type JsonSource, jsonText } from "../../json/json-source.ts";
import { listOf, numberOf, objectOf, stringOf, tryParseJson, type Values } from "../../json/json-values.ts";
import { type SseEvent, SseSplitter } from "../../sse.ts";
import type { Usage } from "../../usage/usage.ts";
import { normalizeUsage } from "../../usage/usage-normalize.ts";
import { AnswerProblem, StreamEndedEarly } from "../types.ts";
import { SOURCE_MEMBERS } from "./answer-sources.ts";
import { ArrivingCalls, type Call } from "./arriving-calls.ts";

export type WriteArguments = (written: unknown) => unknown;

const OBJECT_ARGUMENTS = /"arguments"\s*:\s*[{[]/;
export const UNCHANGED: WriteArguments = (part) => part;

/** Returns a function that serializes arguments that are an object. `text` is the answer or event that they are part of. */
export function argumentsWriter(text: string, value: unknown): WriteArguments {
  if (!OBJECT_ARGUMENTS.test(text)) return UNCHANGED;
  let exact: JsonSource["exact"] | undefined;
  return (written) => {
    if (typeof written !== "object" || written === null) return written;
    try {
      exact ??= createVerbatimOf(text, value);
      return jsonText(exact(written));
    } catch {
      throw new AnswerProblem("the answer is nested too deep");
    }
  };
}

/** Returns the index of a tool call, which some hosts write as text. */
export const callIndexOf = (index: unknown): number | undefined =>
  typeof index === "string" && /^\d{1,9}$/.test(index) ? Number(index) : numberOf(index);

/** Returns the id of a tool call. Some hosts number their calls. */
export const callIdOf = (id: unknown): unknown => (typeof id === "number" ? String(id) : id);

/**
 * Returns the delta of a choice, or the whole message that some providers send in one chunk in place of deltas. After deltas
 * with content, such a message only repeats them, so it is not read.
 */
export function deltaOf({ delta, message }: Values, hasContentBefore: boolean): unknown {
  if (hasContentBefore || message === undefined || message === null) return delta;
  const deltaObject = delta === undefined || delta === null ? {} : objectOf(delta);
  return deltaObject !== undefined && !hasContent(deltaObject) ? message : delta;
}

/** Returns whether a delta has more than a role and empty members. */
export function hasContent(delta: Values): boolean {
  return Object.entries(delta).some(
    ([name, value]) => name !== "role" && !isAbsent(value) && !(Array.isArray(value) && value.length === 0),
  );
}

/** Returns the usage of an answer or a chunk, or `undefined` if it has none. */
export function usageAnywhere(answer: Values): Usage | undefined {
  return normalizeUsage("compat", usageValueAnywhere(answer));
}

function usageValueAnywhere(answer: Values): unknown {
  const { usage, x_groq: groq } = answer;
  if (objectOf(usage) !== undefined) return usage;
  const ofChoice = listOf(answer["choices"]).map((choice) => objectOf(objectOf(choice)?.["usage"]));
  return ofChoice.findLast((candidate) => candidate !== undefined) ?? objectOf(groq)?.["usage"];
}

/** Merges all choices into the first one, since no client of another dialect asks for alternatives. */
export function mergeChoices(choices: readonly unknown[]): Values | undefined {
  const all = choices.map(objectOf).filter((choice) => choice !== undefined);
  const ordered =
    all.length < 2 ? all : all.toSorted((a, b) => (numberOf(a["index"]) ?? 0) - (numberOf(b["index"]) ?? 0));
  const first = ordered.find((choice) => objectOf(choice["message"]) !== undefined);
  if (first === undefined || ordered.length === 1) return ordered.at(-1);
  const message: Record<string, unknown> = { ...objectOf(first["message"]) };
  const lists = new MergedLists(message);
  let finish = first["finish_reason"];
  for (const other of ordered.slice(ordered.indexOf(first) + 1)) {
    const more = objectOf(other["message"]);
    if (more === undefined) continue;
    finish = strongestFinish(finish, other["finish_reason"]);
    for (const name of TEXTS) mergeText(message, more, name, lists);
    for (const name of MERGED_LISTS) {
      if (listOf(more[name]).length > 0) lists.add(name, listOf(message[name]), listOf(more[name]));
      else message[name] ??= more[name];
    }
    for (const name of ["audio", "function_call"]) message[name] ??= more[name];
  }
  return { ...first, finish_reason: finish, message };
}

/** Lists of a message that result from merging. Each is copied once, however many are added to it. */
class MergedLists {
  readonly #message: Record<string, unknown>;
  readonly #byName = new Map<string, unknown[]>();

  constructor(message: Record<string, unknown>) {
    this.#message = message;
  }

  /** Appends `more` to the list of that name. `before` is the list so far. */
  add(name: string, before: readonly unknown[], more: readonly unknown[]): void {
    const list = this.#byName.get(name) ?? [...before];
    this.#byName.set(name, list);
    this.#message[name] = list;
    for (const item of more) list.push(item);
  }
}

const TEXTS = ["content", "reasoning_content", "reasoning", "refusal"] as const;
const LISTS = ["tool_calls", "reasoning_details"] as const;
/** Lists that the choices of one answer share. */
const MERGED_LISTS = [...LISTS, "annotations", "images"] as const;

const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === "";

/** Appends a text of another choice, which may have parts in place of a string. */
function mergeText(message: Record<string, unknown>, more: Values, name: string, lists: MergedLists): void {
  const [one, other] = [message[name], more[name]];
  if (isAbsent(other)) return;
  if (isAbsent(one)) message[name] = other;
  else if (typeof one === "string" && typeof other === "string") message[name] = one + other;
  else lists.add(name, partsOf(one), partsOf(other));
}

const partsOf = (content: unknown): readonly unknown[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);

/** Returns the more specific of two finish reasons: a tool call or a token limit takes precedence over `stop`. */
export function strongestFinish(one: unknown, other: unknown): unknown {
  if (isAbsent(one) || one === "stop") return isAbsent(other) ? one : other;
  return one;
}

const FIELD = /^\uFEFF?\s*(?::|(?:data|event|id|retry)\s*:)/;

/** Returns whether the body is a stream of events although a whole answer was requested. */
export const isEventText = (body: string): boolean => FIELD.test(body);

/** Returns whether an event has a known name or is an object. Other events, such as a ping with text, keep the connection alive. */
const isRead = ({ event: name, data }: SseEvent): boolean =>
  name === "" || name === "message" || name === "error" || data?.trim() === "[DONE]" || isJsonObject(data ?? "");

const isJsonObject = (text: string): boolean => objectOf(tryParseJson(text)) !== undefined;

/** Returns the data of all events of a stream, without `[DONE]`. */
export function eventsOf(body: string): { readonly data: readonly string[]; readonly isDone: boolean } {
  const splitter = new SseSplitter();
  const events = [...splitter.push(Buffer.from(body))];
  const last = splitter.takeUnfinishedEvent();
  if (last !== undefined) events.push(last);
  const data = events
    .filter(isRead)
    .map((event) => event.data?.trim() ?? "")
    .filter((text) => text !== "");
  return { data: data.filter((text) => text !== "[DONE]"), isDone: data.includes("[DONE]") };
}

/**
 * Folds the chunks of an unrequested stream into a whole completion. Throws `AnswerProblem`, or `StreamEndedEarly` if the stream ended
 * before its answer did.
 */
export function foldChunks(body: string): Values {
  const { data, isDone } = eventsOf(body);
  const choices = new Map<number, FoldedChoice>();
  let head: Values | undefined;
  let usage: unknown;
  const sources: Record<string, unknown> = {};
  for (const text of data) {
    const value = tryParseJson(text);
    const chunk = objectOf(value);
    if (chunk === undefined) throw new AnswerProblem("an event of the stream is not a JSON object");
    if (objectOf(chunk["error"]) !== undefined || typeof chunk["error"] === "string") {
      throw new AnswerProblem("the provider's answer ended with an error");
    }
    head ??= chunk;
    usage = usageValueAnywhere(chunk) ?? usage;
    for (const name of SOURCE_MEMBERS) if (listOf(chunk[name]).length > 0) sources[name] = chunk[name];
    const written = argumentsWriter(text, value);
    for (const each of listOf(chunk["choices"])) {
      const choice = objectOf(each);
      if (choice === undefined) throw new AnswerProblem("a choice is not an object");
      const index = numberOf(choice["index"]) ?? 0;
      const folded = choices.get(index) ?? new FoldedChoice(index);
      choices.set(index, folded);
      folded.add(choice, written);
    }
  }
  if (head === undefined) throw new StreamEndedEarly("its answer began");
  const all = [...choices.values()];
  if (!isDone && !all.some(({ hasEnded }) => hasEnded)) throw new StreamEndedEarly();
  const object = head["object"] === "text_completion" ? head["object"] : "chat.completion";
  return { ...head, ...sources, object, choices: all.map((each) => each.toChoice), usage };
}

interface FoldedCall {
  id: unknown;
  name: string;
  /** Arguments, or the input of a custom tool. */
  text: string;
  isCustom: boolean;
  /** Other members, such as a signature of thinking. */
  readonly more: Values;
}

const DELTA_MEMBERS: ReadonlySet<string> = new Set([...TEXTS, ...LISTS, ...["role", "function_call"]]);
const CALL_MEMBERS: ReadonlySet<string> = new Set(["index", "id", "type", "function", "custom"]);
const CHOICE_MEMBERS: ReadonlySet<string> = new Set(["index", "delta", "message", "text", "finish_reason", "usage"]);

/** Members that a fragment repeats instead of extending them. */
const REPEATED: ReadonlySet<string> = new Set(["id", "type", "name", "index", "format"]);
const MAX_JOINED_DEPTH = 8;

/**
 * Joins a value with that of a later fragment: texts and lists are appended, members of objects are joined one by one, and any
 * other value is replaced. Lists and objects are changed in place, since a stream may have thousands of fragments.
 */
function joinValues(before: unknown, more: unknown, depth = 0): unknown {
  if (isAbsent(before)) return more;
  if (isAbsent(more)) return before;
  if (typeof before === "string" && typeof more === "string") return before + more;
  if (Array.isArray(before) && Array.isArray(more)) {
    for (const item of more as unknown[]) before.push(item);
    return before;
  }
  const [one, other] = [objectOf(before), objectOf(more)];
  if (one === undefined || other === undefined || depth >= MAX_JOINED_DEPTH) return more;
  addMembers(one, other, depth + 1);
  return one;
}

/** Joins the members of a later fragment with those of `members`, which it changes. */
function addMembers(members: object, more: Values, depth = 0, without: ReadonlySet<string> = NOTHING): void {
  for (const [name, value] of Object.entries(more)) {
    if (without.has(name)) continue;
    const before: unknown = Object.getOwnPropertyDescriptor(members, name)?.value;
    const joined = REPEATED.has(name) && !isAbsent(before) ? before : joinValues(before, value, depth);
    Object.defineProperty(members, name, { value: joined, enumerable: true, configurable: true, writable: true });
  }
}

const NOTHING: ReadonlySet<string> = new Set();

class FoldedChoice {
  readonly #index: number;
  readonly #texts = new Map<string, string>();
  /** Parts of the content, if it has more than texts. */
  readonly #parts: unknown[] = [];
  readonly #details: unknown[] = [];
  readonly #arriving = new ArrivingCalls();
  readonly #calls = new Map<Call, FoldedCall>();
  /** Call in the legacy member `function_call`. */
  #legacyCall: FoldedCall | undefined;
  #hasContent = false;
  #finish: unknown = null;
  #role: unknown = "assistant";
  /** Text of a legacy completion, which has no message. */
  #completion: string | undefined;
  /** Unknown members of the choice and of the message. */
  readonly #unknown: Values = {};
  readonly #more: Values = {};

  constructor(index: number) {
    this.#index = index;
  }

  get hasEnded(): boolean {
    return typeof this.#finish === "string";
  }

  /** Adds a choice of a chunk. It may have a whole message in place of a delta. */
  add(choice: Values, written: WriteArguments): void {
    this.#finish = choice["finish_reason"] ?? this.#finish;
    addMembers(this.#unknown, choice, 0, CHOICE_MEMBERS);
    if (typeof choice["text"] === "string") this.#completion = (this.#completion ?? "") + choice["text"];
    const delta = objectOf(deltaOf(choice, this.#hasContent));
    if (delta === undefined) return;
    this.#hasContent ||= hasContent(delta);
    this.#role = delta["role"] ?? this.#role;
    addMembers(this.#more, delta, 0, DELTA_MEMBERS);
    for (const name of TEXTS) {
      const value = delta[name];
      if (name === "content" && (this.#parts.length > 0 || hasOtherParts(value))) this.#addParts(partsOf(value));
      else this.#addText(name, typeof value === "string" ? value : name === "content" ? textOfParts(value) : "");
    }
    for (const detail of listOf(delta["reasoning_details"])) this.#details.push(detail);
    for (const call of listOf(delta["tool_calls"])) this.#call(objectOf(call), written);
    const old = objectOf(delta["function_call"]);
    if (old === undefined) return;
    this.#legacyCall ??= newCall();
    this.#legacyCall.name ||= stringOf(old["name"]) ?? "";
    this.#legacyCall.text += stringOf(written(old["arguments"])) ?? "";
  }

  #addText(name: (typeof TEXTS)[number], text: string): void {
    if (text !== "") this.#texts.set(name, (this.#texts.get(name) ?? "") + text);
  }

  /** Adds content that has more than texts, such as images. The content so far becomes its first part. */
  #addParts(parts: readonly unknown[]): void {
    const before = this.#texts.get("content");
    if (before !== undefined) this.#parts.push({ type: "text", text: before });
    this.#texts.delete("content");
    for (const part of parts) {
      const [last, text] = [plainText(this.#parts.at(-1)), plainText(part)];
      if (last !== undefined && text !== undefined) this.#parts.splice(-1, 1, { type: "text", text: last + text });
      else this.#parts.push(part);
    }
  }

  get toChoice(): Values {
    const choice = { ...this.#unknown, index: this.#index, finish_reason: this.#finish };
    if (this.#completion !== undefined && this.#texts.size === 0) return { ...choice, text: this.#completion };
    const old = this.#legacyCall;
    const parts = this.#parts.length > 0 ? this.#parts : undefined;
    const calls = [...this.#calls.values()].map(wholeCall);
    return {
      ...choice,
      message: {
        role: this.#role,
        content: parts ?? this.#texts.get("content") ?? (calls.length > 0 || old !== undefined ? null : ""),
        ...Object.fromEntries([...this.#texts].filter(([name]) => name !== "content")),
        ...this.#more,
        ...(this.#details.length > 0 && { reasoning_details: this.#details }),
        ...(calls.length > 0 && { tool_calls: calls }),
        ...(old !== undefined && { function_call: { name: old.name, arguments: old.text } }),
      },
    };
  }

  #call(call: Values | undefined, written: WriteArguments): void {
    if (call === undefined) throw new AnswerProblem("a tool call is not an object");
    const custom = objectOf(call["custom"]);
    const called = custom ?? objectOf(call["function"]) ?? {};
    const text = stringOf(custom === undefined ? written(called["arguments"]) : custom["input"]) ?? "";
    const id = stringOf(callIdOf(call["id"])) ?? "";
    const name = stringOf(called["name"]) ?? "";
    const arriving = this.#arriving.callOf({ index: callIndexOf(call["index"]), id, name, arguments: text });
    const known = this.#calls.get(arriving) ?? newCall();
    this.#calls.set(arriving, known);
    known.id ??= id === "" ? undefined : id;
    known.name = arriving.name;
    known.isCustom ||= custom !== undefined;
    known.text = custom === undefined ? joinArguments(known.text, text, arriving) : known.text + text;
    addMembers(known.more, call, 0, CALL_MEMBERS);
  }
}

const newCall = (): FoldedCall => ({ id: undefined, name: "", text: "", isCustom: false, more: {} });

function joinArguments(before: string, received: string, { scan }: Call): string {
  const fragment = scan.newPart(received);
  if (scan.repeats(fragment)) return before;
  const isReplaced = scan.holdsPlaceholder && fragment.trim() !== "";
  scan.push(fragment);
  return isReplaced ? fragment : before + fragment;
}

function wholeCall({ id, name, text, isCustom, more }: FoldedCall): Values {
  if (isCustom) return { ...more, id, type: "custom", custom: { name, input: text } };
  return { ...more, id, type: "function", function: { name, arguments: text } };
}

const hasOtherParts = (content: unknown): boolean => listOf(content).some((part) => plainText(part) === undefined);

/** Returns the text of a part that is nothing but text. */
function plainText(part: unknown): string | undefined {
  const fields = objectOf(part);
  return fields?.["type"] === "text" && Object.keys(fields).length === 2 ? stringOf(fields["text"]) : undefined;
}

const textOfParts = (content: unknown): string =>
  listOf(content)
    .map((part) => stringOf(objectOf(part)?.["text"]) ?? "")
    .join("");
