/** List of the model files in the cache of each node. */

import { choice, integer, list, nullable, object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const artifacts = defineList({
  help: "Lists the files of models in the cache of a node, and what uses them.",
  query: MEASURED_QUERY,
  row: object("A file of a model, in a node's cache or to come there.", {
    model: nullable(text("Name of the model in `models`; null: no model of the configuration needs it.")),
    file: text("Name within the model, else path within the cache; empty: which files there are is not known yet."),
    role: nullable(
      choice("What it is of the model; null: not known.", [
        "graph",
        "external_data",
        "tokenizer",
        "config",
        "special_tokens_map",
      ]),
    ),
    digest: nullable(text("`sha256:` or `git_blob:` and hex; null: not known.")),
    size: nullable(integer("Bytes; null: not known until the hub has told.")),
    state: choice(
      "Of the model, or of what no model needs: `partial` is a download that was broken off, `unused` is whole and can go (`gateway models prune`).",
      ["ready", "fetching", "failed", "partial", "unused"],
    ),
    fetched: nullable(integer("Bytes of the whole model that are here, while it is fetched; null otherwise.")),
    message: nullable(text("Why it could not be fetched; it is tried again. Null: nothing has failed.")),
    source: nullable(
      text("Where it is from: `<hub>/<repository>@<commit>`, or the host of its address; null: not known."),
    ),
    detectors: list("Detectors of the running configuration that use the model.", text("Name of a detector.")),
    node: text("Node whose cache it is."),
  }),
  identity: ["node", "model", "file"],
  get: { about: "configuration", aliases: [], name: ["model"], columns: ["node", "model", "file", "state"] },
});
