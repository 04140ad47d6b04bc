/**
 * Answers `POST /v1/embeddings` and `POST /v1/rerank`: texts as vectors, and documents sorted by their similarity to a
 * query.
 *
 * A vector is the normalized sum of signed spikes, a few for each word (feature hashing), so equal texts have equal
 * vectors, and texts with common words have similar ones. The SDKs request base64: 32-bit floats, little-endian.
 */

import { createHash } from "node:crypto";
import { countWords } from "./answer-text.ts";
import { Refused } from "./dialect-errors.ts";
import { arrayOf, integerOf, type Json, objectOf, stringOf } from "./json-fields.ts";
import { type Answer, type Call, idOf, json } from "./route-types.ts";

/** Limits of the dialect: inputs per request, and dimensions of its largest model. */
const MAX_INPUTS = 2_048;
const MAX_DIMENSIONS = 3_072;
const DEFAULT_DIMENSIONS = 1_536;

/** Maximum number of words that influence the vector. */
const MAX_WORDS = 512;

const SPIKES_PER_WORD = 8;

export function answerEmbeddings({ body, model }: Call): Answer {
  const inputs = inputsOf(body["input"]);
  const dimensions = integerOf(body["dimensions"]) ?? DEFAULT_DIMENSIONS;
  if (dimensions < 1 || dimensions > MAX_DIMENSIONS) {
    throw new Refused(400, `dimensions must be an integer of 1 to ${MAX_DIMENSIONS}.`, "dimensions");
  }
  const isBase64 = body["encoding_format"] === "base64";
  let tokens = 0;
  const entries = inputs.map((text, index) => {
    tokens += countWords(text);
    const vector = embed(model, text, dimensions);
    const encoded = isBase64 ? `"${base64Of(vector)}"` : JSON.stringify(Array.from(vector));
    return `{"object":"embedding","index":${index},"embedding":${encoded}}`;
  });
  const usage = `{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
  const text = `{"object":"list","data":[${entries.join(",")}],"model":${JSON.stringify(model)},"usage":${usage}}`;
  return json(text, { input: tokens, output: 0 });
}

/** Ranks documents. Similarity is the share of the query's words that a document contains. */
export function answerRerank({ body, model, serial }: Call): Answer {
  const query = stringOf(body["query"]);
  const documents = arrayOf(body["documents"]);
  if (query === undefined) throw new Refused(400, "query must be a string.", "query");
  if (documents === undefined || documents.length === 0 || documents.length > MAX_INPUTS) {
    throw new Refused(400, `documents must hold 1 to ${MAX_INPUTS} entries.`, "documents");
  }
  const texts = documents.map((each) => stringOf(each) ?? stringOf(objectOf(each)?.["text"]) ?? "");
  const wanted = new Set(keysOf(query));
  const scored = texts.map((text, index) => {
    const met = new Set(keysOf(text).filter((key) => wanted.has(key)));
    return { index, relevance_score: wanted.size === 0 ? 0 : met.size / wanted.size };
  });
  scored.sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index);
  const results = scored.slice(0, Math.max(1, integerOf(body["top_n"]) ?? texts.length));
  const withText = body["return_documents"] === true;
  const tokens = texts.reduce((sum, text) => sum + countWords(text), countWords(query));
  const answer = {
    id: idOf("rerank-", serial),
    model,
    results: withText ? results.map((each) => ({ ...each, document: { text: texts[each.index] } })) : results,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    meta: { billed_units: { search_units: 1 } },
  };
  return json(JSON.stringify(answer), { input: tokens, output: 0 });
}

/** Returns the inputs: a string, strings, a list of tokens or lists of tokens. */
function inputsOf(input: Json | undefined): readonly string[] {
  const list = arrayOf(input);
  const isTokens = list?.every((each) => typeof each === "number") === true;
  const texts = list === undefined || isTokens ? [textOf(input)] : list.map(textOf);
  if (texts.length === 0 || texts.length > MAX_INPUTS || texts.includes("")) {
    throw new Refused(400, `input must be 1 to ${MAX_INPUTS} texts that are not empty.`, "input");
  }
  return texts;
}

function textOf(input: Json | undefined): string {
  return stringOf(input) ?? (arrayOf(input) ?? []).join(" ");
}

function embed(model: string, text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const key of keysOf(text)) {
    const digest = createHash("sha256").update(`${model}\u0000${key}`).digest();
    for (let spike = 0; spike < SPIKES_PER_WORD; spike += 1) {
      const value = digest.readUInt32LE(spike * 4);
      const at = (value >>> 1) % dimensions;
      vector[at] = (vector[at] ?? 0) + (value & 1 ? 1 : -1);
    }
  }
  let square = 0;
  for (const value of vector) square += value * value;
  if (square === 0) vector[0] = square = 1; // In few dimensions, spikes may cancel each other out.
  const norm = Math.sqrt(square);
  return vector.map((value) => value / norm);
}

function keysOf(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length === 0 ? [text.slice(0, MAX_WORDS)] : words.slice(0, MAX_WORDS);
}

function base64Of(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => {
    bytes.writeFloatLE(value, index * 4);
  });
  return bytes.toString("base64");
}
