/**
 * Applies the smallest possible changes to an answer: the model's name as the client knows it, and removal of the usage that
 * only the gateway asked for. Everything else keeps its bytes.
 */
import { editObject, replaceValue } from "./json/json-edit.ts";
import { type Member, scanObject } from "./json/json-scan.ts";
import { replaceData, type SseEvent } from "./sse.ts";
import { mayHaveUsage } from "./usage/usage-member.ts";

export interface AnswerEdits {
  /** Name of the model at the upstream, and the name to show the client instead (both JSON text). */
  readonly model: { readonly upstream: string; readonly shown: string } | undefined;
  /** Whether the usage is removed because only the gateway asked for it (`stream_options.include_usage`). */
  readonly hidesUsage: boolean;
}

const DROP_USAGE = { set: new Map<string, string>(), remove: new Set(["usage"]), rename: new Map<string, string>() };

/** Returns the event's bytes: the same buffer if nothing changes, `undefined` if the event is not for the client. */
export function editEvent(event: SseEvent, edits: AnswerEdits): Buffer | undefined {
  if (event.data === undefined || event.data === "[DONE]") return event.bytes;
  const data = Buffer.from(event.data);
  const edited = editChunk(data, edits);
  if (edited === undefined || edited === data) return edited === undefined ? undefined : event.bytes;
  return replaceData(event, edited.toString("utf8"));
}

const USAGE = Buffer.from('"usage"');
const NO_USAGE_YET = Buffer.from(',"usage":null');
const OBFUSCATION = Buffer.from(',"obfuscation":"');
const EVENT_END = Buffer.from("}\n\n");

/**
 * Returns whether the chunk consists of whole events (separated by line feeds), none of which can report usage or an error or
 * end the stream. `text` is the chunk with one character per byte: searching one text is faster than searching the bytes
 * repeatedly.
 */
export function hasNoUsage(chunk: Buffer, text: string = chunk.toString("latin1")): boolean {
  return endsWithBlankLine(chunk) && !mayHaveUsage(text) && !text.includes("[DONE]") && !text.includes('"error"');
}

/**
 * Rewrites whole events without parsing them. Returns `undefined` if that is not possible. Usual events are unchanged, or lose
 * a `"usage":null` at their end; that member belongs to the outermost object because the brackets after it close the event.
 */
export function editWithoutParsing(
  chunk: Buffer,
  { model, hidesUsage }: AnswerEdits,
  text: string = chunk.toString("latin1"),
): Buffer | undefined {
  if (model !== undefined || !endsWithBlankLine(chunk)) return undefined;
  if (!hidesUsage || !text.includes('"usage"')) return chunk;
  const pieces: Buffer[] = [];
  let from = 0;
  for (let at = chunk.indexOf(USAGE); at >= 0; at = chunk.indexOf(USAGE, at + USAGE.length)) {
    const start = at - 1;
    const end = start + NO_USAGE_YET.length;
    if (start < from || !startsAt(chunk, NO_USAGE_YET, start) || !isEventEndAt(chunk, end)) return undefined;
    pieces.push(chunk.subarray(from, start));
    from = end;
  }
  if (from === 0) return chunk;
  pieces.push(chunk.subarray(from));
  return Buffer.concat(pieces);
}

/** Returns whether the event ends at `at`. Some providers pad each chunk with a meaningless text after its usage. */
function isEventEndAt(chunk: Buffer, at: number): boolean {
  if (startsAt(chunk, EVENT_END, at)) return true;
  if (!startsAt(chunk, OBFUSCATION, at)) return false;
  const quote = chunk.indexOf(0x22, at + OBFUSCATION.length);
  return quote > 0 && chunk[quote - 1] !== 0x5c && startsAt(chunk, EVENT_END, quote + 1);
}

function startsAt(bytes: Buffer, text: Buffer, at: number): boolean {
  return at >= 0 && bytes.compare(text, 0, text.length, at, Math.min(bytes.length, at + text.length)) === 0;
}

function endsWithBlankLine(bytes: Buffer): boolean {
  return bytes[bytes.length - 1] === 0x0a && bytes[bytes.length - 2] === 0x0a;
}

/**
 * Returns a whole JSON answer; the same buffer if nothing changes. Only the model's name is edited, since the client asked for
 * the usage.
 */
export function editJson(body: Buffer, edits: AnswerEdits): Buffer {
  const scan = scanObject(body, ["model", "id"]);
  return scan.kind === "object" ? replaceModel(body, scan.members[0], edits) : body;
}

function editChunk(data: Buffer, edits: AnswerEdits): Buffer | undefined {
  const scan = scanObject(data, ["model", "usage", "choices", "message", "response"]);
  if (scan.kind !== "object") return data;
  const [model, usage, choices, message, response] = scan.members;
  let edited = data;
  if (model !== undefined) edited = replaceModel(data, model, edits);
  // `message_start` and the events of the responses route have the model one level deeper.
  else edited = replaceNestedModel(edited, message ?? response, edits);
  if (!edits.hidesUsage || usage === undefined) return edited;
  if (textAt(data, usage) === "null") return editObject(edited, DROP_USAGE);
  const hasChoices = choices !== undefined && /^\[\s*\]$/.test(textAt(data, choices)) === false;
  return hasChoices ? edited : undefined;
}

function replaceNestedModel(data: Buffer, member: Member | undefined, edits: AnswerEdits): Buffer {
  if (member === undefined || edits.model === undefined || data[member.valueStart] !== 0x7b) return data;
  const value = data.subarray(member.valueStart, member.valueEnd);
  const edited = editJson(value, edits);
  return edited === value ? data : replaceValue(data, member, edited.toString("utf8"));
}

function replaceModel(body: Buffer, member: Member | undefined, edits: AnswerEdits): Buffer {
  if (member === undefined || edits.model === undefined) return body;
  return textAt(body, member) === edits.model.upstream ? replaceValue(body, member, edits.model.shown) : body;
}

function textAt(bytes: Buffer, member: Member): string {
  return bytes.toString("utf8", member.valueStart, member.valueEnd);
}
