/**
 * Names of tools that servers have listed, which may appear in spans. Any other name is chosen by a caller and is not exported.
 */
import { filterTools } from "../../../core/agents/index.ts";
import type { FrontedServer } from "../../../upstream/index.ts";

/** Maximum number of tools per server and configuration. */
const MAX_TOOLS = 1_000;
const MAX_LIST_LENGTH = 1 << 20;
/** Format of tool names in MCP. */
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

const toolsByServer = new WeakMap<FrontedServer, Set<string>>();

/** Remembers the tools of a list. `message`: an answer to `tools/list`. */
export function rememberTools(fronted: FrontedServer, message: string): void {
  if (message.length > MAX_LIST_LENGTH) return;
  const names = toolsByServer.get(fronted) ?? new Set<string>();
  toolsByServer.set(fronted, names);
  filterTools(message, (name) => {
    if (names.size < MAX_TOOLS && NAME.test(name)) names.add(name);
    return true;
  });
}

/** Returns the name if the server has listed it, otherwise `undefined`. */
export const knownTool = (fronted: FrontedServer, name: string): string | undefined =>
  toolsByServer.get(fronted)?.has(name) === true ? name : undefined;
