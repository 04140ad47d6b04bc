/** A gateway that governs MCP servers and agents with rules that affect no valid call. */
import { mint, startGoverned } from "../../governance/support/governed.ts";
import type { Document } from "../../support/config.ts";
import type { Gateway } from "../../support/gateway.ts";
import { freePort } from "../../support/ports.ts";
import type { Owner } from "../../support/wait.ts";

/** Findings are rewritten in both directions. */
export const GUARDRAILS: Document = {
  detectors: [
    {
      type: "pii",
      name: "finder",
      prefilter: "pure",
      entities: ["CREDIT_CARD"],
      apply_to: ["user", "tool_args", "tool_result", "output"],
    },
  ],
  rules: [{ name: "cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"' }],
};

interface Fronting {
  readonly gateway: Gateway;
  /** Value of the authorization header. */
  readonly authorization: string;
}

/** `deployment` has the servers and agents. The public address is the gateway's own listen address. */
export async function startFronting(owner: Owner, deployment: Document): Promise<Fronting> {
  const listen = `127.0.0.1:${await freePort()}`;
  const { node, gateway } = await startGoverned(owner, {
    changes: { listen },
    deployment: {
      public_url: `http://${listen}`,
      ...deployment,
      access_rules: [{ name: "no-rm", at: ["mcp"], condition: 'name == "rm"', action: "deny" }],
      guardrails: GUARDRAILS,
      budgets: [{ name: "shared", limit: 100_000, shared: true }],
      profiles: [{ name: "default", budget: "shared" }],
    },
  });
  const key = await mint(node, "an-agent");
  return { gateway, authorization: `Bearer ${key}` };
}
