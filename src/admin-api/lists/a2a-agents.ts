/** List of the A2A agents behind the gateway, as each node has measured them. */

import { object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";
import { MEASURED_CALLS } from "./measured-calls.ts";

export const a2aAgents = defineList({
  help: "Lists the A2A agents behind the gateway, as this node measured them.",
  query: MEASURED_QUERY,
  row: object("An A2A agent behind the gateway. Measurements are of one node and of the last 60 seconds.", {
    name: text("Name of the agent, as in the path `/a2a/<name>`."),
    url: text("URL of the agent. References such as `${env:NAME}` are shown as written."),
    protocol: text("A2A version that the gateway uses for the agent."),
    ...MEASURED_CALLS,
  }),
  identity: ["name", "node"],
  get: {
    about: "traffic",
    aliases: ["a2a", "agents"],
    name: ["name"],
    columns: ["name", "url", "state", "rate", "error_ratio", "in_flight", "node"],
  },
});
