/**
 * Folds an unrequested stream into a whole answer of the same dialect. Source: dialects reference, 3.3 and 5.3; responses
 * reference, 7; design decisions, section 20.
 */
import { scanObject } from "../json/json-scan.ts";
import { Verbatim, writeJson } from "../json/json-source.ts";
import { listOf, objectOf, tryParseJson, type Values } from "../json/json-values.ts";
import { rawArguments } from "./chat-answers/arguments-scan.ts";
import { eventsOf, foldChunks, isEventText } from "./chat-answers/normalize-chat-answer.ts";
import { foldEvents } from "./messages-answers/fold-events.ts";
import { AnswerProblem, StreamEndedEarly } from "./types.ts";

export type FoldedForm = "chat" | "messages" | "responses";

const FOLDS: Readonly<Record<FoldedForm, (body: string) => string>> = {
  chat: (body) => writeJson(foldChunks(body)),
  messages: (body) => writeJson(parseInputs(foldEvents(body))),
  responses: foldResponse,
};

/**
 * Returns the folded answer as JSON text. `body` is the text of a stream; any other text is returned unchanged. Throws
 * `AnswerProblem`.
 */
export function foldAnswer(form: FoldedForm, body: string): string {
  return isEventText(body) ? FOLDS[form](body) : body;
}

/** Parses the inputs of calls, which arrived as fragments of their text, to objects. */
function parseInputs(message: Values): Values {
  return { ...message, content: listOf(message["content"]).map(parseInput) };
}

function parseInput(block: unknown): unknown {
  const fields = objectOf(block);
  const input = fields?.["input"];
  if (fields === undefined || typeof input !== "string") return block;
  if (input.trim() === "") return { ...fields, input: {} };
  return { ...fields, input: new Verbatim(objectOf(tryParseJson(input)) === undefined ? rawArguments(input) : input) };
}

const END_EVENTS: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete", "response.failed"]);

/** Folds the events of a response. The last event has the whole response, but some hosts omit its items there. */
function foldResponse(body: string): string {
  const items: Verbatim[] = [];
  for (const text of eventsOf(body).data) {
    const event = objectOf(tryParseJson(text));
    if (event === undefined) throw new AnswerProblem("an event of the stream is not a JSON object");
    const { type, response, object } = event;
    if (type === "error") throw new AnswerProblem("the provider's answer ended with an error");
    if (object === "response") return text;
    if (type === "response.output_item.done") items.push(memberOf(text, "item"));
    if (!END_EVENTS.has(type) || objectOf(response) === undefined) continue;
    const whole = memberOf(text, "response");
    const fields = objectOf(response);
    if (items.length === 0 || listOf(fields?.["output"]).length > 0) return whole.text;
    return writeJson({ ...fields, output: items });
  }
  throw new StreamEndedEarly();
}

/** Returns the value of a member exactly as written. */
function memberOf(text: string, name: string): Verbatim {
  const bytes = Buffer.from(text);
  const scan = scanObject(bytes, [name]);
  const member = scan.kind === "object" ? scan.members[0] : undefined;
  if (member === undefined) throw new AnswerProblem("an event of the stream is incomplete");
  return new Verbatim(bytes.toString("utf8", member.valueStart, member.valueEnd));
}
