/** List of the MCP servers behind the gateway, as each node has measured them. */

import { nullable, object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";
import { MEASURED_CALLS } from "./measured-calls.ts";

export const mcpServers = defineList({
  help: "Lists the MCP servers behind the gateway, as this node measured them.",
  query: MEASURED_QUERY,
  row: object("An MCP server behind the gateway. Measurements are of one node and of the last 60 seconds.", {
    name: text("Name of the server, as in the path `/mcp/<name>`."),
    url: text("URL of the server. References such as `${env:NAME}` are shown as written."),
    registry_name: nullable(text("Name of the server in the MCP registry. Null if it is not listed there.")),
    protocol: text("MCP revision that the gateway uses for the server."),
    ...MEASURED_CALLS,
  }),
  identity: ["name", "node"],
  get: {
    about: "traffic",
    aliases: ["mcp", "servers"],
    name: ["name"],
    columns: ["name", "url", "state", "rate", "error_ratio", "in_flight", "node"],
  },
});
