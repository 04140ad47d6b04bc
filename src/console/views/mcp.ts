/** View of the MCP servers behind the gateway. */

import { callsView, REGISTRY_COLUMN } from "./called-servers.ts";

export const mcpView = callsView({
  id: "mcp",
  aliases: ["servers", "mcp_servers"],
  digit: "6",
  title: "MCP servers",
  about: "MCP servers as the nodes saw them in the last minute: state, calls, errors, registry",
  table: "mcp_servers",
  columns: [REGISTRY_COLUMN],
  many: "MCP servers",
});
