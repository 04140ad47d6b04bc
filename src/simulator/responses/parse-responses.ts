/** Reads a `responses` request as a `GenerationRequest`, and the tools by the names that its reply uses. */

import { Refused } from "../dialect-errors.ts";
import { countPrompt, type GenerationRequest, type PromptCounter } from "../generation-request.ts";
import { integerOf, type Json, type JsonObject, objectOf, objectsOf, stringOf } from "../json-fields.ts";
import { isEncryptedContent } from "../thinking-signature.ts";
import { type CallableTool, callableTools } from "./callable-tools.ts";

interface ResponsesRequest {
  readonly generation: GenerationRequest;
  readonly tools: ReadonlyMap<string, CallableTool>;
}

type PromptFacts = Pick<GenerationRequest, "question" | "toolAnswer" | "toolRounds">;

/** Reads a request. Throws `Refused`. */
export function readResponses(model: string, body: JsonObject): ResponsesRequest {
  const prompt = countPrompt();
  prompt.text(stringOf(body["instructions"]) ?? "");
  const input = readInput(body["input"], prompt);
  const effort = stringOf(objectOf(body["reasoning"])?.["effort"]) ?? "none";
  const format = objectOf(objectOf(body["text"])?.["format"]);
  const tools = callableTools(body);
  const generation: GenerationRequest = {
    ...input,
    model,
    tools,
    allowsParallel: body["parallel_tool_calls"] !== false,
    answerSchema: schemaOf(format),
    isThinking: effort !== "none",
    prompt: prompt.done(),
    maxTokens: integerOf(body["max_output_tokens"]),
    stops: [],
  };
  return { generation, tools: new Map(tools.map((tool) => [tool.name, tool])) };
}

function schemaOf(format: JsonObject | undefined): Json | undefined {
  if (format?.["type"] === "json_object") return { type: "object", properties: { answer: { type: "string" } } };
  return format?.["type"] === "json_schema" ? (format["schema"] ?? {}) : undefined;
}

function readInput(input: Json | undefined, prompt: PromptCounter): PromptFacts {
  let question = "";
  let toolAnswer: string | undefined;
  let toolRounds = 0;
  if (typeof input === "string") {
    prompt.text(input);
    question = input;
  }
  objectsOf(input).forEach((item, index) => {
    const type = stringOf(item["type"]) ?? (item["role"] === undefined ? "item_reference" : "message");
    const isResult = type === "function_call_output" || type === "custom_tool_call_output";
    if (isResult && toolAnswer === undefined) toolRounds += 1;
    toolAnswer = undefined;
    if (isResult) {
      toolAnswer = readParts(item["output"], prompt);
    } else if (type === "message") {
      const text = readParts(item["content"], prompt);
      if (item["role"] !== "user") return;
      question = text;
      toolRounds = 0;
    } else if (type === "reasoning") {
      checkReasoning(item, index);
      readParts(item["summary"], prompt);
    } else prompt.text(stringOf(item["arguments"]) ?? stringOf(item["input"]) ?? "");
  });
  return { question, toolAnswer, toolRounds };
}

/** Refuses encrypted content that another provider made, or that belongs to another item. */
function checkReasoning(item: JsonObject, index: number): void {
  const content = item["encrypted_content"];
  if (content === undefined || content === null) return;
  if (typeof content === "string" && isEncryptedContent(content, stringOf(item["id"]))) return;
  throw new Refused(
    400,
    `The encrypted content of input[${index}] could not be verified.`,
    "input",
    "invalid_encrypted_content",
  );
}

/** Counts the parts of a content and returns its text. */
function readParts(content: Json | undefined, prompt: PromptCounter): string {
  if (typeof content === "string") {
    prompt.text(content);
    return content;
  }
  const texts: string[] = [];
  for (const part of objectsOf(content)) {
    const text = stringOf(part["text"]) ?? stringOf(part["refusal"]);
    if (text === undefined) prompt.media();
    else {
      prompt.text(text);
      texts.push(text);
    }
    if (part["prompt_cache_breakpoint"] !== undefined) prompt.mark();
  }
  return texts.join(" ");
}
