/**
 * Translates a `responses` request to one of the messages dialect, or to a chat completion. Source: responses reference, 2 to
 * 5.
 *
 * The fidelity guard has already checked the request: parts without an equivalent, or not claimed by the channel, are left out
 * silently, and the rest is a request that the provider accepts.
 */
import type { Loss } from "../../fidelity/losses.ts";
import { type Additions, additionsOf } from "../../fidelity/response-tools.ts";
import { applyItemSettings } from "../../fidelity/uses/uses-responses.ts";
import { type JsonSource, writeJson } from "../../json/json-source.ts";
import { objectOf, type Values } from "../../json/json-values.ts";
import { isAbsent, optionalList, refuse, requiredObject } from "../required-members.ts";
import type { ResponsesTerms } from "../responses-terms.ts";
import { endUserId } from "../to-compat/user-id.ts";
import { writeRequest } from "../to-messages/request.ts";
import type { AnswerTerms, ChannelTerms, SealedBlock } from "../types.ts";
import { messagesOf } from "./chat-messages.ts";
import type { ItemConversation } from "./item-conversation.ts";
import { itemConversation } from "./items-to-conversation.ts";
import { conversationOf } from "./messages-turns.ts";
import { openThoughts } from "./replayed-reasoning.ts";
import { echoOf, settingsOf, showsSummary, wantsLogprobs } from "./settings.ts";
import { type Tools, toolsOf } from "./tools.ts";

export interface TranslatedResponseRequest {
  /** Body of the request, as JSON text. */
  readonly body: string;
  readonly answer: ResponsesTerms;
  /** Losses that were found only during translation; all soft. */
  readonly lost: readonly Loss[];
}

/** Maximum length of a tool name that providers accept. */
const MAX_NAME_LENGTH = { messages: 128, chat: 64 } as const;

const SIGNED: ReadonlySet<SealedBlock["k"]> = new Set(["t", "r"]);
const UNSIGNED: ReadonlySet<SealedBlock["k"]> = new Set(["c", "d"]);

interface ReadRequest {
  readonly body: Values;
  /** Request with the settings that its items override. */
  readonly request: Values;
  readonly settings: Values;
  readonly tools: Tools;
  readonly fromItems: ItemConversation;
}

/** Translates a request to the messages dialect. Throws `RequestProblem`. */
export function responsesToMessages(
  source: JsonSource,
  model: AnswerTerms["model"],
  channel: ChannelTerms,
): TranslatedResponseRequest {
  const read = readRequest(source.value, MAX_NAME_LENGTH.messages);
  const { request, settings, tools, fromItems } = read;
  const scope = { claims: channel.claims, exact: (part: unknown) => source.exact(part) };
  const thoughts = openThoughts(channel, SIGNED);
  const conversation = conversationOf(fromItems, thoughts, scope);
  const display = showsSummary(request) ? "summarized" : undefined;
  const {
    body,
    leavesOutThinking,
    lost: ofTools,
  } = writeRequest({ ...settings, ...tools.members }, conversation, { model: model.sent, display }, scope);
  const { reasoning_effort: effort } = settings;
  const isAsked = effort !== undefined && effort !== "none" && channel.claims("thinking");
  const lost = [
    ...thoughts.lost,
    ...(isAsked && leavesOutThinking ? [WITHOUT_THINKING] : []),
    // Losses of tools are found separately while the tools are written.
    ...ofTools.map((loss) => ({ ...loss, place: "tools" })),
  ];
  return { body, answer: termsOf(read, model, channel), lost };
}

/** Loss of thinking: the provider would refuse it, since the conversation lacks the thinking before its calls. */
const WITHOUT_THINKING: Loss = { capability: "thinking", isHard: false, place: "reasoning.effort" };

/** Translates a request to a chat completion. Throws `RequestProblem`. */
export function responsesToChat(
  source: JsonSource,
  model: AnswerTerms["model"],
  channel: ChannelTerms,
): TranslatedResponseRequest {
  const read = readRequest(source.value, MAX_NAME_LENGTH.chat);
  const { settings, tools, fromItems } = read;
  const { claims } = channel;
  const thoughts = openThoughts(channel, UNSIGNED);
  const body = writeJson({
    model: model.sent,
    max_completion_tokens: settings["max_completion_tokens"],
    messages: messagesOf(fromItems, thoughts, channel),
    ...toolMembers(tools, source, claims),
    response_format: formatOf(settings["response_format"], source, claims),
    ...(claims("sampling") && { temperature: temperatureOf(settings, claims), top_p: settings["top_p"] }),
    ...(claims("logprobs") && { logprobs: settings["logprobs"], top_logprobs: settings["top_logprobs"] }),
    reasoning_effort: claims("effort") ? settings["reasoning_effort"] : undefined,
    verbosity: claims("verbosity") ? settings["verbosity"] : undefined,
    service_tier: tierOf(settings, claims),
    ...endUser(settings, channel),
    prompt_cache_options: cacheOptions(read.request, claims),
    ...streaming(settings, channel),
  });
  return { body, answer: termsOf(read, model, channel), lost: thoughts.lost };
}

function readRequest(value: unknown, maxNameLength: number): ReadRequest {
  const body = requiredObject(value, "body");
  if (isAbsent(body["input"]) && !body["instructions"]) refuse("input", "is required");
  const additions: Additions = additionsOf(body["input"]);
  const request = applyItemSettings(body, additions);
  const settings = settingsOf(request);
  const tools = toolsOf(request, additions, maxNameLength);
  return { body, request, settings, tools, fromItems: itemConversation(request, tools.names) };
}

function termsOf(
  { body: given, request, settings, tools, fromItems }: ReadRequest,
  model: AnswerTerms["model"],
  { seal }: ChannelTerms,
): ResponsesTerms {
  return {
    wantsStream: settings["stream"] === true,
    model,
    tools: tools.names.toolsBySentName,
    showsSummary: showsSummary(request),
    wantsLogprobs: wantsLogprobs(request),
    echo: echoOf(given, request),
    takenCallIds: () => fromItems.callIds,
    seal,
  };
}

function toolMembers({ members }: Tools, source: JsonSource, claims: ChannelTerms["claims"]): object {
  if (!claims("tools") || members["tools"] === undefined) return {};
  const tools = optionalList(members["tools"], "tools").map((tool) => {
    const { name, description, parameters = NO_PARAMETERS, strict } = objectOf(objectOf(tool)?.["function"]) ?? {};
    const isStrict = claims("strict_tools") ? strict : undefined;
    return {
      type: "function",
      function: { name, description, parameters: source.exact(parameters), strict: isStrict },
    };
  });
  const choice = members["tool_choice"];
  const isForced = choice === "required" || objectOf(choice) !== undefined;
  return {
    tools,
    tool_choice: isForced && !claims("tool_choice") ? undefined : choice,
    parallel_tool_calls: claims("parallel_tool_calls") ? members["parallel_tool_calls"] : undefined,
  };
}

const NO_PARAMETERS = { type: "object", properties: {} };

function formatOf(value: unknown, source: JsonSource, claims: ChannelTerms["claims"]): object | undefined {
  const format = objectOf(value);
  if (format?.["type"] === "json_object") return claims("json_object") ? format : undefined;
  const named = objectOf(format?.["json_schema"]);
  if (named === undefined || !claims("json_schema")) return undefined;
  return { type: "json_schema", json_schema: { ...named, schema: source.exact(named["schema"]) } };
}

function temperatureOf({ temperature }: Values, claims: ChannelTerms["claims"]): unknown {
  if (typeof temperature !== "number" || temperature <= 1 || claims("temperature_above_one")) return temperature;
  return 1;
}

/** Returns the service tier. The default is not sent, since the provider may not know the value. */
function tierOf({ service_tier: tier }: Values, claims: ChannelTerms["claims"]): unknown {
  return tier === "auto" || !claims("service_tier") ? undefined : tier;
}

function endUser({ safety_identifier, user }: Values, { claims, endUserField }: ChannelTerms): object {
  const id = safety_identifier || user;
  return { [endUserField]: typeof id === "string" && claims("user_id") ? endUserId(id) : undefined };
}

function cacheOptions(request: Values, claims: ChannelTerms["claims"]): object | undefined {
  const options = objectOf(request["prompt_cache_options"]);
  if (options === undefined || !claims("prompt_caching")) return undefined;
  const { mode, ttl } = options;
  return { mode, ttl: claims("cache_ttl") ? ttl : undefined };
}

function streaming({ stream }: Values, { claims, acceptsStreamUsage }: ChannelTerms): object {
  if (stream !== true || !claims("streaming")) return {};
  return { stream: true, stream_options: acceptsStreamUsage ? { include_usage: true } : undefined };
}
