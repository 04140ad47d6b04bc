/**
 * Converts names of tools to names that a provider accepts: letters, digits, _ and -, and a limited length. The name of a tool
 * in a namespace combines both names. A changed name keeps its beginning and gets digits of its SHA-256, so that it is the same
 * in every turn of a conversation. Source: responses reference, 4.2 and 4.3; dialects reference, 8.2.
 */
import { toolKey } from "../../fidelity/response-tools.ts";
import type { ClientTool } from "../responses-terms.ts";
import { shortName } from "../to-compat/short-tool-names.ts";

export interface ToolNames {
  /** Returns the name of the tool to send to the provider. Different tools of one request get different names. */
  nameToSend(tool: ClientTool): string;
  /** Tools by the name that is sent; functions that keep their own name are not included. It grows with the calls of `nameToSend`. */
  readonly toolsBySentName: ReadonlyMap<string, ClientTool>;
}

const FOREIGN = /[^A-Za-z0-9_-]/gu;

/** Assigns names to the tools of a request. If two tools would get the same name, the earlier one in `declared` gets it. */
export function openToolNames(declared: readonly ClientTool[], maxLength: number): ToolNames {
  const names = new Map<string, string>();
  const usedNames = new Set<string>();
  const changed = new Map<string, ClientTool>();

  function sent(tool: ClientTool): string {
    const key = toolKey(tool.namespace, tool.name);
    const known = names.get(key);
    if (known !== undefined) return known;
    const name = unusedName(tool);
    names.set(key, name);
    usedNames.add(name);
    if (name !== tool.name || tool.namespace !== undefined || tool.isCustom) changed.set(name, tool);
    return name;
  }

  function unusedName({ namespace, name }: ClientTool): string {
    const whole = namespace === undefined ? name : `${namespace}__${name}`;
    const clean = whole.replaceAll(FOREIGN, "_");
    if (clean === whole && clean.length <= maxLength && !usedNames.has(clean)) return clean;
    let short = shortName(clean, whole, maxLength);
    for (let attempt = 1; usedNames.has(short); attempt++) short = shortName(clean, `${whole} ${attempt}`, maxLength);
    return short;
  }

  // Tools without a namespace keep their names.
  for (const tool of declared) if (tool.namespace === undefined) sent(tool);
  for (const tool of declared) sent(tool);
  return { nameToSend: sent, toolsBySentName: changed };
}
