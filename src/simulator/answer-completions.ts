/**
 * Answers `POST /v1/completions`, the older route: one or several prompts, each answered by `n` texts, whole and
 * streamed.
 */

import { compatFailureFrame, compatUsage, stopsOf } from "./answer-chat.ts";
import { wordsOf } from "./answer-text.ts";
import { Refused } from "./dialect-errors.ts";
import { type Reply, replyTo, type Usage } from "./generate-reply.ts";
import { countPrompt, type GenerationRequest } from "./generation-request.ts";
import { arrayOf, integerOf, type Json, objectOf, stringOf } from "./json-fields.ts";
import { type Answer, type Call, idOf, json } from "./route-types.ts";
import { checkCount } from "./rules/index.ts";

/** Default limit of output tokens. */
const DEFAULT_MAX_TOKENS = 16;

const MAX_PROMPTS = 2_048;

const FINISH = {
  end: "stop",
  length: "length",
  stop: "stop",
  call: "stop",
  refusal: "content_filter",
  filtered: "content_filter",
  pause: "stop",
  context: "length",
} as const;

export function answerCompletion(call: Call): Answer {
  const { body } = call;
  checkCount(body["n"], "n");
  const perPrompt = integerOf(body["n"]) ?? 1;
  const prompts = promptsOf(body["prompt"]);
  const replies = prompts.flatMap((prompt) => {
    const reply = replyTo(generationOf(call, prompt), call.fault, call.memory);
    return Array.from({ length: perPrompt }, () => reply);
  });
  const usage: Usage = {
    input: replies.reduce((sum, reply) => sum + reply.usage.input, 0) / perPrompt,
    output: replies.reduce((sum, reply) => sum + reply.usage.output, 0),
    cacheRead: 0,
    cacheWrite: 0,
    thinking: 0,
  };
  const tokens = { input: usage.input, output: usage.output };
  if (body["stream"] === true) {
    const failure = () => compatFailureFrame(call.requestId);
    return { kind: "events", frames: completionFrames(call, replies, usage), failure, tokens };
  }
  const choices = replies.map((reply, index) => choiceOf(index, reply.text, `"${FINISH[reply.finish]}"`));
  return json(`${headOf(call)}${choices.join(",")}],"usage":${compatUsage(usage, 1)}}`, tokens);
}

function* completionFrames(call: Call, replies: readonly Reply[], usage: Usage): Generator<string> {
  const wantsUsage = objectOf(call.body["stream_options"])?.["include_usage"] === true;
  const head = `data: ${headOf(call)}`;
  const tail = wantsUsage ? `],"usage":null}\n\n` : "]}\n\n";
  for (const [index, reply] of replies.entries()) {
    for (const word of wordsOf(reply.text)) yield `${head}${choiceOf(index, word, "null")}${tail}`;
    yield `${head}${choiceOf(index, "", `"${FINISH[reply.finish]}"`)}${tail}`;
  }
  if (wantsUsage) yield `${head}],"usage":${compatUsage(usage, 1)}}\n\n`;
  yield "data: [DONE]\n\n";
}

function headOf(call: Call): string {
  const model = JSON.stringify(call.model);
  const id = idOf("cmpl-", call.serial);
  return `{"id":"${id}","object":"text_completion","created":${call.now},"model":${model},"choices":[`;
}

function choiceOf(index: number, text: string, finish: string): string {
  return `{"text":${JSON.stringify(text)},"index":${index},"logprobs":null,"finish_reason":${finish}}`;
}

/** Returns the prompts: strings, or lists of tokens, one or many. Only the number of tokens matters. */
function promptsOf(prompt: Json | undefined): readonly string[] {
  if (prompt === undefined || prompt === null) return [""];
  const list = arrayOf(prompt);
  if (list === undefined) return [stringOf(prompt) ?? ""];
  if (list.length === 0 || list.length > MAX_PROMPTS) {
    throw new Refused(400, `prompt must hold 1 to ${MAX_PROMPTS} entries.`, "prompt");
  }
  if (list.every((each) => typeof each === "number")) return [list.join(" ")];
  return list.map((each) => stringOf(each) ?? (arrayOf(each) ?? []).join(" "));
}

function generationOf({ model, body, fault }: Call, question: string): GenerationRequest {
  const isLengthAsked = fault.kind === "long" || fault.kind === "big";
  const prompt = countPrompt();
  prompt.text(question);
  return {
    model,
    question,
    toolAnswer: undefined,
    toolRounds: 0,
    tools: [],
    allowsParallel: false,
    answerSchema: undefined,
    isThinking: false,
    prompt: prompt.done(),
    maxTokens: integerOf(body["max_tokens"]) ?? (isLengthAsked ? undefined : DEFAULT_MAX_TOKENS),
    stops: stopsOf(body["stop"]),
  };
}
