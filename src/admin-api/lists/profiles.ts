/** List of the profiles: named policies that keys and issuers refer to. */

import { choice, integer, list, nullable, object, optional, text } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const profiles = defineList({
  help: "Lists the profiles of the configuration.",
  query: LIST_QUERY,
  row: object("A profile: a named set of limits that keys and issuers refer to.", {
    name: text("Unique name."),
    budget: nullable(text("Budget that callers with this profile spend from. Null if there is none.")),
    allowed_models: list(
      "Models that callers may ask for. Empty for all models with a route.",
      text("Name or pattern."),
    ),
    require_caps: list(
      "Capabilities that a channel must have to serve callers with this profile.",
      text("Capability."),
    ),
    access_rules: integer("Number of access rules in the profile itself."),
    // Optional, since earlier nodes do not send it.
    rules: optional(
      list(
        "Access rules that apply to callers with this profile, in evaluation order: rules of the deployment first, then those of the profile.",
        object("An access rule.", {
          name: text("Name, unique within its list."),
          action: choice("What happens to a request that matches the rule.", ["allow", "deny"]),
          layer: choice("Whether the rule belongs to the deployment or to the profile.", ["deployment", "profile"]),
          at: list("Traffic types for which the rule is evaluated.", choice("Traffic type.", ["llm", "mcp", "a2a"])),
        }),
      ),
    ),
    detectors: nullable(
      list("Detectors that inspect traffic of the profile. Null for all detectors.", text("Name of a detector.")),
    ),
    keys: integer("Number of virtual keys with this profile."),
  }),
  identity: ["name"],
  get: {
    about: "access",
    aliases: [],
    name: ["name"],
    columns: ["name", "budget", "allowed_models", "access_rules", "detectors", "keys"],
  },
});
