/**
 * Translates the tools of a compat request, and the tool choice. Source: dialects reference, 8.1; 10.3 (2).
 *
 * The legacy `functions` and `function_call` are tools under other names; an answer calls at most one.
 */
import type { Loss } from "../../fidelity/losses.ts";
import { isExpressibleInMessages } from "../../fidelity/schemas.ts";
import { jsonText, Verbatim } from "../../json/json-source.ts";
import type { Values } from "../../json/json-values.ts";
import {
  isAbsent,
  optionalFlag,
  optionalList,
  optionalObject,
  optionalText,
  refuse,
  requiredList,
  requiredObject,
} from "../required-members.ts";
import type { CacheControl, Markable, Scope } from "./block-types.ts";
import { markOf } from "./cache-marks.ts";
import { narrowSchema } from "./output-schema.ts";
import { toolName } from "./tool-calls.ts";
import { hasTopLevelUnion, mergeSchema } from "./tool-schema.ts";

interface Definition extends Markable {
  readonly name: string;
  readonly description: string | undefined;
  readonly input_schema: unknown;
  readonly strict: true | undefined;
}

interface WebSearch extends Markable {
  readonly type: "web_search_20250305";
  readonly name: "web_search";
  readonly user_location: unknown;
}

interface ToolChoice {
  readonly type: "auto" | "any" | "tool" | "none";
  readonly name?: string;
  readonly disable_parallel_tool_use?: true;
}

/** Meaning of `tool_choice`. `allowed` are the only tools that may be called; `undefined` allows all. */
interface ToolChoiceMeaning {
  readonly choice: ToolChoice | undefined;
  readonly allowed: ReadonlySet<string> | undefined;
}

interface Tools {
  /** Tools to send; empty if none can be called. */
  readonly tools: readonly (Definition | WebSearch)[];
  readonly choice: ToolChoice | undefined;
  readonly callsFunctions: boolean;
  /** First loss that was found only during translation, if any; soft. */
  readonly lost: readonly Loss[];
}

const NO_PARAMETERS = { type: "object", properties: {} };

const NO_CHOICE: ToolChoiceMeaning = { choice: undefined, allowed: undefined };

/** Choice by mode of `tool_choice`. Any other value has no translation. */
const MODES: ReadonlyMap<unknown, ToolChoice> = new Map([
  ["none", { type: "none" }],
  ["auto", { type: "auto" }],
  ["required", { type: "any" }],
]);

export function toolsOf(request: Values, scope: Scope): Tools {
  const { claims } = scope;
  const functions = optionalList(request["functions"], "functions");
  const callsFunctions = functions.length > 0;
  const lost: Loss[] = [];
  const defined = definitions(request, functions, { scope, lost });
  const { choice, allowed } = callsFunctions ? functionCall(request) : toolChoice(request);
  if (choice?.type === "tool" && !defined.some(({ name }) => name === choice.name)) {
    refuse(callsFunctions ? "function_call" : "tool_choice", "must name a tool that the request defines");
  }
  const listed = allowed === undefined ? defined : defined.filter(({ name }) => allowed.has(name));
  const offered = claims("tools") ? listed : [];
  const search = webSearch(request, scope);
  const tools = search === undefined ? offered : [...offered, search];
  if (tools.length === 0) return { tools, choice: undefined, callsFunctions, lost };
  const isOneAtATime = callsFunctions || !optionalFlag(request["parallel_tool_calls"] ?? true, "parallel_tool_calls");
  // If no function is sent, a choice that forces a call would force the search, which was not requested.
  const effectiveChoice = offered.length === 0 && isForced(choice) ? undefined : choice;
  return { tools, choice: choiceToSend(effectiveChoice, isOneAtATime, scope), callsFunctions, lost };
}

function choiceToSend(
  requested: ToolChoice | undefined,
  isOneAtATime: boolean,
  { claims }: Scope,
): ToolChoice | undefined {
  const choice = isForced(requested) && !claims("tool_choice") ? undefined : requested;
  if (!isOneAtATime || choice?.type === "none" || !claims("parallel_tool_calls")) return choice;
  return { ...(choice ?? { type: "auto" }), disable_parallel_tool_use: true };
}

export function isForced(choice: ToolChoice | undefined): boolean {
  return choice?.type === "any" || choice?.type === "tool";
}

interface DefinitionContext {
  readonly scope: Scope;
  readonly lost: Loss[];
}

/** Returns the definitions. Tools of other types have no equivalent. */
function definitions(
  request: Values,
  functions: readonly unknown[],
  defining: DefinitionContext,
): readonly Definition[] {
  const tools = optionalList(request["tools"], "tools");
  if (functions.length > 0) {
    if (tools.length > 0) refuse("functions", "cannot be used together with tools");
    return functions.map((item, index) => definition(item, `functions[${index}]`, defining));
  }
  return tools.flatMap((item, index) => {
    const at = `tools[${index}]`;
    const tool = requiredObject(item, at);
    if ((tool["type"] ?? "function") !== "function") return [];
    return [definition(tool["function"], `${at}.function`, defining, markOf(tool, defining.scope))];
  });
}

function definition(value: unknown, at: string, { scope, lost }: DefinitionContext, mark?: CacheControl): Definition {
  const { claims, exact } = scope;
  const of = requiredObject(value, at);
  const parameters = optionalObject(of["parameters"], `${at}.parameters`);
  const isAsked = optionalFlag(of["strict"], `${at}.strict`) && claims("strict_tools");
  const isStrict =
    isAsked && (parameters === undefined || (isExpressibleInMessages(parameters) && !hasTopLevelUnion(parameters)));
  return {
    name: toolName(of["name"], `${at}.name`),
    description: optionalText(of["description"], `${at}.description`) || undefined,
    input_schema:
      parameters !== undefined && hasTopLevelUnion(parameters)
        ? withoutUnions(parameters, `${at}.parameters`, exact, lost)
        : inputSchema(parameters, isStrict ? (schema) => narrowSchema(schema, exact) : exact),
    strict: isStrict ? true : undefined,
    cache_control: mark ?? markOf(of, scope),
  };
}

/** Returns the input schema. The API accepts only schemas that declare the type object. */
function inputSchema(parameters: Values | undefined, made: (schema: Values) => unknown): unknown {
  if (parameters === undefined || Object.keys(parameters).length === 0) return made(NO_PARAMETERS);
  if (Object.hasOwn(parameters, "type")) return made(parameters);
  return new Verbatim(`{"type":"object",${jsonText(made(parameters)).trimStart().slice(1)}`);
}

function withoutUnions(parameters: Values, place: string, exact: Scope["exact"], lost: Loss[]): unknown {
  const { schema, isLossy } = mergeSchema(parameters, exact);
  if (isLossy && lost.length === 0) lost.push({ capability: "tools", isHard: false, place });
  return schema;
}

function toolChoice(request: Values): ToolChoiceMeaning {
  const choice = request["tool_choice"];
  if (isAbsent(choice)) return NO_CHOICE;
  if (typeof choice === "string") return { choice: MODES.get(choice), allowed: undefined };
  const of = requiredObject(choice, "tool_choice");
  switch (of["type"]) {
    case "function":
      return named(requiredObject(of["function"], "tool_choice.function"), "tool_choice.function.name");
    case "allowed_tools":
      return allowedTools(requiredObject(of["allowed_tools"], "tool_choice.allowed_tools"));
    // The default covers custom tools and unknown types.
    default:
      return NO_CHOICE;
  }
}

function functionCall(request: Values): ToolChoiceMeaning {
  const choice = request["function_call"];
  if (isAbsent(choice)) return NO_CHOICE;
  if (typeof choice === "string") return { choice: MODES.get(choice), allowed: undefined };
  return named(requiredObject(choice, "function_call"), "function_call.name");
}

function named(of: Values, place: string): ToolChoiceMeaning {
  return { choice: { type: "tool", name: toolName(of["name"], place) }, allowed: undefined };
}

function allowedTools(of: Values): ToolChoiceMeaning {
  const place = "tool_choice.allowed_tools";
  const allowed = requiredList(of["tools"], `${place}.tools`).flatMap((item, index) => {
    const at = `${place}.tools[${index}]`;
    const tool = requiredObject(item, at);
    if (tool["type"] !== "function") return [];
    return [toolName(requiredObject(tool["function"], `${at}.function`)["name"], `${at}.function.name`)];
  });
  return { choice: MODES.get(of["mode"]), allowed: new Set(allowed) };
}

function webSearch(request: Values, { claims }: Scope): WebSearch | undefined {
  const options = optionalObject(request["web_search_options"], "web_search_options");
  if (options === undefined || !claims("web_search")) return undefined;
  const place = "web_search_options.user_location";
  return {
    type: "web_search_20250305",
    name: "web_search",
    user_location: userLocation(options["user_location"], place),
  };
}

function userLocation(value: unknown, place: string): unknown {
  const near = optionalObject(optionalObject(value, place)?.["approximate"], `${place}.approximate`);
  if (near === undefined) return undefined;
  const { city, country, region, timezone } = near;
  return { type: "approximate", city, country, region, timezone };
}
