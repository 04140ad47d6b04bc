/** List of the configuration sources. */

import { choice, integer, nullable, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const sources = defineList({
  help: "Lists the configuration sources.",
  query: LIST_QUERY,
  row: object("A configuration source.", {
    name: text("Name; `default` in a deployment configured by a file."),
    revision: integer("Counted up with each change; its ETag."),
    writer: choice("Who may change it: this API, or the deployment document of the node file.", ["api", "file"]),
    updated_at: time("When this revision was accepted."),
    by: text("Principal who wrote it."),
    state: choice("Whether this node serves it; `refused`: it cannot compile it and keeps what it served before.", [
      "running",
      "pending",
      "refused",
    ]),
    message: nullable(text("Why this node does not serve it.")),
  }),
  identity: ["name"],
  get: {
    about: "configuration",
    aliases: [],
    name: ["name"],
    columns: ["name", "revision", "writer", "updated_at", "by", "state", "message"],
  },
});
