/**
 * Routes whose input or output is not text: audio and images; and moderations. Each answer reports what was received,
 * so that a test can check that every byte and the model arrived.
 */

import { countWords, wordsOf } from "./answer-text.ts";
import { Refused } from "./dialect-errors.ts";
import { arrayOf, integerOf, objectOf, stringOf } from "./json-fields.ts";
import { fieldOf, filesOf } from "./parse-form.ts";
import { type Answer, type Call, idOf, json } from "./route-types.ts";

const MAX_SPEECH_CHARACTERS = 4_096;

const MAX_IMAGES = 10;

/** Image of one transparent pixel. */
const PIXEL_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/** Frame of silence: MPEG-1 layer III, 128 kbit/s, 44.1 kHz, 417 bytes, 26 ms. */
const SILENT_FRAME = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), Buffer.alloc(413)]);

const CATEGORIES: readonly string[] = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "illicit",
  "illicit/violent",
  "self-harm",
  "self-harm/instructions",
  "self-harm/intent",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
];

/** Answers transcriptions and translations. */
export function answerTranscription(call: Call): Answer {
  const file = filesOf(call.form)[0];
  if (file === undefined) throw new Refused(400, "file is required.", "file");
  const size = file.content.length;
  const text = `A simulated transcription of ${size} bytes by ${call.model}.`;
  const tokens = { input: Math.ceil(size / 1_000), output: countWords(text) };
  const usage = {
    type: "tokens",
    input_tokens: tokens.input,
    output_tokens: tokens.output,
    total_tokens: tokens.input + tokens.output,
    input_token_details: { text_tokens: 0, audio_tokens: tokens.input },
  };
  if (fieldOf(call.form, "stream") === "true") {
    const done = { type: "transcript.text.done", text, usage };
    return { kind: "events", frames: transcriptFrames(text, JSON.stringify(done)), failure: failureOfMedia, tokens };
  }
  const format = fieldOf(call.form, "response_format") ?? "json";
  if (format === "text") return { kind: "body", contentType: "text/plain; charset=utf-8", body: `${text}\n`, tokens };
  if (format === "srt" || format === "vtt") {
    const header = format === "vtt" ? "WEBVTT\n\n00:00.000 --> 00:01.000" : "1\n00:00:00,000 --> 00:00:01,000";
    return { kind: "body", contentType: "text/plain; charset=utf-8", body: `${header}\n${text}\n`, tokens };
  }
  const detail =
    format === "verbose_json" ? { task: "transcribe", language: "english", duration: 1, segments: [] } : {};
  return json(JSON.stringify({ text, ...detail, usage }), tokens);
}

function* transcriptFrames(text: string, done: string): Generator<string> {
  for (const delta of wordsOf(text)) yield `data: ${JSON.stringify({ type: "transcript.text.delta", delta })}\n\n`;
  yield `data: ${done}\n\n`;
}

/** Answers with silence, one frame per word. */
export function answerSpeech({ body }: Call): Answer {
  const input = stringOf(body["input"]) ?? "";
  if (input === "" || input.length > MAX_SPEECH_CHARACTERS) {
    throw new Refused(400, `input must be a text of 1 to ${MAX_SPEECH_CHARACTERS} characters.`, "input");
  }
  const words = countWords(input);
  const tokens = { input: words, output: words };
  if (body["stream_format"] === "sse") {
    return { kind: "events", frames: speechFrames(words), failure: failureOfMedia, tokens };
  }
  const audio = Buffer.concat(Array.from({ length: words }, () => SILENT_FRAME));
  return { kind: "body", contentType: "audio/mpeg", body: audio, tokens };
}

function* speechFrames(words: number): Generator<string> {
  const delta = JSON.stringify({ type: "speech.audio.delta", audio: SILENT_FRAME.toString("base64") });
  for (let word = 0; word < words; word += 1) yield `data: ${delta}\n\n`;
  const usage = { input_tokens: words, output_tokens: words, total_tokens: 2 * words };
  yield `data: ${JSON.stringify({ type: "speech.audio.done", usage })}\n\n`;
}

function failureOfMedia(): string {
  const message = "The simulated provider failed within the stream.";
  return `data: ${JSON.stringify({ error: { message, type: "server_error", param: null, code: "internal_error" } })}\n\n`;
}

/** Answers generations (JSON) and edits (a form or JSON). `simulated` is the simulator's own member: what was received. */
export function answerImages({ body, form, model, byteCount, now }: Call): Answer {
  const prompt = fieldOf(form, "prompt") ?? stringOf(body["prompt"]) ?? "";
  if (prompt === "") throw new Refused(400, "prompt is required.", "prompt");
  const count = integerOf(body["n"]) ?? Number(fieldOf(form, "n") ?? 1);
  if (!(count >= 1 && count <= MAX_IMAGES)) throw new Refused(400, `n must be of 1 to ${MAX_IMAGES}.`, "n");
  const files = filesOf(form);
  const tokens = { input: countWords(prompt), output: count };
  const answer = {
    created: now,
    data: Array.from({ length: count }, () => ({ b64_json: PIXEL_PNG })),
    usage: {
      input_tokens: tokens.input,
      output_tokens: tokens.output,
      total_tokens: tokens.input + tokens.output,
      input_tokens_details: { text_tokens: tokens.input, image_tokens: 0 },
    },
    simulated: {
      model,
      body_bytes: byteCount,
      files: files.map(({ name, content }) => ({ name, bytes: content.length })),
    },
  };
  return json(JSON.stringify(answer), tokens);
}

/** Answers a moderation. A category is flagged if the input contains its name: `violence`, `self-harm`. */
export function answerModeration({ body, model, serial }: Call): Answer {
  const input = body["input"];
  const list = arrayOf(input) ?? [input ?? ""];
  const results = list.map((entry) => {
    const text = (stringOf(entry) ?? stringOf(objectOf(entry)?.["text"]) ?? "").toLowerCase();
    const isMet = CATEGORIES.map((name): [string, boolean] => [name, text.includes(name)]);
    const categories = Object.fromEntries(isMet);
    const category_scores = Object.fromEntries(isMet.map(([name, met]) => [name, met ? 0.99 : 0.0001]));
    const category_applied_input_types = Object.fromEntries(CATEGORIES.map((name) => [name, ["text"]]));
    const flagged = isMet.some(([, met]) => met);
    return { flagged, categories, category_scores, category_applied_input_types };
  });
  return json(JSON.stringify({ id: idOf("modr-", serial), model, results }));
}
