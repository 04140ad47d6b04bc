/** `profiles[]`: named policies of callers. Spec: document 3, `profiles[]`. A profile can only restrict. */

import { example, list, object, orEmpty, required, text } from "../schema/schema.ts";
import { accessRules } from "./access-rules.ts";
import { filledAs, label, modelPatterns } from "./terms.ts";

export const profiles = list(
  "Profiles are named policies for callers. Virtual keys and issuers refer to them. A profile can only narrow what the deployment allows.",
  object(
    "One policy for callers.",
    {
      name: required(label("Virtual keys and issuers refer to the profile by this name.", "staff")),
      allowed_models: modelPatterns(
        "Callers may ask for these models only. If the list is empty or absent, they may ask for every routed model.",
      ),
      require_caps: list(
        "A request is sent only to channels that claim all of these capabilities. `on_fidelity_loss: allow` does not override this.",
        filledAs("The name of one capability.", "tools"),
        { uniqueItems: true },
      ),
      pool_subset: orEmpty(
        text(
          "Requests go only to the subset of this name in any pool that serves them. If it is empty or absent, they may go to the whole pool.",
          { examples: ["eu"] },
        ),
      ),
      budget: orEmpty(
        text("The name of the budget that callers spend from. If it is empty or absent, no budget applies.", {
          examples: ["staff"],
        }),
      ),
      access_rules: accessRules(
        "These rules are evaluated after those of the deployment, and can only narrow them further.",
      ),
      guardrails: object("This section selects the detectors that inspect the requests of this profile.", {
        detectors: example(
          list(
            "The names of the detectors that run. If the key is absent, all detectors run. If the list is empty, none runs and the profile is exempt.",
            filledAs("The name of an entry of `guardrails.detectors`.", "pii"),
            { uniqueItems: true },
          ),
          ["pii"],
        ),
      }),
    },
    { examples: [{ name: "staff", budget: "staff", allowed_models: ["gpt-*", "claude-haiku-4-5"] }] },
  ),
);
