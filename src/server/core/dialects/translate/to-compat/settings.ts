/**
 * Translates the top-level fields of a messages request, except its turns and tools, to compat. Source: dialects reference,
 * 8.2.
 *
 * Fields that the channel does not claim, or that have no counterpart, are left out: the guard has reported them.
 */
import type { Values } from "../../json/json-values.ts";
import {
  optionalFlag,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalText,
  requiredText,
} from "../required-members.ts";
import type { ChannelTerms } from "../types.ts";
import { reasoningEffort } from "./reasoning.ts";
import { endUserId } from "./user-id.ts";

const MAX_STOPS = 4;

type Claims = ChannelTerms["claims"];

export function translateSettings(request: Values, channel: ChannelTerms): object {
  const { claims } = channel;
  return {
    max_completion_tokens: maxTokens(request),
    ...sampling(request, claims),
    stop: stops(request, claims),
    reasoning_effort: reasoningEffort(request, claims),
    ...endUser(request, channel),
    service_tier: serviceTier(request, claims),
    ...streaming(request, channel),
  };
}

export function isStreamed(request: Values): boolean {
  return optionalFlag(request["stream"], "stream");
}

/** Returns the token limit. Zero fills the cache without generating, which compat cannot express; one token comes closest. */
function maxTokens(request: Values): number | undefined {
  const max = optionalNumber(request["max_tokens"], "max_tokens");
  return max === 0 ? 1 : max;
}

function sampling(request: Values, claims: Claims): object {
  const temperature = optionalNumber(request["temperature"], "temperature");
  const top_p = optionalNumber(request["top_p"], "top_p");
  const top_k = optionalNumber(request["top_k"], "top_k");
  return {
    ...(claims("sampling") && { temperature, top_p }),
    ...(claims("top_k") && { top_k }),
  };
}

function stops(request: Values, claims: Claims): readonly string[] | undefined {
  const sequences = optionalList(request["stop_sequences"], "stop_sequences").map((sequence, index) =>
    requiredText(sequence, `stop_sequences[${index}]`),
  );
  return sequences.length > 0 && claims("stop") ? sequences.slice(0, MAX_STOPS) : undefined;
}

function endUser(request: Values, { claims, endUserField }: ChannelTerms): object {
  const metadata = optionalObject(request["metadata"], "metadata");
  const id = optionalText(metadata?.["user_id"], "metadata.user_id");
  return { [endUserField]: id !== undefined && claims("user_id") ? endUserId(id) : undefined };
}

function serviceTier({ speed, service_tier }: Values, claims: Claims): string | undefined {
  if (!claims("service_tier")) return undefined;
  if (speed === "fast") return "fast";
  return service_tier === "standard_only" ? "default" : undefined;
}

/** Returns the stream settings. Usage is always requested, since the client's events end with it. */
function streaming(request: Values, { claims, acceptsStreamUsage }: ChannelTerms): object {
  if (!isStreamed(request) || !claims("streaming")) return {};
  return { stream: true, stream_options: acceptsStreamUsage ? { include_usage: true } : undefined };
}
