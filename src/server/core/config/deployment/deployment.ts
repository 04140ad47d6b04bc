/**
 * The deployment document: what the deployment is and what every node must agree on. Spec: document 3.
 * Each section is described in the file of its name.
 */

import { integer, object, type TypeOf, text, withDefault } from "../schema.ts";
import { auth } from "./auth.ts";
import { budgets } from "./budgets.ts";
import { credentials } from "./credentials.ts";
import { guardrails } from "./guardrails/index.ts";
import { a2a, a2aCards, mcp } from "./hops.ts";
import { models } from "./models.ts";
import { catalogOverlays } from "./overlays.ts";
import { profiles } from "./profiles.ts";
import { providers } from "./providers.ts";
import { reconcile } from "./reconcile.ts";
import { accessRules } from "./rules.ts";
import { fidelityPolicy, filled } from "./terms.ts";

const version = integer("Edition of the document, raised with every edit; a node applies only what is newer.", {
  minimum: 1,
});

/** The edition alone, which each document has for itself. */
export const editionSchema = object("Edition of a document.", { version });

export const deploymentSchema = object("What the deployment is; every node agrees on it.", {
  version,
  auth,
  max_body_bytes: withDefault(
    integer("Longest request body in bytes; 0 takes the proxy's default of 32 MiB.", { minimum: 0 }),
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
  default_provider: filled(
    "Name of the provider for requests without a model, or with one that no provider claims; left out, the only provider.",
  ),
  on_fidelity_loss: withDefault(
    fidelityPolicy(
      "What happens to a request that would lose a capability wherever it could be sent: `reject` refuses it and names the capability, `allow` forwards and counts it.",
    ),
    "reject",
  ),
  public_url: text(
    "Absolute URL at which clients reach the data plane; used wherever addresses are given out, never for routing. With it, tokens are accepted whose audience names this address, or one MCP server below it.",
    { format: "url", examples: ["https://gateway.example.com"] },
  ),
  access_rules: accessRules("Rules that hold for everybody; a deny here is final."),
  guardrails,
  models,
});

export type Deployment = TypeOf<typeof deploymentSchema>;
