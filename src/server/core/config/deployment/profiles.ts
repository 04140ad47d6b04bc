/** `profiles[]`: named policies of callers. Spec: document 3, `profiles[]`. A profile only narrows. */

import { list, object, orEmpty, required, text } from "../schema.ts";
import { accessRules } from "./rules.ts";
import { filled, label, modelPatterns } from "./terms.ts";

export const profiles = list(
  "Named policies, which virtual keys and issuers refer to.",
  object("What the callers of this profile may do.", {
    name: required(label("What a virtual key names in its `profile`.")),
    allowed_models: modelPatterns("Models that may be asked for; empty means every routed model."),
    require_caps: list(
      "Capabilities that a channel must claim to serve this profile; `on_fidelity_loss: allow` does not override it.",
      filled("Name of a capability."),
      { uniqueItems: true },
    ),
    pool_subset: orEmpty(
      text("Confines traffic to this subset of whichever pool serves it; left out or empty, the whole pool."),
    ),
    budget: orEmpty(text("Name of the budget that is spent from; left out or empty, nothing is metered.")),
    access_rules: accessRules("Rules of this profile, evaluated after the deployment's own; they only narrow."),
    guardrails: object("Which detectors inspect this profile's traffic.", {
      detectors: list(
        "Names of `guardrails.detectors`; left out, all of them; empty, none, which exempts the profile.",
        filled("Name of one of `guardrails.detectors`."),
        { uniqueItems: true },
      ),
    }),
  }),
);
