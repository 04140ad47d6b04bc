/**
 * Translates the tools of a messages request, and the tool choice, to compat. Source: dialects reference, 8.2.
 *
 * A provider refuses a tool choice, or a flag about calls, without a tool. So neither is sent if no function is left.
 */
import { isClosedSchema } from "../../fidelity/schemas.ts";
import type { JsonSource } from "../../json/json-source.ts";
import { listOf, objectOf, type Values } from "../../json/json-values.ts";
import {
  optionalFlag,
  optionalList,
  optionalObject,
  optionalText,
  refuse,
  requiredName,
  requiredObject,
} from "../required-members.ts";
import type { Scope } from "./chat.ts";

/** Pattern of the types of tools that a provider runs itself. */
const SERVER_TOOLS = /^(?:web_search|web_fetch|code_execution|tool_search_tool|advisor)_|^mcp_toolset$/;
const WEB_SEARCH = /^web_search_/;

/**
 * Rules of a web search that compat does not have. A search with one of them is not sent, since without the rule it would be a
 * different search.
 */
const SEARCH_RULES = ["allowed_domains", "blocked_domains"];

/** Tools by who runs them. Functions belong to the client; all others are known to a provider by their type. */
interface Tools {
  readonly functions: readonly FunctionTool[];
  /** Names of tools with a type that has no counterpart. */
  readonly typedNames: ReadonlySet<unknown>;
  readonly webSearch: Tool | undefined;
}

interface Tool {
  readonly tool: Values;
  readonly place: string;
}

interface FunctionTool extends Tool {
  readonly name: string;
}

export function readTools(request: Values): Tools {
  const functions: FunctionTool[] = [];
  const typed: Tool[] = [];
  for (const [index, item] of optionalList(request["tools"], "tools").entries()) {
    const place = `tools[${index}]`;
    const tool = requiredObject(item, place);
    const type = optionalText(tool["type"], `${place}.type`) ?? "custom";
    if (type === "custom") functions.push({ name: requiredName(tool["name"], `${place}.name`), tool, place });
    else typed.push({ tool, place });
  }
  const ofServer = typed.filter((typedTool) => isTypedAs(SERVER_TOOLS, typedTool));
  return {
    functions,
    typedNames: new Set(typed.map(({ tool }) => tool["name"])),
    webSearch: ofServer.length === 1 ? ofServer.find((tool) => isTypedAs(WEB_SEARCH, tool)) : undefined,
  };
}

function isTypedAs(types: RegExp, { tool }: Tool): boolean {
  return types.test(String(tool["type"]));
}

export function translateTools(request: Values, tools: Tools, scope: Scope): object {
  return { ...functionMembers(request, tools, scope), web_search_options: searchOptions(tools, scope) };
}

function functionMembers(request: Values, { functions, typedNames }: Tools, scope: Scope): object {
  const translated = functions.map((tool) => translateFunction(tool, scope));
  const choice = optionalObject(request["tool_choice"], "tool_choice");
  if (choice === undefined) return translated.length > 0 && scope.claims("tools") ? { tools: translated } : {};
  const tool_choice = translateChoice(choice, typedNames, scope);
  const isSerial = optionalFlag(choice["disable_parallel_tool_use"], "tool_choice.disable_parallel_tool_use");
  if (translated.length === 0 || !scope.claims("tools")) return {};
  return {
    tools: translated,
    tool_choice,
    parallel_tool_calls: isSerial && scope.claims("parallel_tool_calls") ? false : undefined,
  };
}

function translateFunction({ name, tool, place }: FunctionTool, { source, claims, names }: Scope): object {
  const schema = optionalObject(tool["input_schema"], `${place}.input_schema`);
  const isStrict = optionalFlag(tool["strict"], `${place}.strict`);
  return {
    type: "function",
    function: {
      name: names.nameToSend(name),
      description: optionalText(tool["description"], `${place}.description`),
      parameters: schema && withProperties(schema, source),
      strict: isStrict && claims("strict_tools") && isClosedSchema(schema) ? true : undefined,
    },
  };
}

/** Returns the schema with `properties`, since providers refuse an object without them. */
function withProperties(schema: Values, { exact }: JsonSource): unknown {
  if (schema["type"] !== "object" || objectOf(schema["properties"]) !== undefined) return exact(schema);
  const members = Object.entries(schema).map(([name, value]) => [
    name,
    typeof value === "object" && value !== null ? exact(value) : value,
  ]);
  return Object.fromEntries([...members, ["properties", {}]]);
}

/** Returns the tool choice, or `undefined`, which leaves the choice to the provider, if the chosen tool cannot be sent. */
function translateChoice(choice: Values, typedNames: ReadonlySet<unknown>, { claims, names }: Scope): unknown {
  switch (choice["type"]) {
    case "none":
    case "auto":
      return choice["type"];
    case "any":
      return claims("tool_choice") ? "required" : undefined;
    case "tool": {
      const name = requiredName(choice["name"], "tool_choice.name");
      if (typedNames.has(name) || !claims("tool_choice")) return undefined;
      return { type: "function", function: { name: names.nameToSend(name) } };
    }
    default:
      return refuse("tool_choice.type", "must be auto, any, tool or none");
  }
}

function searchOptions({ webSearch }: Tools, { claims }: Scope): object | undefined {
  if (webSearch === undefined || !claims("web_search")) return undefined;
  if (SEARCH_RULES.some((name) => listOf(webSearch.tool[name]).length > 0)) return undefined;
  const place = `${webSearch.place}.user_location`;
  const location = optionalObject(webSearch.tool["user_location"], place);
  if (location === undefined) return {};
  const part = (name: string) => optionalText(location[name], `${place}.${name}`);
  const approximate = {
    city: part("city"),
    country: part("country"),
    region: part("region"),
    timezone: part("timezone"),
  };
  return { user_location: { type: "approximate", approximate } };
}
