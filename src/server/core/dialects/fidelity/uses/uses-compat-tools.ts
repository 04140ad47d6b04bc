/**
 * Collects the capabilities that the tools and the tool choice of a chat completion request use. Source: dialects reference,
 * 3.1 and 8.1.
 */
import { listOf, objectOf } from "../../json/json-values.ts";
import { CHAT } from "../known-fields.ts";
import { hasUnenforcedBounds, isExpressibleInMessages } from "../schemas.ts";
import type { UseList } from "./use-list.ts";

export function readTools(value: unknown, uses: UseList): void {
  for (const [index, item] of listOf(value).entries()) {
    const tool = objectOf(item);
    if (tool === undefined) continue;
    uses.enter("tools", index);
    uses.add("tools");
    uses.checkMembers(tool, CHAT.tool);
    uses.addCacheMark(tool.cache_control, "5m");
    if (tool.type === "custom") uses.add("custom_tools");
    else if (tool.type === "function" || tool.type === undefined || tool.type === null)
      readFunction(tool.function, "function", uses);
    else uses.lose("unknown_field", "type");
  }
  uses.leave();
}

/** Reads `functions`, the older form of tools. */
export function readFunctions(value: unknown, uses: UseList): void {
  for (const [index, item] of listOf(value).entries()) {
    uses.enter("functions", index);
    uses.add("tools");
    readFunction(item, "", uses);
  }
  uses.leave();
}

function readFunction(value: unknown, under: string, uses: UseList): void {
  const called = objectOf(value);
  if (called === undefined) return;
  if (called.strict === true) readStrict(called.parameters, under === "" ? "" : `${under}.`, uses);
  uses.addCacheMark(called.cache_control, "5m");
  uses.checkMembers(called, CHAT.function, under);
}

/** Reads the schema of a strict tool. Messages providers limit it in the same way as the schema of a structured answer. */
export function readStrict(parameters: unknown, under: string, uses: UseList): void {
  uses.add("strict_tools", `${under}strict`);
  if (objectOf(parameters) === undefined) return;
  const place = `${under}parameters`;
  if (!isExpressibleInMessages(parameters)) uses.lose("strict_tools", place);
  else if (hasUnenforcedBounds(parameters)) uses.lose("hint", place);
}

/** Reads the tool choice. `none` is not a use, since no channel can lack it. */
export function readToolChoice(value: unknown, uses: UseList): void {
  if (typeof value === "string") {
    if (value === "required") uses.add("tool_choice");
    else if (value !== "auto" && value !== "none") uses.lose("unknown_field", "tool_choice");
    return;
  }
  const choice = objectOf(value);
  if (choice === undefined) return;
  uses.checkMembers(choice, CHAT.toolChoice, "tool_choice");
  switch (choice.type) {
    case "function": {
      uses.add("tool_choice");
      const named = objectOf(choice.function);
      if (named !== undefined) uses.checkMembers(named, CHAT.namedChoice, "tool_choice.function");
      return;
    }
    case "custom":
      uses.add("tool_choice");
      uses.add("custom_tools");
      return;
    case "allowed_tools": {
      uses.add("allowed_tools");
      const allowed = objectOf(choice.allowed_tools);
      if (allowed === undefined) return;
      if (allowed.mode === "required") uses.add("tool_choice");
      uses.checkMembers(allowed, CHAT.allowedTools, "tool_choice.allowed_tools");
      return;
    }
    default:
      uses.lose("unknown_field", "tool_choice.type");
  }
}
