/** List of the sealed secrets, without their values. */

import { integer, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const secrets = defineList({
  help: "Lists the sealed secrets, without their values.",
  query: LIST_QUERY,
  row: object("A sealed secret. Its value is never shown.", {
    name: text("As in `${secret:NAME}`."),
    version: integer("Counted up with each value."),
    updated_at: time("When the value was put."),
    kek: text("Id of the key that wraps the data key the value is sealed with."),
  }),
  identity: ["name"],
  get: { about: "configuration", aliases: [], name: ["name"], columns: ["name", "version", "updated_at", "kek"] },
});
