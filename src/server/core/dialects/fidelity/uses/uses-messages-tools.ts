/**
 * Collects the capabilities that the tools and the tool choice of a messages request use. Source: dialects reference, 5.1 and
 * 8.2.
 *
 * A tool with a type is known to the provider: it runs on the client's side (`builtin_tools`) or on the provider's. The tool
 * search has a capability of its own, although it runs on a server.
 */
import { listOf, objectOf, type Values } from "../../json/json-values.ts";
import { MESSAGES } from "../known-fields.ts";
import { isClosedSchema } from "../schemas.ts";
import type { UseList } from "./use-list.ts";

const BUILTIN_TOOL = /^(?:bash|text_editor|memory|computer|browser)_/u;
const SERVER_TOOL = /^(?:web_fetch|code_execution|advisor)_|^mcp_toolset$/u;

interface Tools {
  readonly hasCustom: boolean;
  /** Names of tools that have a type: compat has no form for a call to one of them. */
  readonly typed: readonly unknown[];
}

export function readTools(value: unknown, uses: UseList): Tools {
  let hasCustom = false;
  let searches = 0;
  const typed: unknown[] = [];
  for (const [index, item] of listOf(value).entries()) {
    const tool = objectOf(item);
    if (tool === undefined) continue;
    uses.enter("tools", index);
    readFlags(tool, uses);
    const { type } = tool;
    if (type === undefined || type === null || type === "custom") {
      hasCustom = true;
      readCustom(tool, uses);
      continue;
    }
    if (typeof type !== "string") continue;
    typed.push(tool.name);
    if (type.startsWith("web_search_")) {
      searches += 1;
      readSearch(tool, uses);
      if (searches > 1) uses.lose("web_search", "type");
    } else if (type.startsWith("tool_search_tool_")) uses.add("tool_search");
    else if (BUILTIN_TOOL.test(type)) uses.add("builtin_tools");
    else if (SERVER_TOOL.test(type)) uses.add("server_tools");
    else uses.lose("unknown_field", "type");
  }
  uses.leave();
  return { hasCustom, typed };
}

function readFlags(tool: Values, uses: UseList): void {
  uses.addCacheMark(tool.cache_control, "5m", "cache_control");
  if (tool.strict === true) uses.add("strict_tools", "strict");
  if (tool.defer_loading === true) uses.add("tool_search", "defer_loading");
  // This tool can be called from code that the provider runs.
  if (listOf(tool.allowed_callers).some((caller) => caller !== "direct")) uses.add("server_tools", "allowed_callers");
}

function readCustom(tool: Values, uses: UseList): void {
  uses.add("tools");
  uses.checkMembers(tool, MESSAGES.tool);
  if (tool.strict === true && !isClosedSchema(tool.input_schema)) uses.lose("strict_tools", "input_schema");
  if (tool.eager_input_streaming === true) uses.lose("hint", "eager_input_streaming");
  if (listOf(tool.input_examples).length > 0) uses.lose("hint", "input_examples");
}

/** Reads a web search tool. A limit on domains is a rule and is lost with the search; a limit on uses only bounds the cost. */
function readSearch(tool: Values, uses: UseList): void {
  uses.add("web_search");
  uses.checkMembers(tool, MESSAGES.webSearch);
  for (const rule of ["allowed_domains", "blocked_domains"]) {
    if (listOf(tool[rule]).length > 0) uses.lose("web_search", rule);
  }
  const location = objectOf(tool.user_location);
  if (location !== undefined) uses.checkMembers(location, MESSAGES.userLocation, "user_location");
  if (typeof tool.max_uses === "number") uses.lose("hint", "max_uses");
}

/** Reads the tool choice. `none` is not a use, since no channel can lack it. */
export function readToolChoice(value: unknown, { hasCustom, typed }: Tools, uses: UseList): void {
  const choice = objectOf(value);
  if (choice === undefined) return;
  uses.checkMembers(choice, MESSAGES.toolChoice, "tool_choice");
  if (choice.disable_parallel_tool_use === true)
    uses.add("parallel_tool_calls", "tool_choice.disable_parallel_tool_use");
  switch (choice.type) {
    case "auto":
    case "none":
      return;
    case "any":
      uses.add("tool_choice", "tool_choice");
      if (!hasCustom) uses.lose("tool_choice", "tool_choice");
      return;
    case "tool":
      uses.add("tool_choice", "tool_choice");
      // The search is the only tool that can be chosen.
      if (!hasCustom && uses.capabilities.has("web_search") && !uses.capabilities.has("server_tools")) return;
      if (!hasCustom || typed.includes(choice.name)) uses.lose("tool_choice", "tool_choice.name");
      return;
    default:
      uses.lose("unknown_field", "tool_choice.type");
  }
}
