/**
 * Rules by which the compat dialect refuses a chat request, so that a wrong translation fails here and not at a real
 * provider: unknown members, values out of range, contradictory members, schemas that violate `strict`, tool results
 * without a call, and calls without a result.
 *
 * Sources: dialects.md section 3.1; the wording is that of recorded refusals, where one is known.
 */

import { Refused } from "../dialect-errors.ts";
import { arrayOf, type Json, type JsonObject, objectOf, objectsOf, stringOf } from "../json-fields.ts";
import type { ResponseVariant } from "../response-variants.ts";
import { CHAT, CHAT_WITH_EXTENSIONS } from "./chat-shape.ts";
import { checkChatTurns } from "./chat-turn-order.ts";
import { COMPAT } from "./compat-wording.ts";
import { strictFault } from "./strict-schemas.ts";

/** Maximum value of `n` in the dialect. */
const MAX_CHOICES = 128;

export function checkChat(body: JsonObject, variant: ResponseVariant): void {
  const shape = variant.acceptsExtensions ? CHAT_WITH_EXTENSIONS : CHAT;
  shape(body, "", COMPAT);
  for (const { holds, message, param } of EXCLUSIONS) {
    if (holds(body)) throw new Refused(400, message, param);
  }
  if (variant.isReasoning) checkReasoningModel(body);
  if (variant.isOldCompat) checkClassic(body);
  checkTools(body);
  checkFormat(body);
  checkChatTurns(objectsOf(body["messages"]));
}

interface Exclusion {
  readonly holds: (body: JsonObject) => boolean;
  readonly message: string;
  readonly param: string;
}

const isSet = (value: Json | undefined): boolean => value !== undefined && value !== null;

/** Members that are allowed only together with others; section 3.1. */
const EXCLUSIONS: readonly Exclusion[] = [
  {
    holds: (body) => isSet(body["stream_options"]) && body["stream"] !== true,
    message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    param: "stream_options",
  },
  {
    holds: (body) => isSet(body["max_tokens"]) && isSet(body["max_completion_tokens"]),
    message: "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
    param: "max_tokens",
  },
  {
    holds: (body) => isSet(body["top_logprobs"]) && body["logprobs"] !== true,
    message: "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.",
    param: "top_logprobs",
  },
  {
    holds: (body) => isSet(body["tool_choice"]) && !isSet(body["tools"]),
    message: "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
    param: "tool_choice",
  },
  {
    holds: (body) => isSet(body["parallel_tool_calls"]) && !isSet(body["tools"]),
    message:
      "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
    param: "parallel_tool_calls",
  },
  {
    holds: (body) => isSet(body["function_call"]) && !isSet(body["functions"]),
    message: "Invalid value for 'function_call': 'function_call' is only allowed when 'functions' are specified.",
    param: "function_call",
  },
  {
    holds: (body) => (arrayOf(body["modalities"])?.includes("audio") ?? false) && !isSet(body["audio"]),
    message: "Missing required parameter: 'audio'.",
    param: "audio",
  },
];

/** Refuses what reasoning models refuse; section 3.1. */
function checkReasoningModel(body: JsonObject): void {
  const unsupported = ["max_tokens", "stop", "logprobs", "top_logprobs", "logit_bias"].find((name) =>
    isSet(body[name]),
  );
  if (unsupported !== undefined) {
    const instead = unsupported === "max_tokens" ? " Use 'max_completion_tokens' instead." : "";
    const message = `Unsupported parameter: '${unsupported}' is not supported with this model.${instead}`;
    throw new Refused(400, message, unsupported, "unsupported_parameter");
  }
  for (const [name, usual] of [
    ["temperature", 1],
    ["top_p", 1],
    ["presence_penalty", 0],
    ["frequency_penalty", 0],
  ] as const) {
    const value = body[name];
    if (!isSet(value) || value === usual) continue;
    const message = `Unsupported value: '${name}' does not support ${value} with this model. Only the default (${usual}) value is supported.`;
    throw new Refused(400, message, name, "unsupported_value");
  }
}

/** Members that were added to the dialect late, and that many compat providers do not know. */
const LATE = [
  "max_completion_tokens",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "verbosity",
  "reasoning_effort",
  "prediction",
  "modalities",
  "web_search_options",
  "moderation",
  "store",
  "metadata",
];

function checkClassic(body: JsonObject): void {
  const late = LATE.find((name) => body[name] !== undefined);
  if (late !== undefined) throw new Refused(400, `Unrecognized request argument supplied: ${late}`);
  // Refusal that the dialect's original provider gave until 2025, and that servers copied.
  if (arrayOf(body["tools"])?.length === 0) {
    COMPAT.refuse("tools", { kind: "short", of: "array", bound: 1, length: 0 });
  }
  objectsOf(body["messages"]).forEach((message, index) => {
    const at = `messages[${index}]`;
    if (message["role"] === "developer") {
      COMPAT.refuse(`${at}.role`, {
        kind: "choice",
        choices: ["system", "user", "assistant", "tool"],
        value: "developer",
      });
    }
    if (message["reasoning_content"] !== undefined) COMPAT.refuse(`${at}.reasoning_content`, { kind: "unknown" });
    objectsOf(message["content"]).forEach((part, partIndex) => {
      if (part["prompt_cache_breakpoint"] === undefined) return;
      COMPAT.refuse(`${at}.content[${partIndex}].prompt_cache_breakpoint`, { kind: "unknown" });
    });
  });
}

function checkTools(body: JsonObject): void {
  const names = new Set<string>();
  objectsOf(body["tools"]).forEach((tool, index) => {
    const offered = objectOf(tool["function"]);
    names.add(`${tool["type"]} ${stringOf((offered ?? objectOf(tool["custom"]))?.["name"])}`);
    if (offered !== undefined) checkParameters(offered, `tools[${index}].function.parameters`);
  });
  objectsOf(body["functions"]).forEach((offered, index) => {
    names.add(`functions ${stringOf(offered["name"])}`);
    checkParameters(offered, `functions[${index}].parameters`);
  });
  const choice = objectOf(body["tool_choice"]);
  const type = stringOf(choice?.["type"]) ?? "";
  const wanted =
    type === "allowed_tools"
      ? objectsOf(objectOf(choice?.["allowed_tools"])?.["tools"]).map(
          (tool) => [stringOf(tool["type"]) ?? "", tool] as const,
        )
      : choice === undefined
        ? []
        : [[type, choice] as const];
  for (const [kind, holder] of wanted) {
    const name = stringOf(objectOf(holder[kind])?.["name"]);
    if (name === undefined || !names.has(`${kind} ${name}`)) refuseAbsent(name, "tool_choice", "tools");
  }
  const called = stringOf(objectOf(body["function_call"])?.["name"]);
  if (called !== undefined && !names.has(`functions ${called}`)) refuseAbsent(called, "function_call", "functions");
}

function refuseAbsent(name: string | undefined, param: string, offered: string): never {
  const called = name === undefined ? "" : ` named '${name}'`;
  throw new Refused(
    400,
    `Invalid value for '${param}': no function${called} was specified in the '${offered}' parameter.`,
    param,
  );
}

/**
 * Checks the schema of a function, which must be one object with properties. A strict one must be closed and require
 * them all.
 */
function checkParameters(offered: JsonObject, at: string): void {
  const parameters = objectOf(offered["parameters"]);
  if (parameters === undefined) return;
  const refuse = (fault: string): never => {
    const message = `Invalid schema for function '${stringOf(offered["name"])}': ${fault}`;
    throw new Refused(400, message, at, "invalid_function_parameters");
  };
  const type = parameters["type"];
  if (type !== "object") {
    const got = typeof type === "string" ? `"${type.slice(0, 32)}"` : `"None"`;
    refuse(`schema must be a JSON Schema of 'type: "object"', got 'type: ${got}'.`);
  }
  if (parameters["properties"] === undefined) refuse("In context=(), object schema missing properties.");
  const fault = offered["strict"] === true ? strictProblem(parameters) : undefined;
  if (fault !== undefined) refuse(fault);
}

function strictProblem(schema: Json | undefined): string | undefined {
  const fault = strictFault(schema, { isAllRequired: true });
  if (fault === undefined) return undefined;
  const names = fault.context.map((name) => `'${name}'`).join(", ");
  const context = fault.context.length === 1 ? `(${names},)` : `(${names})`;
  if (fault.kind === "open") {
    return `In context=${context}, 'additionalProperties' is required to be supplied and to be false.`;
  }
  return (
    `In context=${context}, 'required' is required to be supplied and to be an array including every key in properties. ` +
    `Missing '${fault.name}'.`
  );
}

function checkFormat(body: JsonObject): void {
  const format = objectOf(body["response_format"]);
  if (format?.["type"] === "json_object" && !/json/i.test(JSON.stringify(body["messages"]))) {
    const message =
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
    throw new Refused(400, message, "messages");
  }
  const asked = objectOf(format?.["json_schema"]);
  if (asked === undefined || asked["strict"] !== true) return;
  const schema = objectOf(asked["schema"]);
  const fault =
    schema?.["type"] === "object"
      ? strictProblem(schema)
      : `schema must be a JSON Schema of 'type: "object"', got 'type: "${stringOf(schema?.["type"]) ?? "None"}"'.`;
  if (fault === undefined) return;
  const message = `Invalid schema for response_format '${stringOf(asked["name"])}': ${fault}`;
  throw new Refused(400, message, "response_format");
}

/** Checks that a count is from 1 to 128, if it is given. */
export function checkCount(count: unknown, name: string): void {
  if (count === undefined || count === null) return;
  if (typeof count === "number" && Number.isInteger(count) && count >= 1 && count <= MAX_CHOICES) return;
  throw new Refused(400, `${name} must be an integer of 1 to ${MAX_CHOICES}.`, name);
}
