/**
 * Sorts the tools of a `responses` request by who can run them, and reads the tool choice. The guard and the translation both
 * use it, so that they agree. Source: responses reference, 4.
 *
 * Functions and custom tools belong to the client and can be offered to any provider. Every other tool is run by or known to
 * one provider, and is left out unless the request requires it.
 */
import { listOf, objectOf, stringOf, type Values } from "../json/json-values.ts";
import type { Capability } from "./capabilities.ts";

export interface RequestTool {
  readonly kind: "function" | "custom";
  readonly tool: Values;
  /** Place of the tool, such as `tools[3].tools[0]` or `input[2].tools[0]`. */
  readonly place: string;
  readonly namespace: string | undefined;
  /** Name of the tool; `undefined` if it has none, or one that is not a string. */
  readonly name: string | undefined;
}

/** Tool that belongs to a provider. */
interface ProviderTool {
  /** Capability that a channel needs for this tool; `undefined` if the type is unknown. */
  readonly capability: Capability | undefined;
  readonly place: string;
}

export interface OfferedTools {
  readonly own: readonly RequestTool[];
  readonly foreign: readonly ProviderTool[];
  readonly namespaces: readonly { readonly tool: Values; readonly place: string }[];
}

/** Settings that items of the input add to the request. */
export interface Additions {
  readonly tools: readonly { readonly list: unknown; readonly place: string }[];
  /** Settings of the last such item; they replace the request's own. */
  readonly reasoning: unknown;
  readonly text: unknown;
}

/** Capability that a channel needs for a provider's tool, by the tool's type. */
const PROVIDER_TOOL_CAPABILITIES: ReadonlyMap<string, Capability> = new Map([
  ["file_search", "server_tools"],
  ["code_interpreter", "server_tools"],
  ["image_generation", "server_tools"],
  ["mcp", "server_tools"],
  ["local_shell", "builtin_tools"],
  ["shell", "builtin_tools"],
  ["apply_patch", "builtin_tools"],
  ["tool_search", "tool_search"],
  ["programmatic_tool_calling", "programmatic_tools"],
]);

/** Returns the capability for a tool of the type, or `undefined` if the type is unknown. */
function providerToolCapability(type: unknown): Capability | undefined {
  if (typeof type !== "string") return undefined;
  if (/^web_search(?:_|$)/u.test(type)) return "web_search";
  return /^computer(?:_|$)/u.test(type) ? "builtin_tools" : PROVIDER_TOOL_CAPABILITIES.get(type);
}

/** Returns the tools, reasoning and text settings that items of the input add to a request of the Responses API. */
export function additionsOf(input: unknown): Additions {
  const tools: { readonly list: unknown; readonly place: string }[] = [];
  let reasoning: unknown;
  let text: unknown;
  for (const [index, entry] of listOf(input).entries()) {
    const item = objectOf(entry);
    switch (item?.type) {
      case "additional_tools":
      case "tool_search_output":
        tools.push({ list: item.tools, place: `input[${index}].tools` });
        break;
      case "configuration_update":
        reasoning = objectOf(item.reasoning) ?? reasoning;
        text = objectOf(item.text) ?? text;
        break;
    }
  }
  return { tools, reasoning, text };
}

export function offeredTools(tools: unknown, { tools: added }: Additions): OfferedTools {
  const offered = { own: [], foreign: [], namespaces: [] };
  sortTools(tools, "tools", undefined, offered);
  for (const { list, place } of added) sortTools(list, place, undefined, offered);
  return offered;
}

interface SortedTools {
  readonly own: RequestTool[];
  readonly foreign: ProviderTool[];
  readonly namespaces: { readonly tool: Values; readonly place: string }[];
}

function sortTools(list: unknown, at: string, namespace: string | undefined, sorted: SortedTools): void {
  for (const [index, entry] of listOf(list).entries()) {
    const tool = objectOf(entry);
    if (tool === undefined) continue;
    const place = `${at}[${index}]`;
    const { type } = tool;
    if (type === "function" || type === "custom") {
      sorted.own.push({ kind: type, tool, place, namespace, name: stringOf(tool.name) });
    } else if (type === "namespace" && namespace === undefined) {
      sorted.namespaces.push({ tool, place });
      sortTools(tool.tools, `${place}.tools`, stringOf(tool.name) ?? "", sorted);
    } else sorted.foreign.push({ capability: providerToolCapability(type), place });
  }
}

/** Tool choice of a request, resolved to its tools. */
interface Choice {
  readonly mode: "auto" | "none" | "required";
  /** Tool that must be called; `mode` is then `required`. */
  readonly named: RequestTool | undefined;
  /** Tools that may be called; `undefined` for all. */
  readonly allowed: ReadonlySet<RequestTool> | undefined;
  /** Capability that the choice requires although the tool is left out or unknown. */
  readonly lackedCapability: Capability | undefined;
  /** Description of the valid values; set if this value is invalid in the dialect. */
  readonly problem: string | undefined;
}

const AUTO: Choice = {
  mode: "auto",
  named: undefined,
  allowed: undefined,
  lackedCapability: undefined,
  problem: undefined,
};

export function choiceOf(choiceValue: unknown, offered: OfferedTools): Choice {
  if (typeof choiceValue === "string") return modeOf(choiceValue, offered);
  const choice = objectOf(choiceValue);
  if (choice === undefined) return AUTO;
  const { type } = choice;
  if (type === "allowed_tools") return allowedOf(choice, offered);
  if (type !== "function" && type !== "custom")
    return { ...AUTO, lackedCapability: providerToolCapability(type) ?? "unknown_field" };
  const named = finderOf(offered.own)(choice);
  if (named === undefined) return { ...AUTO, problem: "must name a tool that the request defines" };
  return { ...AUTO, mode: "required", named };
}

function modeOf(mode: string, { own, foreign }: OfferedTools): Choice {
  if (mode === "none") return { ...AUTO, mode };
  if (mode !== "required") return mode === "auto" ? AUTO : { ...AUTO, lackedCapability: "unknown_field" };
  return own.length > 0 ? { ...AUTO, mode } : { ...AUTO, lackedCapability: lackedOf(foreign) };
}

function allowedOf({ mode, tools }: Values, { own, foreign }: OfferedTools): Choice {
  const find = finderOf(own);
  const named = new Set<RequestTool | undefined>();
  const namespaces = new Set<unknown>();
  let lackedCapability: Capability | undefined;
  for (const entry of listOf(tools)) {
    const item = objectOf(entry);
    if (item?.type === "namespace") namespaces.add(item.name);
    else if (item?.type === "function" || item?.type === "custom") named.add(find(item));
    else lackedCapability ??= providerToolCapability(item?.type);
  }
  const allowed = new Set(
    own.filter((tool) => named.has(tool) || (tool.namespace !== undefined && namespaces.has(tool.namespace))),
  );
  if (allowed.size > 0) return { ...AUTO, mode: mode === "required" ? "required" : "auto", allowed };
  return { ...AUTO, allowed, lackedCapability: lackedCapability ?? lackedOf(foreign) };
}

function lackedOf(foreign: readonly ProviderTool[]): Capability {
  return foreign[0] === undefined ? "tool_choice" : (foreign[0].capability ?? "unknown_field");
}

/** Returns a function that finds a tool. A name alone may refer to a tool in a namespace, if only one has it. */
function finderOf(own: readonly RequestTool[]): (choice: Values) => RequestTool | undefined {
  const byKey = new Map<string, RequestTool>();
  const byNameAlone = new Map<string, RequestTool | undefined>();
  for (const tool of own) {
    const { name, namespace } = tool;
    if (name === undefined) continue;
    byKey.set(toolKey(namespace, name), tool);
    if (namespace !== undefined) byNameAlone.set(name, byNameAlone.has(name) ? undefined : tool);
  }
  return ({ name, namespace }) => {
    if (typeof name !== "string") return undefined;
    if (typeof namespace === "string") return byKey.get(toolKey(namespace, name));
    return byKey.get(toolKey(undefined, name)) ?? byNameAlone.get(name);
  };
}

/** Returns the key of a tool. Tools with equal keys are the same tool. */
export function toolKey(namespace: string | undefined, name: string): string {
  return namespace === undefined ? JSON.stringify(name) : JSON.stringify([namespace, name]);
}
