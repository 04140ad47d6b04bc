/** List of the profiles: named policies that keys and issuers refer to. */

import { choice, integer, list, nullable, object, optional, text } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const profiles = defineList({
  help: "Lists the profiles of the configuration.",
  query: LIST_QUERY,
  row: object("A named policy that keys and issuers refer to.", {
    name: text("Unique name."),
    budget: nullable(text("Budget that its callers spend from; null: none.")),
    allowed_models: list("Models that may be asked for; empty: every routed one.", text("Name or pattern.")),
    require_caps: list("Capabilities that a channel must claim to serve it.", text("Capability.")),
    access_rules: integer("How many rules of its own it has."),
    // Optional, since earlier nodes do not send it.
    rules: optional(
      list(
        "Access rules that apply to its callers, in the order in which they are evaluated: those of the deployment first.",
        object("An access rule.", {
          name: text("Name, unique within its list."),
          action: choice("What happens to a request that it matches.", ["allow", "deny"]),
          layer: choice("List that it belongs to.", ["deployment", "profile"]),
          at: list("Traffic types that it is evaluated for.", choice("Traffic type.", ["llm", "mcp", "a2a"])),
        }),
      ),
    ),
    detectors: nullable(list("Detectors that inspect its traffic; null: all of them.", text("Name of a detector."))),
    keys: integer("Virtual keys that refer to it."),
  }),
  identity: ["name"],
  get: {
    about: "access",
    aliases: [],
    name: ["name"],
    columns: ["name", "budget", "allowed_models", "access_rules", "detectors", "keys"],
  },
});
