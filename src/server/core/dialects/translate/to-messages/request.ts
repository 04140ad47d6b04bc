/**
 * Translates a compat request to one of the messages dialect. Source: dialects reference, 8.1, 8.3 and 8.6.
 *
 * The fidelity guard has already checked the request: parts without an equivalent, or not claimed by the channel, are left out
 * silently, and the rest is a request that the provider accepts. Members that have no effect are left out too.
 */

import type { Loss } from "../../fidelity/losses.ts";
import { type JsonSource, writeJson } from "../../json/json-source.ts";
import type { Values } from "../../json/json-values.ts";
import { optionalFlag, optionalObject, requiredObject } from "../required-members.ts";
import type { AnswerTerms, ChannelTerms, TranslatedRequest } from "../types.ts";
import type { Scope } from "./block-types.ts";
import { limitMarks } from "./cache-marks.ts";
import { conversationOf } from "./conversation-turns.ts";
import type { Conversation } from "./messages-draft.ts";
import { maxTokens, metadataOf, outputFormat, samplingOf, serviceTier, stopSequences } from "./settings.ts";
import { thinkingOf } from "./thinking.ts";
import { isForced, toolsOf } from "./tools.ts";

/** Translates a chat completion request. Throws `RequestProblem`. */
export function chatToMessages(
  source: JsonSource,
  model: AnswerTerms["model"],
  { claims }: ChannelTerms,
): TranslatedRequest {
  const request = requiredObject(source.value, "body");
  const scope: Scope = { claims, exact: (part) => source.exact(part) };
  const conversation = conversationOf(request["messages"], scope);
  const { body, callsFunctions, streams, lost } = writeRequest(
    request,
    conversation,
    { model: model.sent, display: undefined },
    scope,
  );
  return { body, answer: termsOf(request, { streams, model, callsFunctions }), lost };
}

interface WrittenRequest {
  readonly body: string;
  /** Whether the client asked for a stream. */
  readonly streams: boolean;
  readonly callsFunctions: boolean;
  /** True if the request asked for thinking, but thinking is left out because the conversation lacks it in its latest turn. */
  readonly leavesOutThinking: boolean;
  /** Losses that were found only during translation; all soft. */
  readonly lost: readonly Loss[];
}

interface WriteOptions {
  /** Name of the model as it is sent to the provider. */
  readonly model: string;
  /** Value of `display` for thinking, if the request does not set it. */
  readonly display: "summarized" | undefined;
}

/** Writes the request. Settings and tools in `request` have their compat form. Throws `RequestProblem`. */
export function writeRequest(
  request: Values,
  { system, turns, lacksThinking }: Conversation,
  { model, display }: WriteOptions,
  scope: Scope,
): WrittenRequest {
  const { tools, choice, callsFunctions, lost } = toolsOf(request, scope);
  const chosen = isForced(choice);
  const { thinking, effort } = thinkingOf(request, { isForced: chosen, lacksThinking }, scope);
  const streams = optionalFlag(request["stream"], "stream");
  limitMarks(tools, system, turns);
  const format = outputFormat(request, scope);
  const isThinking = thinking !== undefined && thinking.type !== "disabled";
  const body = writeJson({
    model,
    max_tokens: maxTokens(request, thinking?.budget_tokens),
    system: system.length > 0 ? system : undefined,
    messages: turns,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: choice,
    thinking: isThinking && display !== undefined ? { ...thinking, display } : thinking,
    output_config: effort === undefined && format === undefined ? undefined : { effort, format },
    ...samplingOf(request, isThinking, scope),
    stop_sequences: stopSequences(request, scope),
    metadata: metadataOf(request, scope),
    service_tier: serviceTier(request, scope),
    // A channel that cannot stream answers whole, and the answer is split into a stream afterwards.
    stream: streams && scope.claims("streaming") ? true : undefined,
  });
  const leavesOutThinking = thinking === undefined && lacksThinking && !chosen;
  return { body, streams, callsFunctions, leavesOutThinking, lost };
}

function termsOf(
  request: Values,
  { streams, model, callsFunctions }: Pick<AnswerTerms, "streams" | "model" | "callsFunctions">,
): AnswerTerms {
  const options = optionalObject(request["stream_options"], "stream_options");
  return {
    client: "compat",
    streams,
    model,
    toolNames: new Map(),
    showsUsage: streams && options?.["include_usage"] === true,
    callsFunctions,
    showsThinking: false,
    inputEstimate: () => 0,
  };
}
