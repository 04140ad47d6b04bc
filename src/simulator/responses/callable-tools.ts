/** Tools of a `responses` request: functions, custom tools, and tools in namespaces, each with a unique name. */

import { Refused } from "../dialect-errors.ts";
import type { OfferedTool } from "../generation-request.ts";
import { type Json, type JsonObject, objectOf, objectsOf, stringOf } from "../json-fields.ts";

export interface CallableTool extends OfferedTool {
  /** Name that the client uses. The property `name` joins namespace and name in a form that no client uses, so it is unique. */
  readonly ownName: string;
  readonly namespace: string | undefined;
  readonly isCustom: boolean;
}

/** Schema of a custom tool, which is called with a text: the text becomes the member of an object. */
const TEXT_INPUT: Json = { type: "object", properties: { input: { type: "string" } }, required: ["input"] };

/** Returns the tools that the choice allows. Throws `Refused` if it names one that is not offered. */
export function callableTools(body: JsonObject): readonly CallableTool[] {
  const offered = objectsOf(body["tools"]).flatMap((tool) =>
    tool["type"] === "namespace" ? withinNamespace(tool) : toolOf(tool, undefined),
  );
  const choice = body["tool_choice"];
  if (choice === "none") return [];
  const named = objectOf(choice);
  if (named === undefined) return offered;
  const wanted = named["type"] === "allowed_tools" ? objectsOf(named["tools"]) : [named];
  return wanted.flatMap((each) => {
    if (each["type"] !== "function" && each["type"] !== "custom") return [];
    const isCustom = each["type"] === "custom";
    const found = offered.filter((tool) => tool.ownName === each["name"] && tool.isCustom === isCustom);
    if (found.length > 0) return found;
    throw new Refused(400, `Tool choice '${stringOf(each["type"])}' not found in 'tools' parameter.`, "tool_choice");
  });
}

function withinNamespace(namespace: JsonObject): readonly CallableTool[] {
  return objectsOf(namespace["tools"]).flatMap((tool) => toolOf(tool, stringOf(namespace["name"]) ?? ""));
}

/** Returns the tool; none for one that the provider runs itself, since the simulator has none. */
function toolOf(tool: JsonObject, namespace: string | undefined): readonly CallableTool[] {
  const isCustom = tool["type"] === "custom";
  if (!isCustom && tool["type"] !== "function") return [];
  const ownName = stringOf(tool["name"]) ?? "";
  const name = namespace === undefined ? ownName : `${namespace}/${ownName}`;
  const parameters = isCustom ? TEXT_INPUT : (tool["parameters"] ?? undefined);
  return [{ name, ownName, namespace, isCustom, parameters }];
}
