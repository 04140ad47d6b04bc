/**
 * Translates a messages client's request for a compat provider. Source: dialects reference, 8.2, 8.4 and 8.6.
 *
 * The fidelity guard has already checked the request: parts without a counterpart, or not claimed by the channel, are left out
 * because the operator allowed it. Schemas of tools, their input and schemas of output keep their spelling.
 */
import { isClosedSchema } from "../../fidelity/schemas.ts";
import { type JsonSource, writeJson } from "../../json/json-source.ts";
import type { Values } from "../../json/json-values.ts";
import { jsonTokenBound } from "../../media-bounds.ts";
import { optionalObject, requiredObject } from "../required-members.ts";
import type { AnswerTerms, ChannelTerms, TranslatedRequest } from "../types.ts";
import { cacheModeOf, keepLastMarks } from "./cache-mark-limit.ts";
import type { Scope } from "./chat.ts";
import { translateTurns } from "./compat-messages.ts";
import { showsThinking } from "./reasoning.ts";
import { isStreamed, translateSettings } from "./settings.ts";
import { toolNamesOf } from "./short-tool-names.ts";
import { readTools, translateTools } from "./tools.ts";

/**
 * Divisor that turns the upper bound of tokens into an estimate: English JSON has about four bytes per token, and the bound of
 * an image is about four times what most images take.
 */
const BYTES_PER_TOKEN = 4;

/** Translates a request. Throws `RequestProblem` if it is not a request of the messages dialect. */
export function messagesToChat(
  source: JsonSource,
  model: AnswerTerms["model"],
  channel: ChannelTerms,
): TranslatedRequest {
  const request = requiredObject(source.value, "body");
  const tools = readTools(request);
  const names = toolNamesOf(tools.functions.map(({ name }) => name));
  const scope: Scope = { source, claims: channel.claims, names, signsCalls: channel.signsCalls };
  const messages = translateTurns(request, scope);
  const body = writeJson({
    model: model.sent,
    messages,
    ...translateTools(request, tools, scope),
    response_format: responseFormat(request, scope),
    ...translateSettings(request, channel),
    prompt_cache_options: channel.claims("prompt_caching") ? keepLastMarks(messages, cacheModeOf(request)) : undefined,
  });
  return {
    body,
    answer: {
      client: "messages",
      streams: isStreamed(request),
      model,
      toolNames: names.originalNames,
      showsUsage: false,
      callsFunctions: false,
      showsThinking: showsThinking(request),
      inputEstimate: () =>
        Math.ceil(jsonTokenBound(Buffer.from(body), false, (text) => body.includes(text)) / BYTES_PER_TOKEN),
    },
  };
}

/** Returns the response format. The dialect once had the format at the top level. */
function responseFormat(request: Values, scope: Scope): object | undefined {
  const output = optionalObject(request["output_config"], "output_config");
  return (
    translateFormat(output?.["format"], "output_config.format", scope) ??
    translateFormat(request["output_format"], "output_format", scope)
  );
}

function translateFormat(value: unknown, place: string, { source, claims }: Scope): object | undefined {
  const format = optionalObject(value, place);
  if (format?.["type"] !== "json_schema" || !claims("json_schema")) return undefined;
  const schema = requiredObject(format["schema"], `${place}.schema`);
  // Compat requires a name, which the messages dialect does not have, and accepts only closed schemas as strict.
  const strict = isClosedSchema(schema);
  return { type: "json_schema", json_schema: { name: "output", schema: source.exact(schema), strict } };
}
