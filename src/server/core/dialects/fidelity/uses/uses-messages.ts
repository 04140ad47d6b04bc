/**
 * Collects the capabilities that a messages request uses. Source: dialects reference, 5.1 and 7; what translation drops: 8.2.
 */

import { listOf, objectOf, stringOf, type Values } from "../../json/json-values.ts";
import type { Form } from "../../routes/routes.ts";
import type { Capability } from "../capabilities.ts";
import { isOpaqueId, isText } from "../dialect-forms.ts";
import { type FieldReader, ignoreField, readFields } from "../field-readings.ts";
import { MESSAGES, type MESSAGES_FIELDS } from "../known-fields.ts";
import { isClosedSchema } from "../schemas.ts";
import type { UseList } from "./use-list.ts";
import { readSystem, readTurns } from "./uses-messages-history.ts";
import { readToolChoice, readTools } from "./uses-messages-tools.ts";
import { readThinking } from "./uses-thinking.ts";

/** Maximum number of stop sequences in compat. */
const MAX_STOPS = 4;

const READERS: Readonly<Record<(typeof MESSAGES_FIELDS)[number], FieldReader>> = {
  model: ignoreField,
  max_tokens(value, uses) {
    if (value === 0) uses.add("cache_prewarm");
  },
  messages: ignoreField,
  system: readSystem,
  stop_sequences(value, uses) {
    const { length } = listOf(value);
    if (length === 0) return;
    uses.add("stop");
    if (length > MAX_STOPS) uses.lose("stop", `stop_sequences[${MAX_STOPS}]`);
  },
  stream(value, uses) {
    if (value === true) uses.add("streaming");
  },
  temperature: readSampling,
  top_p: readSampling,
  top_k(value, uses) {
    if (typeof value === "number") uses.add("top_k");
  },
  tools: ignoreField,
  tool_choice: ignoreField,
  thinking: readThinking,
  output_config(value, uses) {
    const output = objectOf(value);
    if (output === undefined) return;
    if (typeof output.effort === "string") uses.add("effort", "output_config.effort");
    readFormat(output.format, "output_config.format", uses);
    if (objectOf(output.task_budget) !== undefined) uses.lose("hint", "output_config.task_budget");
    uses.checkMembers(output, MESSAGES.outputConfig, "output_config");
  },
  output_format(value, uses) {
    readFormat(value, "output_format", uses);
  },
  metadata(value, uses) {
    const metadata = objectOf(value);
    if (metadata === undefined) return;
    const { user_id } = metadata;
    if (isText(user_id)) {
      uses.add("user_id", "metadata.user_id");
      if (!isOpaqueId(user_id)) uses.lose("user_id", "metadata.user_id");
    }
    uses.checkMembers(metadata, MESSAGES.metadata, "metadata");
  },
  service_tier(value, uses) {
    if (typeof value !== "string" || value === "auto") return;
    uses.add("service_tier");
    if (value !== "standard_only") uses.lose("service_tier", "service_tier");
  },
  speed(value, uses) {
    if (typeof value !== "string" || value === "standard") return;
    uses.add("service_tier");
    if (value !== "fast") uses.lose("service_tier", "speed");
  },
  inference_geo(value, uses) {
    if (isText(value)) uses.add("inference_geo");
  },
  cache_control(value, uses) {
    uses.addCacheMark(value, "5m");
  },
  container(value, uses) {
    if (isText(value) || objectOf(value) !== undefined) uses.add("server_tools");
  },
  diagnostics(value, uses) {
    if (objectOf(value) !== undefined) uses.lose("hint", "diagnostics");
  },
  mcp_servers(value, uses) {
    if (listOf(value).length > 0) uses.add("server_tools");
  },
  context_management(value, uses) {
    const management = objectOf(value);
    if (management === undefined) return;
    for (const name in management) {
      if (isEmpty(management[name])) continue;
      if (name === "edits" && listOf(management.edits).every(clearsThinking))
        uses.lose("hint", "context_management.edits");
      else uses.add("context_management");
    }
  },
  thread(value, uses) {
    const thread = objectOf(value);
    if (thread === undefined) return;
    uses.add("thread");
    uses.checkMembers(thread, MESSAGES.thread, "thread");
  },
  betas(value, uses) {
    if (listOf(value).length > 0) uses.lose("hint", "betas");
  },
};

const READER_BY_FIELD: ReadonlyMap<string, FieldReader> = new Map(Object.entries(READERS));

/** Returns the uses of a messages request. `target` is explained at `UseList`. */
export function usesOfMessages(request: Values, target: Capability | undefined, to: Form): UseList {
  const uses = readFields(request, READER_BY_FIELD, target, to);
  readToolChoice(request.tool_choice, readTools(request.tools, uses), uses);
  readCombinations(request, uses);
  readTurns(listOf(request.messages), uses);
  return uses;
}

/** Adds uses that depend on several fields. */
function readCombinations(request: Values, uses: UseList): void {
  if (isSampling(request.temperature) && isSampling(request.top_p)) uses.add("top_p_pair", "top_p");
  const { capabilities } = uses;
  if (capabilities.has("thinking") && capabilities.has("tool_choice")) uses.add("thinking_forced_tool", "tool_choice");
  // Compat has a single member for thinking and effort.
  const isOff = objectOf(request.thinking)?.type === "disabled";
  if (isOff && capabilities.has("effort")) uses.lose("effort", "output_config.effort");
  const output = objectOf(request.output_config);
  if (objectOf(output?.format) !== undefined && objectOf(request.output_format) !== undefined) {
    uses.lose("hint", "output_format");
  }
  if (request.speed === "fast" && request.service_tier === "standard_only") uses.lose("service_tier", "service_tier");
}

function readSampling(value: unknown, uses: UseList): void {
  if (isSampling(value)) uses.add("sampling");
}

function isSampling(value: unknown): boolean {
  return typeof value === "number" && value !== 1;
}

function readFormat(value: unknown, place: string, uses: UseList): void {
  const format = objectOf(value);
  if (format === undefined) return;
  if (format.type === "json_schema") {
    uses.add("json_schema", place);
    // Compat only enforces closed schemas; every other schema is a hint to the model.
    if (!isClosedSchema(format.schema)) uses.lose("hint", `${place}.schema`);
  } else uses.lose("unknown_field", `${place}.type`);
  uses.checkMembers(format, MESSAGES.format, place);
}

/**
 * Returns whether an edit clears thinking. Such an edit does not change the meaning of a conversation, and coding agents send
 * it in every request to any provider.
 */
function clearsThinking(edit: unknown): boolean {
  return stringOf(objectOf(edit)?.type)?.startsWith("clear_thinking_") === true;
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
}
