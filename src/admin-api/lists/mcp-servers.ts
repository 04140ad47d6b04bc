/** List of the MCP servers behind the gateway, as each node has measured them. */

import { nullable, object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";
import { MEASURED_CALLS } from "./measured-calls.ts";

export const mcpServers = defineList({
  help: "Lists the fronted MCP servers as this node has met them.",
  query: MEASURED_QUERY,
  row: object("A fronted MCP server as this node has met it in the last 60 seconds.", {
    name: text("As in `/mcp/<name>`."),
    url: text("Where it is, references as written."),
    registry_name: nullable(text("Its name in the registry; null: it is not listed there.")),
    protocol: text("Revision that it is spoken to in."),
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
