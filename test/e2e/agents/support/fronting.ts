/** A gateway that governs MCP servers and agents as operators do, with nothing that a sound call would meet. */
import { mint, startGoverned } from "../../governance/support/governed.ts";
import type { Document } from "../../support/config.ts";
import type { Gateway } from "../../support/gateway.ts";
import type { Owner } from "../../support/wait.ts";

export interface Fronting {
  readonly gateway: Gateway;
  /** For the header of this name. */
  readonly authorization: string;
}

/** `deployment`: the servers and agents. */
export async function startFronting(owner: Owner, deployment: Document): Promise<Fronting> {
  const { node, gateway } = await startGoverned(owner, {
    deployment: {
      ...deployment,
      access_rules: [{ name: "no-rm", at: ["mcp"], condition: 'name == "rm"', action: "deny" }],
      guardrails: {
        detectors: [{ type: "pii", name: "finder", prefilter: "pure", entities: ["CREDIT_CARD"] }],
        rules: [{ name: "cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"' }],
      },
      budgets: [{ name: "shared", limit: 100_000, shared: true }],
      profiles: [{ name: "default", budget: "shared" }],
    },
  });
  const key = await mint(node, "an-agent");
  return { gateway, authorization: `Bearer ${key}` };
}
