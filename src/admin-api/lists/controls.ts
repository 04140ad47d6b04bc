/** List of the controls that rules cite, as evidence. */

import { integer, list, object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const controls = defineList({
  help: "Lists the controls that rules carry, with the decisions that served them.",
  query: MEASURED_QUERY,
  row: object("A control that rules carry, and how often they have served it: evidence.", {
    control: text("Identifier: its framework with the edition, then its own."),
    pack: text("Packs of this program that cite it, divided by commas; empty: none does."),
    rules: list("Rules of the running configuration that carry it.", text("Name of a rule.")),
    decisions: integer("Decisions that served it in the last 24 hours, since the process of this node started."),
    node: text("Node that counted."),
  }),
  identity: ["control", "node"],
  get: {
    about: "configuration",
    aliases: [],
    name: ["control"],
    columns: ["control", "pack", "rules", "decisions", "node"],
  },
});
