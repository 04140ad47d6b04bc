/** Random answer streams of all forms, with the effects of providers and proxies. */
import type { Dialect } from "../../../../src/server/core/dialects/index.ts";

type Random = () => number;

/** Mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const below = (random: Random, limit: number): number => Math.floor(random() * limit);
export const one = <Item>(random: Random, items: readonly Item[]): Item => items[below(random, items.length)] as Item;

const WORDS = [
  ..."the quick brown fox jumps over a lazy dog and".split(" "),
  "ada.lovelace@example.com",
  "DE89 3704 0044 0532 0130 00",
  "xx",
  "line\nbreak",
  'a "quote"',
  "back\\slash",
  "café",
  "日本語",
  "😀",
  "data:",
  "data:image/png;base64,AAAA",
  "\u0007",
  "[DONE]",
  "\u2028",
];

function prose(random: Random): string {
  const words = Array.from({ length: 1 + below(random, 30) }, () =>
    random() < 0.004 ? "536-90-4399" : random() < 0.6 ? one(random, WORDS.slice(0, 10)) : one(random, WORDS),
  );
  return words.join(one(random, [" ", " ", " ", ""]));
}

/** Pieces of a text, cut anywhere, also between surrogates; some are empty. */
function piecesOf(random: Random): readonly string[] {
  const text = prose(random);
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const to = at + below(random, random() < 0.05 ? 60 : 9);
    pieces.push(text.slice(at, to));
    at = to;
    if (random() < 0.01) pieces.push("data:image/png;base64,AAAA");
  }
  return pieces;
}

export interface Made {
  readonly dialect: Dialect;
  readonly route: string;
  readonly events: readonly string[];
}

const frame = (data: unknown, name = ""): string =>
  `${name === "" ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;

/** Texts that grow in parallel: each piece is an event of its own. */
function interleaved(random: Random, count: number, make: (text: number, piece: string) => string): string[] {
  const texts = Array.from({ length: count }, () => [...piecesOf(random)]);
  const events: string[] = [];
  while (texts.some((pieces) => pieces.length > 0)) {
    const text = below(random, count);
    for (let run = below(random, 6); run >= 0; run--) {
      const piece = texts[text]?.shift();
      if (piece !== undefined) events.push(make(text, piece));
    }
  }
  return events;
}

function chatChunks(random: Random): Made {
  const isOld = random() < 0.15;
  const count = random() < 0.6 ? 1 : 2;
  const isBehind = random() < 0.5;
  const member = one(random, ["content", "content", "content", "reasoning_content", "refusal", "reasoning"]);
  const more = one(random, [
    () => ({}),
    () => ({}),
    () => ({ usage: null }),
    () => ({ obfuscation: "xY9-_".slice(below(random, 6)) }),
    () => ({
      obfuscation: one(random, ["", "abc", "a b", "ada.lovelace@example.com", "data:image/png;base64,AA", "é", 7]),
    }),
    () => ({ provider: one(random, ["north", "south"]) }),
    () => ({ sequence_number: below(random, 4) }),
    () => ({ service_tier: "default", system_fingerprint: "fp" }),
  ]);
  const choiceOf = (index: number, piece: string): object => {
    if (isOld) return { index, text: piece, finish_reason: null };
    const delta =
      random() < 0.03
        ? { tool_calls: [{ index: 0, id: "t", function: { name: "f", arguments: `{"q":${JSON.stringify(piece)}` } }] }
        : random() < 0.03
          ? { [member]: piece, role: "assistant" }
          : { [member]: piece };
    const unusual = random() < 0.02 ? { logprobs: { content: [{ token: piece }] } } : {};
    return { index, delta, finish_reason: random() < 0.01 ? "stop" : null, ...unusual };
  };
  const chunk = (choices: readonly object[]): object => ({
    id: "c",
    object: isOld ? "text_completion" : "chat.completion.chunk",
    created: 1,
    model: "m",
    ...(isBehind ? { choices, ...more() } : { ...more(), choices }),
  });
  const events = interleaved(random, count, (text, piece) =>
    frame(chunk(random() < 0.03 ? [choiceOf(0, piece), choiceOf(1, piece)] : [choiceOf(text, piece)])),
  );
  const finish = frame(chunk([{ index: 0, delta: {}, finish_reason: "stop" }]));
  return {
    dialect: "compat",
    route: isOld ? "completions" : "chat_completions",
    events: [...events, finish, ...(random() < 0.8 ? ["data: [DONE]\n\n"] : [])],
  };
}

function toolArguments(random: Random): Made {
  const json = JSON.stringify({ to: prose(random), n: 12, list: [prose(random), { deep: prose(random) }] });
  const events: string[] = [];
  for (let at = 0; at < json.length; ) {
    const to = at + 1 + below(random, 9);
    const call = { index: 0, function: { arguments: json.slice(at, to) } };
    events.push(frame({ id: "c", created: 1, model: "m", choices: [{ index: 0, delta: { tool_calls: [call] } }] }));
    at = to;
  }
  return { dialect: "compat", route: "chat_completions", events: [...events, "data: [DONE]\n\n"] };
}

function blocks(random: Random): Made {
  const kind = one(random, [
    { type: "text_delta", name: "text" },
    { type: "text_delta", name: "text" },
    { type: "thinking_delta", name: "thinking" },
    { type: "input_json_delta", name: "partial_json" },
  ]);
  const count = 1 + below(random, 2);
  const block =
    kind.name === "partial_json" ? { type: "tool_use", id: "t", name: "f", input: {} } : { type: "text", text: "" };
  const starts = Array.from({ length: count }, (_, index) =>
    frame({ type: "content_block_start", index, content_block: block }, "content_block_start"),
  );
  const deltas = interleaved(random, count, (index, piece) =>
    random() < 0.03
      ? frame({ type: "ping" }, "ping")
      : frame(
          { type: "content_block_delta", index, delta: { type: kind.type, [kind.name]: piece } },
          random() < 0.97 ? "content_block_delta" : one(random, ["", "a name of ada.lovelace@example.com"]),
        ),
  );
  const seals =
    kind.name === "thinking"
      ? [frame({ type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } })]
      : [];
  const stops = Array.from({ length: count }, (_, index) =>
    frame({ type: "content_block_stop", index }, "content_block_stop"),
  );
  const last = frame({ type: "message_stop" }, "message_stop");
  return { dialect: "messages", route: "messages", events: [...starts, ...deltas, ...seals, ...stops, last] };
}

function responses(random: Random): Made {
  let sequence = 0;
  const type = one(random, ["response.output_text", "response.refusal", "response.function_call_arguments"]);
  const place = { item_id: "i", output_index: 0, content_index: 0 };
  let whole = "";
  const isNumbered = random() < 0.8;
  const numbered = (): object =>
    isNumbered ? { sequence_number: sequence++, obfuscation: "x".repeat(sequence % 5) } : {};
  const deltas = interleaved(random, 1, (_, piece) => {
    whole += piece;
    return frame({ type: `${type}.delta`, ...place, delta: piece, ...numbered() }, `${type}.delta`);
  });
  const done = frame({ type: `${type}.done`, ...place, text: whole, ...numbered() }, `${type}.done`);
  const completed = frame({ type: "response.completed", response: { id: "r" }, ...numbered() }, "response.completed");
  const route = random() < 0.8 ? "responses" : "chat_completions";
  return { dialect: "compat", route, events: [...deltas, done, completed] };
}

export const FORMS = [chatChunks, chatChunks, chatChunks, toolArguments, blocks, blocks, responses];

/** Data between events, and other spellings of them. */
export function disturbed(random: Random, events: readonly string[]): readonly string[] {
  const lineEnd = one(random, ["\n", "\n", "\n", "\r\n", "\r"]);
  const hasAsides = random() < 0.2;
  const isOdd = random() < 0.15;
  // Some servers separate events by a single line end.
  const tight = one(random, [0, 0, 0, 0, 0, 0.1, 1]);
  return events.map((event, at) => {
    let made = event;
    if (hasAsides && random() < 0.1) {
      made = one(random, [
        ": keep-alive\n\n",
        `id: 7\n${made}`,
        `: ada.lovelace@example.com\n${made}`,
        `\n${made}`,
        `retry: 1\n${made}`,
      ]);
      if (!made.endsWith(event)) made += event;
    }
    if (isOdd && random() < 0.1) {
      made = one(random, [
        made.replace('"index":0', '"index":0,"index":0'),
        made.replace("data: ", "data:"),
        made.replace("data: {", "data: {\ndata: "),
        made.replace('"model":"m"', '"model":"n"'),
        made.replace("a", "\\u0061"),
        made.replace("a", "\\u006"),
        made.replace("e", "\\"),
        made.replace("o", "\ttab"),
        `${made.slice(0, -2)}event: other\n\n`,
      ]);
    }
    if (at === 0 && random() < 0.1) made = `\ufeff${made}`;
    if (tight > 0 && random() < tight) made = made.slice(0, -1);
    return lineEnd === "\n" ? made : made.replaceAll("\n", lineEnd);
  });
}

/** Chunks of a connection: one event, several, or cut anywhere. */
export function chunksOf(random: Random, events: readonly string[]): readonly Buffer[] {
  const how = below(random, 3);
  if (how === 0) return events.map((event) => Buffer.from(event));
  const bytes = Buffer.from(events.join(""));
  if (random() < 0.05) bytes[below(random, bytes.length)] = 0xff;
  const most = how === 1 ? 40 : 2_000;
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const to = at + 1 + below(random, most);
    chunks.push(bytes.subarray(at, to));
    at = to;
  }
  return chunks;
}
