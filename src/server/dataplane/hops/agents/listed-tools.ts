/**
 * Names of tools that servers have listed: what spans may call a tool by. One that no list had is a caller's own word, and is
 * told nowhere.
 */
import { filterTools } from "../../../core/agents/index.ts";
import type { Fronted } from "../../../upstream/index.ts";

/** Of one server, in one configuration. */
const MAX_TOOLS = 1_000;
const MAX_LIST_LENGTH = 1 << 20;
/** As MCP has names of tools. */
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

const listed = new WeakMap<Fronted, Set<string>>();

/** `message`: an answer to `tools/list`. */
export function noteTools(fronted: Fronted, message: string): void {
  if (message.length > MAX_LIST_LENGTH) return;
  const names = listed.get(fronted) ?? new Set<string>();
  listed.set(fronted, names);
  filterTools(message, (name) => {
    if (names.size < MAX_TOOLS && NAME.test(name)) names.add(name);
    return true;
  });
}

/** The name itself where the server has listed it. */
export const listedTool = (fronted: Fronted, name: string): string | undefined =>
  listed.get(fronted)?.has(name) === true ? name : undefined;
