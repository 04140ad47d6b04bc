/**
 * The deployment document: settings that are the same on every node. Spec: document 3. Each section is described in the file of
 * its name.
 */

import { example, integer, object, type TypeOf, text, withDefault } from "../schema/schema.ts";
import { accessRules } from "./access-rules.ts";
import { auth } from "./auth.ts";
import { budgets } from "./budgets.ts";
import { credentials } from "./credentials.ts";
import { guardrails } from "./guardrails/index.ts";
import { a2a, a2aCards, mcp } from "./mcp-and-a2a.ts";
import { models } from "./models.ts";
import { catalogOverlays } from "./overlays.ts";
import { profiles } from "./profiles.ts";
import { providers } from "./providers.ts";
import { reconcile } from "./reconcile.ts";
import { fidelityPolicy, filledAs } from "./terms.ts";

const version = example(
  integer(
    "The edition of the document. Raise it with every change: a node applies a document only if its version is higher than the highest one applied so far.",
    { minimum: 1 },
  ),
  12,
);

/** Schema of `version` alone, which each document has for itself. */
export const editionSchema = object("Edition of a document.", { version });

export const deploymentSchema = object(
  "The deployment document says what the deployment is. Every node of a cluster uses the same one.",
  {
    version,
    auth,
    max_body_bytes: withDefault(
      example(integer("A request body may have at most this many bytes. 0 means 32 MiB.", { minimum: 0 }), 67_108_864),
      0,
    ),
    credentials: withDefault(credentials, []),
    catalog_overlays: withDefault(catalogOverlays, []),
    providers: withDefault(providers, []),
    budgets,
    profiles,
    mcp,
    a2a,
    a2a_cards: a2aCards,
    reconcile,
    default_provider: filledAs(
      "The name of the provider for requests without a model and for models that no provider lists. It defaults to the provider if there is only one.",
      "openai",
    ),
    on_fidelity_loss: withDefault(
      fidelityPolicy(
        "A request may use a capability that no channel for it has. `reject` refuses the request and names the capability. `allow` forwards the request without the capability and counts the loss.",
      ),
      "reject",
    ),
    public_url: text(
      "Clients reach the data plane at this absolute URL. The gateway uses it in every address that it gives out, and accepts tokens whose audience is this URL or the URL of one of its MCP servers. It has no effect on routing.",
      { format: "url", examples: ["https://gateway.example.com"] },
    ),
    access_rules: accessRules("These rules apply to every caller. A denial here is final."),
    guardrails,
    models,
  },
  {
    examples: [
      {
        providers: [{ preset: "openai", api_key: "${secret:OPENAI_API_KEY}", models: ["gpt-*"] }],
        auth: { virtual_keys: true },
        profiles: [{ name: "staff", allowed_models: ["gpt-*"] }],
      },
    ],
  },
);

export type Deployment = TypeOf<typeof deploymentSchema>;
