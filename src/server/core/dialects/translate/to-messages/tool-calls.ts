/** Converts tool calls of an assistant message to `tool_use` blocks. Source: dialects reference, 8.3. */
import { type JsonSource, Verbatim } from "../../json/json-source.ts";
import { objectOf, tryParseJson, type Values } from "../../json/json-values.ts";
import { isAbsent, optionalList, optionalObject, refuse, requiredName, requiredObject } from "../required-members.ts";
import type { ToolUseBlock } from "./block-types.ts";
import type { ToolIds } from "./tool-call-ids.ts";

const NAME = /^[A-Za-z0-9_-]{1,128}$/;

/** Returns the name of a tool. The compat dialect allows only half the length, so its names are never too long. */
export function toolName(value: unknown, place: string): string {
  const name = requiredName(value, place);
  return NAME.test(name) ? name : refuse(place, "must consist of at most 128 letters, digits, _ and -");
}

/** Returns the calls of a message at `place`. The legacy form makes one call, whose id is derived from its function's name. */
export function toolUses(
  message: Values,
  place: string,
  ids: ToolIds,
  exact: JsonSource["exact"],
): readonly ToolUseBlock[] {
  const uses: ToolUseBlock[] = [];
  for (const [index, item] of optionalList(message["tool_calls"], `${place}.tool_calls`).entries()) {
    const at = `${place}.tool_calls[${index}]`;
    const call = requiredObject(item, at);
    const id = ids.assignCallId(requiredName(call["id"], `${at}.id`));
    uses.push(
      call["type"] === "custom" ? customUse(call, at, id) : functionUse(call["function"], `${at}.function`, id, exact),
    );
  }
  const legacy = optionalObject(message["function_call"], `${place}.function_call`);
  if (legacy !== undefined) {
    const at = `${place}.function_call`;
    uses.push(functionUse(legacy, at, ids.assignCallId(legacyId(toolName(legacy["name"], `${at}.name`))), exact));
  }
  return uses;
}

/** Returns an id for a call of the legacy form, which has none. No request contains such an id. */
export function legacyId(functionName: string): string {
  return `function.${functionName}`;
}

function functionUse(value: unknown, at: string, id: string, exact: JsonSource["exact"]): ToolUseBlock {
  const of = requiredObject(value, at);
  return {
    type: "tool_use",
    id,
    name: toolName(of["name"], `${at}.name`),
    input: inputOf(of["arguments"], `${at}.arguments`, exact),
  };
}

/** Returns the call of a custom tool. Its input is free text. */
function customUse(call: Values, at: string, id: string): ToolUseBlock {
  const custom = requiredObject(call["custom"], `${at}.custom`);
  const name = toolName(custom["name"], `${at}.custom.name`);
  return { type: "tool_use", id, name, input: { _raw: custom["input"] ?? "" } };
}

/** Returns the input. Arguments that are not an object, as a model may write them, are kept as text. */
export function inputOf(written: unknown, at: string, exact: JsonSource["exact"]): unknown {
  if (isAbsent(written) || written === "") return {};
  if (typeof written === "string") {
    return objectOf(tryParseJson(written)) === undefined ? { _raw: written } : new Verbatim(wellFormed(written));
  }
  return exact(objectOf(written) ?? refuse(at, "must be a string"));
}

/**
 * Returns well-formed text. Half a surrogate pair, which only a string in the JSON text can contain, has no UTF-8 bytes and is
 * written as an escape.
 */
function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  return text.replace(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
}
