/** List of the model files in the cache of each node. */

import { choice, integer, list, nullable, object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const artifacts = defineList({
  help: "Lists the model files in the cache of this node, and the detectors that use them.",
  query: MEASURED_QUERY,
  row: object("A model file that is in the cache of a node, or that the node will download.", {
    model: nullable(text("Name of the model in `models`. Null if no model of the configuration needs the file.")),
    file: text(
      "Name of the file in the model, or its path in the cache if no model needs it. Empty if the files of the model are not known yet.",
    ),
    role: nullable(
      choice("Purpose of the file. Null if it is not known.", [
        "graph",
        "external_data",
        "tokenizer",
        "config",
        "special_tokens_map",
      ]),
    ),
    digest: nullable(
      text("Digest of the file: `sha256:` or `git_blob:`, then hexadecimal digits. Null if it is not known."),
    ),
    size: nullable(integer("Size in bytes. Null until the hub has reported it.")),
    state: choice(
      "State of the model, or of a file that no model needs: `partial` is an interrupted download, and `unused` a complete file. `gateway models prune` removes both.",
      ["ready", "fetching", "failed", "partial", "unused"],
    ),
    fetched: nullable(
      integer("Bytes of the model that have been downloaded. Null if the model is complete or the file is unused."),
    ),
    message: nullable(text("Why the last download failed; the node retries it. Null if none failed.")),
    source: nullable(text("Origin: `<hub>/<repository>@<commit>`, or the host of the URL. Null if it is not known.")),
    detectors: list("Detectors of the running configuration that use the model.", text("Name of a detector.")),
    node: text("Node that has the cache."),
  }),
  identity: ["node", "model", "file"],
  get: { about: "configuration", aliases: [], name: ["model"], columns: ["node", "model", "file", "state"] },
});
