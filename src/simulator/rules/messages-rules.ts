/**
 * Rules of the messages dialect, so that a wrong translation fails here and not at a real provider. The shape is
 * checked first (`messages-shape.ts`), then combinations of members, then the order of turns.
 *
 * Sources: dialects.md sections 1 (version, sampling, prefill), 5.1 and 6 (headers); the wording is that of recorded
 * refusals, where one is known.
 */

import type { IncomingHttpHeaders } from "node:http";
import { Refused } from "../dialect-errors.ts";
import { type Json, type JsonObject, objectOf, objectsOf, stringOf } from "../json-fields.ts";
import type { ResponseVariant } from "../response-variants.ts";
import { COUNT_BETA_REQUEST, COUNT_REQUEST, MESSAGES_BETA_REQUEST, MESSAGES_REQUEST } from "./messages-shape.ts";
import { checkTurns, mergeTurns, type Turn } from "./messages-turn-order.ts";
import { MESSAGES } from "./messages-wording.ts";
import { checkThinkingFirst, checkThinkingOwn } from "./thinking-rules.ts";

/** Versions of the API; section 1 row 1. */
const VERSIONS: ReadonlySet<unknown> = new Set(["2023-01-01", "2023-06-01", "2026-10-21"]);

/** Version from which sampling parameters are refused, even at their defaults; section 1 row 2. */
const VERSION_WITHOUT_SAMPLING = "2026-10-21";

/** Maximum number of cache marks; section 5.1, `cache_control`. */
const MAX_CACHE_MARKS = 4;

/** Minimum `top_p` together with thinking. */
const MIN_TOP_P_WITH_THINKING = 0.95;

export function checkMessages(body: JsonObject, headers: IncomingHttpHeaders, variant: ResponseVariant): void {
  const version = versionOf(headers);
  const shape = headers["anthropic-beta"] === undefined ? MESSAGES_REQUEST : MESSAGES_BETA_REQUEST;
  shape(body, "", MESSAGES);
  for (const stop of (body["stop_sequences"] ?? []) as readonly Json[]) {
    if (typeof stop === "string" && stop.trim() === "") {
      throw new Refused(400, "stop_sequences: each stop sequence must contain non-whitespace");
    }
  }
  checkSampling(body, version, variant);
  const turns = checkCommon(body, version);
  checkThinking(body, turns, variant);
  if (turns.at(-1)?.role !== "assistant") return;
  if (variant.refusesPrefill) {
    throw new Refused(
      400,
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    );
  }
}

/** Checks a request to `count_tokens`. */
export function checkCounted(body: JsonObject, headers: IncomingHttpHeaders): void {
  const version = versionOf(headers);
  const shape = headers["anthropic-beta"] === undefined ? COUNT_REQUEST : COUNT_BETA_REQUEST;
  shape(body, "", MESSAGES);
  if (version === VERSION_WITHOUT_SAMPLING) refuseSampling(body);
  checkThinkingFirst(body, checkCommon(body, version));
}

/** Returns the version. The header is required; section 6. */
function versionOf(headers: IncomingHttpHeaders): string {
  const version = headers["anthropic-version"];
  if (version === undefined) throw new Refused(400, "anthropic-version: header is required");
  if (!VERSIONS.has(version)) {
    throw new Refused(400, `anthropic-version: "${String(version).slice(0, 32)}" is not a valid version for this API`);
  }
  return String(version);
}

function checkCommon(body: JsonObject, version: string): readonly Turn[] {
  checkTools(body);
  checkCacheMarks(body);
  const turns = mergeTurns(objectsOf(body["messages"]));
  checkTurns(turns);
  checkThinkingOwn(turns);
  if (version === VERSION_WITHOUT_SAMPLING) checkPlacesOfVersion(turns);
  return turns;
}

function refuseSampling(body: JsonObject): void {
  const sampling = ["temperature", "top_p", "top_k"].find((name) => body[name] !== undefined);
  if (sampling === undefined) return;
  throw new Refused(400, `${sampling}: not supported with anthropic-version ${VERSION_WITHOUT_SAMPLING}`);
}

function checkSampling(body: JsonObject, version: string, variant: ResponseVariant): void {
  if (version === VERSION_WITHOUT_SAMPLING) refuseSampling(body);
  const { temperature, top_p: topP, top_k: topK } = body;
  // Source: dialects.md section 1, row 3.
  if (variant.refusesSampling) {
    const changed =
      (temperature ?? 1) !== 1 ? "temperature" : (topP ?? 1) !== 1 ? "top_p" : topK !== undefined ? "top_k" : "";
    if (changed !== "") throw new Refused(400, `\`${changed}\` is deprecated for this model.`);
  }
  if (variant.refusesSamplingPair && temperature !== undefined && topP !== undefined) {
    throw new Refused(400, "`temperature` and `top_p` cannot both be specified for this model. Please use only one.");
  }
  if (!isThinkingOn(body)) return;
  if (temperature !== undefined && temperature !== 1) {
    throw new Refused(400, "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.");
  }
  if (typeof topP === "number" && topP < MIN_TOP_P_WITH_THINKING) {
    throw new Refused(
      400,
      "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode.",
    );
  }
  if (topK !== undefined) throw new Refused(400, "`top_k` must be unset when thinking is enabled or in adaptive mode.");
}

function isThinkingOn(body: JsonObject): boolean {
  const type = objectOf(body["thinking"])?.["type"];
  return type === "enabled" || type === "adaptive" || type === "between_tools";
}

/** Checks thinking; section 5.1, rows `thinking` and `tool_choice`. */
function checkThinking(body: JsonObject, turns: readonly Turn[], variant: ResponseVariant): void {
  const thinking = objectOf(body["thinking"]);
  const type = thinking?.["type"];
  if (type === undefined) return;
  if (variant.thinking === "adaptive" && type === "enabled") {
    const message =
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
    throw new Refused(400, message);
  }
  if (variant.thinking === "manual" && (type === "adaptive" || type === "between_tools")) {
    throw new Refused(400, `${type} thinking is not supported on this model`);
  }
  if (type !== "enabled") return;
  const maxTokens = Number(body["max_tokens"]);
  if (Number(thinking?.["budget_tokens"]) >= maxTokens) {
    throw new Refused(400, "`max_tokens` must be greater than `thinking.budget_tokens`.");
  }
  const forced = objectOf(body["tool_choice"])?.["type"];
  if (forced === "any" || forced === "tool") {
    throw new Refused(400, "Thinking may not be enabled when tool_choice forces tool use.");
  }
  checkThinkingFirst(body, turns);
}

function checkTools(body: JsonObject): void {
  const names = new Set<string>();
  const tools = objectsOf(body["tools"]);
  for (const tool of tools) names.add(stringOf(tool["name"]) ?? `(${stringOf(tool["type"])} ${names.size})`);
  if (names.size < tools.length) throw new Refused(400, "tools: Tool names must be unique.");
  const choice = objectOf(body["tool_choice"]);
  if (choice === undefined) return;
  if (tools.length === 0 && choice["type"] !== "none") {
    throw new Refused(400, "tool_choice: tool_choice may only be specified while providing tools.");
  }
  const wanted = choice["type"] === "tool" ? stringOf(choice["name"]) : undefined;
  if (wanted !== undefined && !names.has(wanted)) {
    throw new Refused(400, `tool_choice: Tool '${wanted.slice(0, 128)}' not found in provided tools`);
  }
}

/** Checks cache marks: at most four, and none for an hour after one for five minutes, in the order of the prompt. */
function checkCacheMarks(body: JsonObject): void {
  let marks = 0;
  let isShortMet = false;
  const look = (holder: JsonObject, at: string): void => {
    const mark = objectOf(holder["cache_control"]);
    if (mark === undefined) return;
    marks += 1;
    if (mark["ttl"] !== "1h") isShortMet = true;
    else if (isShortMet) {
      const message = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block";
      throw new Refused(
        400,
        `${at}.cache_control.ttl: ${message}. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`,
      );
    }
  };
  for (const holder of ["tools", "system"]) {
    for (const [index, block] of objectsOf(body[holder]).entries()) look(block, `${holder}.${index}`);
  }
  for (const [index, message] of objectsOf(body["messages"]).entries()) {
    for (const [place, block] of objectsOf(message["content"]).entries()) {
      const at = `messages.${index}.content.${place}`;
      for (const inner of objectsOf(block["content"])) look(inner, at);
      look(block, at);
    }
  }
  look(body, "cache_control");
  if (marks > MAX_CACHE_MARKS) {
    throw new Refused(
      400,
      `A maximum of ${MAX_CACHE_MARKS} blocks with cache_control may be provided. Found ${marks}.`,
    );
  }
}

/** Refuses blocks in places where the newest version does not permit them; section 1 row 2. */
function checkPlacesOfVersion(turns: readonly Turn[]): void {
  for (const { role, blocks } of turns) {
    for (const { block, at } of blocks) {
      if (role === "assistant" && block["type"] === "document") {
        throw new Refused(400, `${at}: document blocks are not permitted in assistant messages`);
      }
      if (role !== "user") continue;
      const texts = block["type"] === "search_result" ? objectsOf(block["content"]) : [block];
      if (texts.some((text) => text["type"] === "text" && ((text["citations"] ?? []) as readonly Json[]).length > 0)) {
        throw new Refused(400, `${at}.citations: citations are not permitted in user messages`);
      }
    }
  }
}
