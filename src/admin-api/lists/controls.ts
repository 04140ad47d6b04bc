/** List of the controls that rules cite, as evidence. */

import { integer, list, object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const controls = defineList({
  help: "Lists the controls that rules cite, with the number of decisions for each.",
  query: MEASURED_QUERY,
  row: object("A control that rules cite, and how many decisions of these rules count as evidence for it.", {
    control: text("Identifier of the control: framework with edition, then the control's own number."),
    pack: text("Built-in packs that cite the control, separated by commas. Empty if there are none."),
    rules: list("Rules of the running configuration that cite the control.", text("Name of a rule.")),
    decisions: integer(
      "Decisions of these rules in the last 24 hours, or since the process of this node started if that is later.",
    ),
    node: text("Node that counted the decisions."),
  }),
  identity: ["control", "node"],
  get: {
    about: "configuration",
    aliases: [],
    name: ["control"],
    columns: ["control", "pack", "rules", "decisions", "node"],
  },
});
