/**
 * Collects the capabilities that the messages of a chat completion request use. Source: dialects reference, 3.1 and 7; what is
 * dropped: 8.3, 8.6.
 */
import { listOf, objectOf, type Values } from "../../json/json-values.ts";
import { dataUriType, isHttpsUrl, isKnownImageType, isText } from "../dialect-forms.ts";
import { CHAT, REPLAYED_MEMBERS } from "../known-fields.ts";
import type { UseList } from "./use-list.ts";

/** Latest turn of the assistant, which may consist of several messages. */
interface LatestTurn {
  readonly place: string;
  hasCalls: boolean;
  hasThinking: boolean;
  isLast: boolean;
}

/**
 * Returns the place of the assistant's latest turn if it calls tools or should be continued, but does not begin with the
 * thinking that a messages provider then requires.
 */
export function readChatHistory(messages: readonly unknown[], uses: UseList): string | undefined {
  let hasBegun = false;
  let turn: LatestTurn | undefined;
  for (let index = 0; index < messages.length; index += 1) {
    const message = objectOf(messages[index]);
    if (message === undefined) continue;
    uses.enter("messages", index);
    const { role } = message;
    if (role === "system" || role === "developer") {
      if (hasBegun) uses.add("mid_system");
      if (hasBegun && (turn?.isLast === true || isModelInput(messages[index + 1]))) uses.lose("mid_system");
      readMessage(message, CHAT.message, false, uses);
      continue;
    }
    hasBegun = true;
    if (role === "assistant") {
      if (turn?.isLast !== true) turn = { place: uses.place(""), hasCalls: false, hasThinking: false, isLast: true };
      readAssistant(message, turn, uses);
      continue;
    }
    if (turn !== undefined) turn.isLast = false;
    readOther(message, role, uses);
  }
  uses.leave();
  if (objectOf(messages.at(-1))?.role === "assistant") uses.add("prefill", `messages[${messages.length - 1}]`);
  if (turn === undefined || turn.hasThinking) return undefined;
  return turn.hasCalls || turn.isLast ? turn.place : undefined;
}

/**
 * Returns whether the message is input for the model. A messages provider accepts an instruction only after such a message,
 * and only if the model's answer follows.
 */
function isModelInput(message: unknown): boolean {
  const role = objectOf(message)?.role;
  return role === "user" || role === "tool" || role === "function";
}

function readOther(message: Values, role: unknown, uses: UseList): void {
  switch (role) {
    case "user":
      readMessage(message, CHAT.message, true, uses);
      return;
    case "tool":
    case "function":
      uses.add("tools");
      readMessage(message, CHAT.toolAnswer, true, uses);
      return;
    default:
      uses.lose("unknown_field", "role");
  }
}

/** Reads a message. `takesMedia` is true if the other dialect allows more than text in this place. */
function readMessage(message: Values, known: ReadonlySet<string>, takesMedia: boolean, uses: UseList): void {
  uses.checkMembers(message, known);
  // On a tool result, `name` repeats the name of the call. On other messages it names a participant, which the other dialect
  // has no member for.
  if (isText(message.name) && message.role !== "function" && message.role !== "tool") uses.lose("hint", "name");
  uses.addCacheMark(message.cache_control, "5m", "cache_control");
  readContent(message.content, takesMedia, uses);
}

function readContent(content: unknown, takesMedia: boolean, uses: UseList): void {
  if (typeof content === "string") return;
  const parts = listOf(content);
  for (let index = 0; index < parts.length; index += 1) {
    const part = objectOf(parts[index]);
    if (part === undefined) continue;
    uses.enterPart("content", index);
    readPart(part, takesMedia, uses);
  }
  uses.leavePart();
}

function readPart(part: Values, takesMedia: boolean, uses: UseList): void {
  uses.addCacheMark(part.prompt_cache_breakpoint, "");
  uses.addCacheMark(part.cache_control, "5m");
  switch (part.type) {
    case "text":
      uses.checkMembers(part, CHAT.text);
      return;
    case "refusal":
      uses.checkMembers(part, CHAT.refusal);
      return;
    case "image_url":
      uses.checkMembers(part, CHAT.image);
      readImage(part.image_url, takesMedia, uses);
      return;
    case "file":
      uses.checkMembers(part, CHAT.file);
      readFile(objectOf(part.file), takesMedia, uses);
      return;
    case "input_audio":
      uses.checkMembers(part, CHAT.audio);
      uses.add("audio_input", "input_audio");
      return;
    default:
      uses.lose("unknown_field", "type");
  }
}

/** Reads an image. Some clients send the URL without the object around it. A data URI may also contain a document. */
function readImage(image: unknown, takesMedia: boolean, uses: UseList): void {
  const object = objectOf(image);
  const url = object === undefined ? image : object.url;
  if (object !== undefined) {
    if (isText(object.detail) && object.detail !== "auto") uses.lose("hint", "image_url.detail");
    uses.checkMembers(object, CHAT.imageUrl, "image_url");
  }
  const type = typeof url === "string" ? dataUriType(url) : undefined;
  const capability = type === "application/pdf" ? "documents" : "vision";
  uses.add(capability, "image_url");
  const isKnown = type === undefined ? typeof url === "string" && isHttpsUrl(url) : isKnownMedia(type);
  if (!isKnown || !takesMedia) uses.lose(capability, "image_url");
}

function isKnownMedia(type: string): boolean {
  return type === "application/pdf" || isKnownImageType(type);
}

function readFile(file: Values | undefined, takesMedia: boolean, uses: UseList): void {
  if (file === undefined) return;
  uses.checkMembers(file, CHAT.fileContent, "file");
  if (isText(file.file_id)) uses.add("file_refs", "file.file_id");
  if (!isText(file.file_data)) return;
  uses.add("documents", "file.file_data");
  const type = dataUriType(file.file_data);
  const isKnown = type === "application/pdf" || type === "text/plain";
  if (!isKnown || !takesMedia) uses.lose("documents", "file.file_data");
}

function readAssistant(message: Values, turn: LatestTurn, uses: UseList): void {
  readMessage(message, CHAT.assistant, false, uses);
  if (objectOf(message.audio) !== undefined) uses.addLost("audio_output", "audio");
  for (const name of ["annotations", ...REPLAYED_MEMBERS]) {
    if (listOf(message[name]).length > 0 || objectOf(message[name]) !== undefined) uses.lose("hint", name);
  }
  turn.hasCalls = readCalls(message, uses) || turn.hasCalls;
  turn.hasThinking = readThought(message, uses) || turn.hasThinking;
}

function readCalls(message: Values, uses: UseList): boolean {
  const calls = listOf(message.tool_calls);
  for (let index = 0; index < calls.length; index += 1) {
    const call = objectOf(calls[index]);
    if (call === undefined) continue;
    uses.add("tools");
    uses.enterPart("tool_calls", index);
    uses.checkMembers(call, CHAT.toolCall);
    if (objectOf(call.extra_content) !== undefined) uses.lose("hint", "extra_content");
    if (call.type === "custom") uses.add("custom_tools");
    else if (call.type === "function" || call.type === undefined || call.type === null)
      readCalled(call.function, "function", uses);
    else uses.lose("unknown_field", "type");
  }
  uses.leavePart();
  const only = objectOf(message.function_call);
  if (only === undefined) return calls.length > 0;
  uses.add("tools", "function_call");
  readCalled(only, "function_call", uses);
  return true;
}

function readCalled(value: unknown, under: string, uses: UseList): void {
  const called = objectOf(value);
  if (called === undefined) return;
  uses.checkMembers(called, CHAT.calledFunction, under);
  if (typeof called.arguments === "string") uses.addArguments(called.arguments);
}

/**
 * Reads thinking that the client sends back. Signed or encrypted thinking is for the provider that made it; all other thinking
 * was only for display.
 */
function readThought(message: Values, uses: UseList): boolean {
  const details = listOf(message.reasoning_details);
  const blocks = listOf(message.thinking_blocks);
  const isSigned = details.some(isSignedThought) || blocks.some(isSignedThought);
  if (isSigned) uses.add("thinking_replay");
  else if (isText(message.reasoning_content)) uses.lose("hint", "reasoning_content");
  else if (isText(message.reasoning)) uses.lose("hint", "reasoning");
  if (details.some(isForDisplay)) uses.lose("hint", "reasoning_details");
  if (blocks.some(isForDisplay)) uses.lose("hint", "thinking_blocks");
  return isSigned;
}

function isSignedThought(value: unknown): boolean {
  const thought = objectOf(value);
  switch (thought?.type) {
    case "thinking":
    case "reasoning.text":
      return isText(thought.signature);
    case "redacted_thinking":
    case "reasoning.encrypted":
      return isText(thought.data);
    default:
      return false;
  }
}

/** Returns whether a thought is meant for display only. Streams may send a signature separately from the text that it signs. */
function isForDisplay(thought: unknown, _index: number, thoughts: readonly unknown[]): boolean {
  return !isSignedThought(thought) && !(objectOf(thought)?.type === "reasoning.text" && thoughts.some(isSignedThought));
}
