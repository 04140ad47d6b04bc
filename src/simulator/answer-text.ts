/**
 * Texts of answers and their token counts: pure functions of model and question.
 *
 * One word (a run of characters up to and including the space after it) is one token and one chunk of a stream, so that
 * a reader can check a count by eye. JSON, which has few spaces, counts one token per four characters.
 */

import type { Fault } from "./fault-table.ts";

/** Maximum number of characters of a question that are repeated, so that answers stay short. */
const MAX_ECHO_CHARACTERS = 200;

/** Returns the text of an answer to `question`. `toolAnswer` is the result of the client's tool, if the turn is a tool result. */
export function answerText(model: string, question: string, toolAnswer: string | undefined): string {
  const end = `The model name was ${excerpt(model)}; the same question always gets this same answer.`;
  if (toolAnswer !== undefined) {
    return `This is a simulated answer: no model was called. Your tool said: "${excerpt(toolAnswer)}" ${end}`;
  }
  if (question === "") return `This is a simulated answer: no model was called. You asked nothing in words. ${end}`;
  return `This is a simulated answer: no model was called. You asked: "${excerpt(question)}" ${end}`;
}

/** Returns the text that a fault determines, or `usual()`. */
export function applyTextFault(fault: Fault, healthyText: () => string): string {
  if (fault.kind === "no-text") return "";
  if (fault.kind === "long") return longText(fault.words);
  if (fault.kind === "big") return bigText(fault.kib);
  return healthyText();
}

export function thinkingText(question: string): string {
  return `The question is: "${excerpt(question)}". A simulated provider need not think about it for long.`;
}

export function excerpt(text: string): string {
  const flat = text
    .slice(0, 4 * MAX_ECHO_CHARACTERS)
    .replace(/\s+/g, " ")
    .trim();
  if (flat.length <= MAX_ECHO_CHARACTERS) return flat.toWellFormed();
  return `${flat.slice(0, MAX_ECHO_CHARACTERS).toWellFormed().trimEnd()}…`;
}

/** Yields the words of a text, each with the spaces after it. Joined, they are the text. */
export function* wordsOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = endOfWord(text, at);
    yield text.slice(at, end);
    at = end;
  }
}

export function countWords(text: string): number {
  let words = 0;
  for (let at = 0; at < text.length; at = endOfWord(text, at)) words += 1;
  return words;
}

/** Returns the first `max` words of a text. */
export function takeWords(text: string, max: number): string {
  let at = 0;
  for (let words = 0; words < max && at < text.length; words += 1) at = endOfWord(text, at);
  return text.slice(0, at);
}

export function countJsonTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** Returns the beginning of a JSON text, with `max` tokens. */
export function takeJson(text: string, max: number): string {
  return text.slice(0, 4 * max);
}

/** Yields pieces of `size` characters, as the arguments of a tool call are streamed. */
export function* piecesOf(text: string, size: number): Generator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

function endOfWord(text: string, from: number): number {
  let at = from;
  while (at < text.length && !isSpace(text.charCodeAt(at))) at += 1;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

const LONG_TEXT_WORDS = "this simulated answer is as long as its model name asks for and says nothing new".split(" ");

function longText(words: number): string {
  const whole = `${LONG_TEXT_WORDS.join(" ")} `;
  const rest = LONG_TEXT_WORDS.slice(0, words % LONG_TEXT_WORDS.length).join(" ");
  return (whole.repeat(Math.floor(words / LONG_TEXT_WORDS.length)) + rest).trimEnd();
}

/** Returns a text of exactly `kib` KiB with one word per KiB, so that measurements show throughput and not framing. */
function bigText(kib: number): string {
  return `${"simulated-".repeat(103).slice(0, 1023)} `.repeat(kib);
}
