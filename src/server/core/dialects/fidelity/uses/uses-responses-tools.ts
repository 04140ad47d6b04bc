/**
 * Collects the capabilities that the tools and the tool choice of a `responses` request use. Source: responses reference, 4.
 */

import { listOf, objectOf, type Values } from "../../json/json-values.ts";
import type { Form } from "../../routes/routes.ts";
import { RESPONSE } from "../known-response-fields.ts";
import { type Additions, choiceOf, type OfferedTools, offeredTools, type RequestTool } from "../response-tools.ts";
import type { UseList } from "./use-list.ts";
import { readStrict } from "./uses-compat-tools.ts";

export function readOffered(request: Values, additions: Additions, to: Form, uses: UseList): void {
  const offered = offeredTools(request.tools, additions);
  for (const tool of offered.own) readRequestTool(tool, to, uses);
  for (const { tool, place } of offered.namespaces) {
    uses.add("tool_namespaces", place);
    uses.checkMembers(tool, RESPONSE.namespace, place);
  }
  readProviderTools(offered, uses);
  readChoice(request, offered, uses);
  if (request.parallel_tool_calls === false && offered.own.length > 0) {
    uses.add("parallel_tool_calls", "parallel_tool_calls");
  }
}

function readRequestTool({ kind, tool, place }: RequestTool, to: Form, uses: UseList): void {
  uses.add("tools", place);
  if (kind === "custom") {
    uses.add("custom_tools", place);
    uses.checkMembers(tool, RESPONSE.customTool, place);
    const format = objectOf(tool.format);
    if (format !== undefined && format.type !== "text") {
      uses.add("tool_grammar", `${place}.format`);
      uses.checkMembers(format, RESPONSE.grammar, `${place}.format`);
    }
  } else {
    uses.checkMembers(tool, RESPONSE.functionTool, place);
    if (tool.strict === true && to === "messages") readStrict(tool.parameters, `${place}.`, uses);
    else if (tool.strict === true) uses.add("strict_tools", `${place}.strict`);
  }
  if (tool.async === true) uses.add("async_tools", `${place}.async`);
  // A translation loads the tool at once instead of deferring it.
  if (tool.defer_loading === true) uses.lose("hint", `${place}.defer_loading`);
  const callers = listOf(tool.allowed_callers);
  if (callers.length > 0 && !callers.includes("direct")) uses.add("programmatic_tools", `${place}.allowed_callers`);
}

/**
 * Reads tools of the provider that are offered but not required. A tool that the client runs counts as lost only if there is
 * no other tool.
 */
function readProviderTools({ own, foreign }: OfferedTools, uses: UseList): void {
  for (const { capability, place } of foreign) {
    if (capability === undefined) uses.lose("unknown_field", `${place}.type`);
    else if (capability === "builtin_tools" && own.length === 0) uses.add("builtin_tools", place);
    else uses.add("hosted_tools", place);
  }
}

function readChoice({ tool_choice: toolChoice }: Values, offered: OfferedTools, uses: UseList): void {
  const { mode, allowed, lackedCapability: lacks } = choiceOf(toolChoice, offered);
  const place = "tool_choice";
  if (mode === "required") uses.add("tool_choice", place);
  if (allowed !== undefined) uses.add("allowed_tools", place);
  if (lacks === "unknown_field") uses.lose(lacks, place);
  else if (lacks !== undefined) uses.addLost(lacks, place);
  const choice = objectOf(toolChoice);
  if (choice?.type === "allowed_tools") uses.checkMembers(choice, RESPONSE.allowedTools, place);
  else if (choice?.type === "function" || choice?.type === "custom") uses.checkMembers(choice, RESPONSE.choice, place);
}
