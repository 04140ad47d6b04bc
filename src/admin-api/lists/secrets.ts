/** List of the sealed secrets, without their values. */

import { integer, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const secrets = defineList({
  help: "Lists the sealed secrets, without their values.",
  query: LIST_QUERY,
  row: object("A sealed secret. Its value is never shown.", {
    name: text("Name of the secret, as in `${secret:NAME}`."),
    version: integer("Number that increases with each new value."),
    updated_at: time("Time at which the value was set."),
    kek: text("Id of the wrapping key: it encrypts the data key that seals the value."),
  }),
  identity: ["name"],
  get: { about: "configuration", aliases: [], name: ["name"], columns: ["name", "version", "updated_at", "kek"] },
});
