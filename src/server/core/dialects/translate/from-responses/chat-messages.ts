/**
 * Translates the conversation of a `responses` request to messages of a chat completion. Source: responses reference, 3.1 to
 * 3.3, 4.6.
 */
import { listOf, objectOf } from "../../json/json-values.ts";
import { refuse } from "../required-members.ts";
import { markedCalls } from "../to-compat/call-signature.ts";
import type { ChannelTerms } from "../types.ts";
import type { Call, ClientMessage, Content, ItemConversation, Output, Part, Round } from "./item-conversation.ts";
import { endBeforeTrailingThoughts, type Thoughts } from "./replayed-reasoning.ts";

type Claims = ChannelTerms["claims"];

type Message = Readonly<Record<string, unknown>>;

interface MessageDraft {
  readonly claims: Claims;
  readonly signsCalls: ChannelTerms["signsCalls"];
  readonly thoughts: Thoughts;
  readonly system: Content[];
  readonly messages: Message[];
}

/** Media of a round's outputs, for the user's next message. */
interface Media {
  readonly parts: Message[];
  readonly counts: Map<unknown, number>;
}

const DOCUMENT_NAME = "document.pdf";

export function messagesOf(
  { system, rounds }: ItemConversation,
  thoughts: Thoughts,
  { claims, signsCalls }: ChannelTerms,
): readonly Message[] {
  const writing: MessageDraft = { claims, signsCalls, thoughts, system: [...system], messages: [] };
  for (const round of rounds) addRound(round, writing);
  const { messages } = writing;
  // A provider without prefill would read an unfinished answer as a complete turn.
  if (messages.at(-1)?.["role"] === "assistant" && !claims("prefill")) messages.pop();
  const first = systemMessage(writing.system, claims);
  if (messages.length === 0 && first === undefined) refuse("input", "has no content that could be answered");
  return first === undefined ? messages : [first, ...messages];
}

/** Returns all instructions as one system message: some providers only accept one, as the first message. */
function systemMessage(contents: readonly Content[], claims: Claims): Message | undefined {
  const parts = contents.flatMap((content) => partsOf(content, claims)).filter(({ type }) => type === "text");
  if (parts.length === 0) return undefined;
  const isMarked = parts.some((part) => part["prompt_cache_breakpoint"] !== undefined);
  return { role: "system", content: isMarked ? parts : parts.map(({ text }) => text).join("\n\n") };
}

function addRound(round: Round, writing: MessageDraft): void {
  const { claims, messages } = writing;
  const assistant = assistantMessage(round, writing);
  if (assistant !== undefined) messages.push(assistant);
  const media: Media = { parts: [], counts: new Map() };
  if (claims("tools")) for (const output of round.outputs) messages.push(toolMessage(output, media, claims));
  for (const [index, message] of round.messages.entries()) {
    const isNext = index === 0 && message.role === "user";
    if (!isNext && media.parts.length > 0) messages.push({ role: "user", content: media.parts.splice(0) });
    addMessage(message, media.parts.splice(0), writing);
  }
  if (media.parts.length > 0) messages.push({ role: "user", content: media.parts });
}

function addMessage(
  { role, content }: ClientMessage,
  media: readonly Message[],
  { claims, system, messages }: MessageDraft,
): void {
  if (role === "system") {
    const message = systemMessage([content], claims);
    if (message === undefined) return;
    if (claims("mid_system")) messages.push(message);
    else system.push(content);
    return;
  }
  const parts = [...media, ...partsOf(content, claims)];
  const [only] = parts;
  if (only === undefined) return;
  const isPlain = parts.length === 1 && only["type"] === "text" && only["prompt_cache_breakpoint"] === undefined;
  messages.push({ role, content: isPlain ? only["text"] : parts });
}

/** Returns the message of a round, or `undefined` if nothing of it can be sent. */
function assistantMessage({ steps }: Round, draft: MessageDraft): Message | undefined {
  const { claims, thoughts } = draft;
  const texts = steps.filter((step) => step.kind === "text").filter(({ text }) => text !== "");
  const calls = claims("tools") ? steps.filter((step) => step.kind === "call").map(callOf) : [];
  // Thoughts are read even if there is no message, so that those that are lost are counted.
  const { thought, details } = readThoughts(steps, thoughts);
  if (texts.length === 0 && calls.length === 0) return undefined;
  const isRefused = texts.length > 0 && texts.every(({ isRefusal }) => isRefusal);
  const text = texts.map((each) => each.text).join("");
  return {
    role: "assistant",
    content: isRefused || texts.length === 0 ? null : text,
    refusal: isRefused ? text : undefined,
    reasoning_content: thought || undefined,
    reasoning_details: details.length > 0 ? details : undefined,
    tool_calls: calls.length > 0 ? markedCalls(calls, draft) : undefined,
  };
}

/** Unseals the thoughts of a round. Trailing ones are dropped, since no text or call follows that they led to. */
function readThoughts(
  steps: Round["steps"],
  thoughts: MessageDraft["thoughts"],
): { thought: string; details: unknown[] } {
  const details: unknown[] = [];
  let thought = "";
  const end = endBeforeTrailingThoughts(steps);
  for (const [index, step] of steps.entries()) {
    if (step.kind === "text" || step.kind === "call") continue;
    if (index >= end) {
      thoughts.drop(step);
      continue;
    }
    for (const block of thoughts.blocksOf(step)) {
      if (block.k === "c") thought += block.x;
      else if (block.k === "d")
        for (const detail of Array.isArray(block.j) ? listOf(block.j) : [block.j]) details.push(detail);
    }
  }
  return { thought, details };
}

function callOf({ id, name, input, isCustom }: Call): Message {
  const written = isCustom ? JSON.stringify({ input }) : input || "{}";
  return { id, type: "function", function: { name, arguments: written } };
}

/** Returns the message of a tool. It has text only: media move to the user's next message, and the text refers to them. */
function toolMessage({ id, content }: Output, media: Media, claims: Claims): Message {
  if (typeof content === "string") return { role: "tool", tool_call_id: id, content };
  const lines = partsOf(content, claims).map((part) => {
    const { type } = part;
    if (type === "text") return part["text"];
    const count = (media.counts.get(type) ?? 0) + 1;
    media.parts.push(part);
    media.counts.set(type, count);
    return `[${KINDS.get(type) ?? "file"} ${count} below]`;
  });
  return { role: "tool", tool_call_id: id, content: lines.join("\n") };
}

const KINDS: ReadonlyMap<unknown, string> = new Map([
  ["image_url", "image"],
  ["file", "document"],
  ["input_audio", "audio"],
]);

function partsOf(content: Content, claims: Claims): readonly Message[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content.flatMap((part): readonly Message[] => {
    const chatPart = partOf(part, claims);
    return chatPart === undefined ? [] : [chatPart];
  });
}

/** Returns the part, or `undefined` if the channel has no form for it; the guard has reported that loss. */
function partOf(part: Part, claims: Claims): Message | undefined {
  const prompt_cache_breakpoint = claims("prompt_caching") ? objectOf(part.marked) : undefined;
  switch (part.kind) {
    case "text":
      return part.text === "" ? undefined : { type: "text", text: part.text, prompt_cache_breakpoint };
    case "image": {
      if (!claims("vision")) return undefined;
      const { url, detail } = part;
      return { type: "image_url", image_url: { url, detail: detailOf(detail) }, prompt_cache_breakpoint };
    }
    case "file": {
      if (part.data === undefined || !claims("documents")) return undefined;
      return {
        type: "file",
        file: { filename: part.name ?? DOCUMENT_NAME, file_data: part.data },
        prompt_cache_breakpoint,
      };
    }
    case "audio":
      return claims("audio_input")
        ? { type: "input_audio", input_audio: part.audio, prompt_cache_breakpoint }
        : undefined;
  }
}

function detailOf(detail: string | undefined): string | undefined {
  if (detail === "auto") return undefined;
  return detail === "original" ? "high" : detail;
}
