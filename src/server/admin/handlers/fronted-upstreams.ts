/** MCP servers and agents as this node has measured them, with the suspensions of the whole cluster. */
import type { A2aAgentRecord, McpServerRecord } from "../../../admin-api/index.ts";
import type { ListSource } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { suspendableList } from "./backends.ts";

export const serverList = (ports: Ports): ListSource<McpServerRecord> =>
  suspendableList(ports, "mcp", () => ports.backends.servers());

export const agentList = (ports: Ports): ListSource<A2aAgentRecord> =>
  suspendableList(ports, "a2a", () => ports.backends.agents());
