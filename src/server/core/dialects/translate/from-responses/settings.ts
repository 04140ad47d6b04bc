/**
 * Converts the settings of a `responses` request to those of a chat completion, and returns the members that the response
 * repeats. Source: responses reference, 2 and 6. Schemas stay the same objects, so that their text can be found again.
 */
import { objectOf, type Values } from "../../json/json-values.ts";
import {
  isAbsent,
  optionalFlag,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalText,
  refuse,
  requiredName,
  requiredObject,
} from "../required-members.ts";

/** Name of an output format. Chat completions require one. */
const FORMAT_NAME = "output";

const LOGPROBS = "message.output_text.logprobs";

/**
 * Returns the settings in their compat form. `request` includes the settings that its items override. Throws `RequestProblem`
 * with the client's names of members.
 */
export function settingsOf(request: Values): Values {
  const reasoning = optionalObject(request["reasoning"], "reasoning");
  const text = optionalObject(request["text"], "text");
  const logprobs = optionalNumber(request["top_logprobs"], "top_logprobs") ?? 0;
  return {
    max_completion_tokens: tokensAt(request, "max_output_tokens"),
    temperature: optionalNumber(request["temperature"], "temperature"),
    top_p: optionalNumber(request["top_p"], "top_p"),
    ...(wantsLogprobs(request) && { logprobs: true, top_logprobs: logprobs > 0 ? logprobs : undefined }),
    reasoning_effort: optionalText(reasoning?.["effort"], "reasoning.effort"),
    verbosity: verbosityOf(text),
    response_format: formatOf(text),
    service_tier: optionalText(request["service_tier"], "service_tier"),
    user: optionalText(request["user"], "user"),
    safety_identifier: optionalText(request["safety_identifier"], "safety_identifier"),
    stream: optionalFlag(request["stream"], "stream"),
  };
}

export function wantsLogprobs(request: Values): boolean {
  const { top_logprobs: count } = request;
  return (typeof count === "number" && count > 0) || optionalList(request["include"], "include").includes(LOGPROBS);
}

/** Returns whether the client asked for a summary of the model's reasoning. */
export function showsSummary(request: Values): boolean {
  const reasoning = objectOf(request["reasoning"]);
  const summary = reasoning?.["summary"] ?? reasoning?.["generate_summary"];
  return typeof summary === "string" && summary !== "none";
}

/** Returns the verbosity. The default is not sent, since most providers do not know the member. */
function verbosityOf(text: Values | undefined): string | undefined {
  const verbosity = optionalText(text?.["verbosity"], "text.verbosity");
  return verbosity === "medium" ? undefined : verbosity;
}

function tokensAt(request: Values, name: string): number | undefined {
  const tokens = optionalNumber(request[name], name);
  if (tokens === undefined || (Number.isSafeInteger(tokens) && tokens >= 1)) return tokens;
  return refuse(name, "must be a whole number of at least 1");
}

function formatOf(text: Values | undefined): Values | undefined {
  const format = optionalObject(text?.["format"], "text.format");
  if (format?.["type"] === "json_object") return { type: "json_object" };
  if (format?.["type"] !== "json_schema") return undefined;
  const { strict } = format;
  const name = isAbsent(format["name"]) ? FORMAT_NAME : requiredName(format["name"], "text.format.name");
  return {
    type: "json_schema",
    json_schema: {
      name,
      description: optionalText(format["description"], "text.format.description") || undefined,
      schema: requiredObject(format["schema"], "text.format.schema"),
      strict: isAbsent(strict) ? undefined : optionalFlag(strict, "text.format.strict"),
    },
  };
}

/** Returns the request members that the response repeats. `store` is always false, since nothing is stored. */
export function echoOf(body: Values, { reasoning, text }: Values): Values {
  const withDefault = (name: string, fallback: unknown) => body[name] ?? fallback;
  const thought = objectOf(reasoning);
  const written = objectOf(text);
  return {
    background: false,
    instructions: withDefault("instructions", null),
    max_output_tokens: withDefault("max_output_tokens", null),
    max_tool_calls: withDefault("max_tool_calls", null),
    metadata: withDefault("metadata", {}),
    parallel_tool_calls: withDefault("parallel_tool_calls", true),
    previous_response_id: null,
    prompt_cache_key: withDefault("prompt_cache_key", null),
    reasoning: {
      effort: thought?.["effort"] ?? null,
      summary: thought?.["summary"] ?? thought?.["generate_summary"] ?? null,
    },
    safety_identifier: withDefault("safety_identifier", null),
    store: false,
    temperature: withDefault("temperature", 1),
    text: { format: written?.["format"] ?? { type: "text" }, verbosity: written?.["verbosity"] ?? "medium" },
    tool_choice: withDefault("tool_choice", "auto"),
    tools: withDefault("tools", []),
    top_logprobs: withDefault("top_logprobs", 0),
    top_p: withDefault("top_p", 1),
    truncation: withDefault("truncation", "disabled"),
    user: withDefault("user", null),
  };
}
