/**
 * Changes a chat answer, whole or streamed, by the deviations in `stream-oddities.ts`. It changes the finished usual answer,
 * so that usual answers cost nothing extra; all chunks of a changed stream are buffered.
 */

import { arrayOf, type Json, type JsonObject, objectOf, objectsOf, parseJson, stringOf } from "./json-fields.ts";
import type { Oddity } from "./stream-oddities.ts";
import { signatureOf } from "./thinking-signature.ts";

type Oddities = ReadonlySet<Oddity>;

const DATA = "data: ";
const DONE = "[DONE]";

/**
 * Returns the changed frames. `usage`: usage of the answer as JSON, which a changed stream may contain although it was
 * not requested. `thinking`: whole thinking text.
 */
export function deformFrames(
  frames: Iterable<string>,
  oddities: Oddities,
  usage: string,
  thinking: string,
): readonly string[] {
  let chunks: readonly JsonObject[] = Array.from(frames, (frame) => frame.slice(DATA.length).trim())
    .filter((text) => text !== DONE)
    .map((text) => objectOf(parseJson(text)) ?? {});
  for (const { kinds, change } of STREAM_CHANGES) {
    if (kinds.some((kind) => oddities.has(kind))) chunks = change(chunks, oddities, objectOf(parseJson(usage)) ?? {});
  }
  chunks = chunks.map((chunk) => mapChoices(chunk, (choice) => deformChoice(choice, "delta", oddities)));
  if (oddities.has("reasoning-details")) chunks = withSignature(chunks, thinking);
  const texts = chunks.map((chunk) => JSON.stringify(chunk));
  if (!oddities.has("no-done")) texts.push(DONE);
  const lead = oddities.has("comments") ? ": keep-alive\n\n" : "";
  const data = oddities.has("no-space") ? "data:" : DATA;
  const whole = texts.map((text) => `${lead}${data}${text}\n\n`);
  return oddities.has("crlf") ? whole.map((text) => text.replaceAll("\n", "\r\n")) : whole;
}

/** Returns the changed body of a whole answer. */
export function deformBody(body: string, oddities: Oddities): string {
  const answer = objectOf(parseJson(body)) ?? {};
  const changed = mapChoices(answer, (choice) => deformChoice(choice, "message", oddities));
  if (!oddities.has("no-usage")) return JSON.stringify(changed);
  return JSON.stringify({ ...changed, usage: undefined });
}

interface StreamChange {
  readonly kinds: readonly Oddity[];
  readonly change: (chunks: readonly JsonObject[], oddities: Oddities, usage: JsonObject) => readonly JsonObject[];
}

/** Changes in the order in which they apply; those that move chunks come before those that count them. */
const STREAM_CHANGES: readonly StreamChange[] = [
  { kinds: ["whole-arguments"], change: joinArguments },
  { kinds: ["interleaved"], change: interleave },
  { kinds: ["text-with-calls"], change: joinTextAndCalls },
  { kinds: ["id-each"], change: repeatIds },
  { kinds: ["no-role"], change: (chunks) => chunks.map((chunk) => mapDelta(chunk, ({ role: _, ...delta }) => delta)) },
  {
    kinds: ["role-each"],
    change: (chunks) => chunks.map((chunk) => mapDelta(chunk, (delta) => ({ role: "assistant", ...delta }))),
  },
  {
    kinds: ["usage-on-finish", "usage-every-chunk", "usage-unasked", "no-usage", "no-choices-usage"],
    change: placeUsage,
  },
];

/**
 * Changes a finish reason and the calls, which deviate in the same way in both forms. `key`: member that contains the
 * message.
 */
function deformChoice(choice: JsonObject, key: "delta" | "message", oddities: Oddities): JsonObject {
  let message = objectOf(choice[key]) ?? {};
  let finish = choice["finish_reason"] ?? null;
  if (oddities.has("finish-stop") && finish === "tool_calls") finish = "stop";
  if (oddities.has("no-finish") || (oddities.has("finish-empty") && finish === null)) finish = "";
  const calls = arrayOf(message["tool_calls"]);
  if (calls === undefined && stringOf(message["content"]) !== undefined) {
    if (oddities.has("tool-calls-empty")) message = { ...message, tool_calls: [] };
    if (oddities.has("tool-calls-null")) message = { ...message, tool_calls: null };
  }
  if (calls !== undefined)
    message = { ...message, tool_calls: objectsOf(calls).map((call) => deformCall(call, oddities)) };
  const { reasoning_content: thinking, ...rest } = message;
  if (typeof thinking === "string" && oddities.has("reasoning")) message = { ...rest, reasoning: thinking };
  if (typeof thinking === "string" && oddities.has("reasoning-details")) {
    const signature = key === "message" ? signatureOf(thinking) : undefined;
    message = { ...rest, reasoning_details: [{ type: "reasoning.text", text: thinking, signature, index: 0 }] };
  }
  return { ...choice, [key]: message, finish_reason: finish };
}

function deformCall({ index, id, ...call }: JsonObject, oddities: Oddities): JsonObject {
  return { ...(oddities.has("no-index") ? {} : { index }), ...(oddities.has("no-id") ? {} : { id }), ...call };
}

/** Adds a detail with the signature after the last one with text. */
function withSignature(chunks: readonly JsonObject[], thinking: string): readonly JsonObject[] {
  const at = chunks.findLastIndex((chunk) => deltaOf(chunk)["reasoning_details"] !== undefined);
  const last = chunks[at];
  if (last === undefined) return chunks;
  const detail = { type: "reasoning.text", signature: signatureOf(thinking), index: 0 };
  return chunks.toSpliced(
    at + 1,
    0,
    mapDelta(last, () => ({ reasoning_details: [detail] })),
  );
}

function placeUsage(chunks: readonly JsonObject[], oddities: Oddities, usage: JsonObject): readonly JsonObject[] {
  const choiceChunks = chunks.filter((chunk) => objectsOf(chunk["choices"]).length > 0);
  const own = chunks.filter((chunk) => objectsOf(chunk["choices"]).length === 0);
  const [first = {}] = choiceChunks;
  if (oddities.has("no-usage")) return choiceChunks.map(({ usage: _, ...chunk }) => chunk);
  if (oddities.has("usage-every-chunk")) {
    const all = Number(usage["completion_tokens"]);
    const input = Number(usage["prompt_tokens"]);
    return choiceChunks.map((chunk, index) => {
      const output = index === choiceChunks.length - 1 ? all : Math.min(index, all);
      return { ...chunk, usage: { ...usage, completion_tokens: output, total_tokens: input + output } };
    });
  }
  if (oddities.has("usage-on-finish")) {
    return choiceChunks.map(({ usage: _, ...chunk }) => (finishOf(chunk) === null ? chunk : { ...chunk, usage }));
  }
  const usageChunks = own.length > 0 || oddities.has("usage-unasked") ? [{ ...first, choices: [], usage }] : [];
  if (!oddities.has("no-choices-usage")) return [...choiceChunks, ...usageChunks];
  return [...choiceChunks, ...usageChunks.map(({ choices: _, ...chunk }): JsonObject => chunk)];
}

function joinArguments(chunks: readonly JsonObject[]): readonly JsonObject[] {
  const joined: JsonObject[] = [];
  for (const chunk of chunks) {
    const [call] = callsOf(chunk);
    const last = joined.at(-1);
    const [before] = last === undefined ? [] : callsOf(last);
    const isSame = before?.["index"] === call?.["index"] && choiceIndexOf(last) === choiceIndexOf(chunk);
    if (call === undefined || before === undefined || last === undefined || !isSame) joined.push(chunk);
    else joined[joined.length - 1] = withCalls(last, [withArguments(before, argumentsOf(before) + argumentsOf(call))]);
  }
  return joined;
}

/** Moves the starts of all calls to the front, and alternates the fragments of the calls. */
function interleave(chunks: readonly JsonObject[]): readonly JsonObject[] {
  const isCall = (chunk: JsonObject): boolean => callsOf(chunk).length > 0;
  const from = chunks.findIndex(isCall);
  if (from < 0) return chunks;
  const calls = chunks.filter(isCall);
  const turns = new Map<Json | undefined, number>();
  const placed = calls.map((chunk) => {
    const index = callsOf(chunk)[0]?.["index"];
    const turn = turns.get(index) ?? 0;
    turns.set(index, turn + 1);
    return { chunk, turn };
  });
  placed.sort((a, b) => a.turn - b.turn);
  const rest = chunks.filter((chunk) => !isCall(chunk));
  return [...rest.slice(0, from), ...placed.map(({ chunk }) => chunk), ...rest.slice(from)];
}

function joinTextAndCalls(chunks: readonly JsonObject[]): readonly JsonObject[] {
  const at = chunks.findIndex((chunk) => callsOf(chunk).length > 0);
  const [text, call] = [chunks[at - 1], chunks[at]];
  if (text === undefined || call === undefined) return chunks;
  const content = deltaOf(text)["content"];
  if (typeof content !== "string") return chunks;
  return chunks.toSpliced(
    at - 1,
    2,
    mapDelta(text, (delta) => ({ ...delta, content, tool_calls: callsOf(call) })),
  );
}

function repeatIds(chunks: readonly JsonObject[]): readonly JsonObject[] {
  const starts = new Map<Json | undefined, JsonObject>();
  return chunks.map((chunk) => {
    const calls = callsOf(chunk).map((call) => {
      const start = starts.get(call["index"]);
      if (start === undefined) {
        starts.set(call["index"], call);
        return call;
      }
      const name = objectOf(start["function"])?.["name"];
      const made = { ...objectOf(call["function"]), name };
      return { ...call, id: start["id"], type: "function", function: made };
    });
    return calls.length === 0 ? chunk : withCalls(chunk, calls);
  });
}

function mapChoices(holder: JsonObject, change: (choice: JsonObject) => JsonObject): JsonObject {
  return holder["choices"] === undefined ? holder : { ...holder, choices: objectsOf(holder["choices"]).map(change) };
}

function mapDelta(chunk: JsonObject, change: (delta: JsonObject) => JsonObject): JsonObject {
  return mapChoices(chunk, (choice) => ({ ...choice, delta: change(objectOf(choice["delta"]) ?? {}) }));
}

function deltaOf(chunk: JsonObject): JsonObject {
  return objectOf(objectsOf(chunk["choices"])[0]?.["delta"]) ?? {};
}

function finishOf(chunk: JsonObject): Json {
  return objectsOf(chunk["choices"])[0]?.["finish_reason"] ?? null;
}

function choiceIndexOf(chunk: JsonObject | undefined): Json | undefined {
  return objectsOf(chunk?.["choices"])[0]?.["index"];
}

function callsOf(chunk: JsonObject): readonly JsonObject[] {
  return objectsOf(deltaOf(chunk)["tool_calls"]);
}

function withCalls(chunk: JsonObject, calls: readonly JsonObject[]): JsonObject {
  return mapDelta(chunk, (delta) => ({ ...delta, tool_calls: calls }));
}

function argumentsOf(call: JsonObject): string {
  return stringOf(objectOf(call["function"])?.["arguments"]) ?? "";
}

function withArguments(call: JsonObject, text: string): JsonObject {
  return { ...call, function: { ...objectOf(call["function"]), arguments: text } };
}
