/**
 * Converts the tools of a `responses` request, and the tool choice, to those of a chat completion: all become functions.
 * Source: responses reference, 4.
 */
import { type Additions, choiceOf, offeredTools, type RequestTool, toolKey } from "../../fidelity/response-tools.ts";
import { objectOf, type Values } from "../../json/json-values.ts";
import {
  optionalFlag,
  optionalList,
  optionalObject,
  optionalText,
  refuse,
  requiredName,
  requiredText,
} from "../required-members.ts";
import { openToolNames, type ToolNames } from "./tool-names.ts";

/** Parameters of a custom tool: its input as the member of an object. */
const CUSTOM_PARAMETERS = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
};

export interface Tools {
  readonly names: ToolNames;
  /** Members `tools`, `tool_choice` and `parallel_tool_calls` of a chat completion; empty if no tool can be called. */
  readonly members: Values;
}

export function toolsOf(request: Values, additions: Additions, maxNameLength: number): Tools {
  optionalList(request["tools"], "tools");
  const offered = offeredTools(request["tools"], additions);
  const { mode, named, allowed, problem } = choiceOf(request["tool_choice"], offered);
  if (problem !== undefined) refuse("tool_choice", problem);
  const own = withoutRepeatedNames(offered.own);
  const names = openToolNames(own.map(clientTool), maxNameLength);
  const isSerial = !optionalFlag(request["parallel_tool_calls"] ?? true, "parallel_tool_calls");
  const tools = (allowed === undefined ? own : own.filter((tool) => allowed.has(tool))).map((tool) => ({
    type: "function",
    function: definition(tool, names),
  }));
  if (tools.length === 0) return { names, members: {} };
  const tool_choice =
    named === undefined ? mode : { type: "function", function: { name: names.nameToSend(clientTool(named)) } };
  const isSet = request["tool_choice"] !== undefined && request["tool_choice"] !== null;
  return {
    names,
    members: {
      tools,
      tool_choice: isSet ? tool_choice : undefined,
      parallel_tool_calls: isSerial ? false : undefined,
    },
  };
}

/**
 * Removes earlier tools whose name is repeated, since a provider refuses repeated names. The later one may have been added by
 * an item.
 */
function withoutRepeatedNames(own: readonly RequestTool[]): readonly RequestTool[] {
  const tools = new Map<string, RequestTool>();
  for (const tool of own) tools.set(toolKey(tool.namespace, requiredName(tool.name, `${tool.place}.name`)), tool);
  return [...tools.values()];
}

function clientTool({ kind, namespace, name = "" }: RequestTool) {
  return { name, namespace, isCustom: kind === "custom" };
}

function definition(own: RequestTool, names: ToolNames): Values {
  const { kind, tool, place } = own;
  const name = names.nameToSend(clientTool(own));
  const description = optionalText(tool["description"], `${place}.description`) || undefined;
  if (kind === "custom")
    return { name, description: withGrammar(description, tool, place), parameters: CUSTOM_PARAMETERS };
  const strict = tool["strict"];
  return {
    name,
    description,
    parameters: optionalObject(tool["parameters"], `${place}.parameters`),
    strict: strict === null || strict === undefined ? undefined : optionalFlag(strict, `${place}.strict`),
  };
}

/** Adds a custom tool's grammar to its description, since the grammar is not enforced. */
function withGrammar(description: string | undefined, tool: Values, place: string): string | undefined {
  const format = objectOf(tool["format"]);
  if (format?.["type"] !== "grammar") return description;
  const syntax = optionalText(format["syntax"], `${place}.format.syntax`) ?? "";
  const text = requiredText(format["definition"], `${place}.format.definition`);
  const instruction = `The input must match this ${syntax} grammar:\n${text}`;
  return description === undefined ? instruction : `${description}\n\n${instruction}`;
}
