/** List of the configuration sources. */

import { choice, integer, nullable, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const sources = defineList({
  help: "Lists the configuration sources.",
  query: LIST_QUERY,
  row: object("A configuration source.", {
    name: text("Name of the source. It is `default` if the node file names a deployment document."),
    revision: integer("Revision number, which increases with each change and is the source's ETag."),
    writer: choice(
      "What can change the source: this API (`api`), or the deployment document of the node file (`file`).",
      ["api", "file"],
    ),
    updated_at: time("Time at which this revision was accepted."),
    by: text("Operator who wrote this revision."),
    state: choice(
      "Whether this node serves the revision. `refused`: the node cannot compile it and serves the previous one.",
      ["running", "pending", "refused"],
    ),
    message: nullable(text("Why this node does not serve the revision. Null if it does.")),
  }),
  identity: ["name"],
  get: {
    about: "configuration",
    aliases: [],
    name: ["name"],
    columns: ["name", "revision", "writer", "updated_at", "by", "state", "message"],
  },
});
