/**
 * Lists of the deployment document whose entries have names. Names identify entries when two documents are compared: sources
 * that must not overlap, and versions of one document.
 */

import type { Path } from "../problem.ts";

export interface NamedList {
  readonly path: Path;
  /** Noun for one entry in messages. */
  readonly what: string;
  /** Groups of keys that name the entry; of each group the first present key counts. */
  readonly names: readonly (readonly string[])[];
  /** True if several sources may contribute entries; otherwise the section around the list belongs to one source. */
  readonly composes: boolean;
  /** True if the order of the entries matters. */
  readonly isOrdered: boolean;
}

const list = (path: string, what: string, differing: Partial<NamedList> = {}): NamedList => ({
  path: path.split("."),
  what,
  names: [["name"]],
  composes: true,
  isOrdered: false,
  ...differing,
});

export const NAMED_LISTS: readonly NamedList[] = [
  list("credentials", "credential"),
  list("catalog_overlays", "catalog overlay", { isOrdered: true }),
  list("providers", "provider", { names: [["name", "preset"]], isOrdered: true }),
  list("budgets", "budget"),
  list("profiles", "profile"),
  list("mcp", "MCP server", { names: [["name"], ["registry.name"]] }),
  list("a2a", "agent"),
  list("access_rules", "access rule", { isOrdered: true }),
  list("models.models", "model"),
  list("auth.issuers", "issuer", { names: [["issuer"]], composes: false }),
  list("reconcile.providers", "audited provider", { names: [["provider"]], composes: false }),
  list("guardrails.detectors", "detector", { names: [["name", "type"]], composes: false, isOrdered: true }),
  list("guardrails.rules", "guardrail rule", { composes: false, isOrdered: true }),
];
