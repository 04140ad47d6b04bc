/** List of the A2A agents behind the gateway, as each node has measured them. */

import { object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";
import { MEASURED_CALLS } from "./measured-calls.ts";

export const a2aAgents = defineList({
  help: "Lists the fronted A2A agents as this node has met them.",
  query: MEASURED_QUERY,
  row: object("A fronted A2A agent as this node has met it in the last 60 seconds.", {
    name: text("As in `/a2a/<name>`."),
    url: text("Where it is, references as written."),
    protocol: text("Version that it is spoken to in."),
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
