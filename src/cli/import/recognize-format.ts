/** Recognizes the format of a configuration file by the names of its top-level sections. Pure. */

import { deploymentJsonSchema, nodeFileJsonSchema } from "../../server/core/config/index.ts";
import type { Section } from "./foreign-source.ts";

export type Format = "litellm" | "portkey" | "bifrost" | "deployment" | "node";

/** Top-level sections by format. `providers` is a list in a deployment document and a map in Bifrost's file. */
const SECTIONS: Readonly<Record<Format, () => readonly string[]>> = {
  litellm: () => [
    ...["model_list", "litellm_settings", "router_settings", "general_settings", "environment_variables"],
    ...["credential_list", "mcp_servers", "guardrails", "include", "vector_store_registry", "callback_settings"],
  ],
  portkey: () => [
    ...[
      "targets",
      "strategy",
      "provider",
      "virtual_key",
      "api_key",
      "override_params",
      "custom_host",
      "retry",
      "cache",
    ],
    ...["request_timeout", "input_guardrails", "output_guardrails", "before_request_hooks", "after_request_hooks"],
  ],
  bifrost: () => [
    ...[
      "$schema",
      "providers:map",
      "client",
      "governance",
      "config_store",
      "logs_store",
      "vector_store",
      "plugins",
      "mcp",
    ],
    ...["encryption_key", "auth_config", "framework", "guardrails_config", "cluster_config", "version"],
  ],
  deployment: () => namesOf(deploymentJsonSchema()).map((name) => (name === "providers" ? "providers:list" : name)),
  node: () => namesOf(nodeFileJsonSchema()),
};

const namesOf = ({ properties = {} }: { readonly properties?: object }): readonly string[] => Object.keys(properties);

/**
 * Returns the format to which most of the sections belong. Returns `undefined` if no section belongs to one, or if no format has more
 * of them than `expected`.
 */
export function recognizeFormat(root: Section, expected: Format): Format | undefined {
  const names = root.keys.map((key) => (key === "providers" ? `providers:${root.tree(key)?.kind}` : key));
  const countIn = (format: Format): number => {
    const known = new Set(SECTIONS[format]());
    return names.filter((name) => known.has(name)).length;
  };
  const formats = Object.keys(SECTIONS) as readonly Format[];
  const [best] = formats
    .map((format) => ({ format, count: countIn(format) }))
    .sort((a, b) => b.count - a.count || Number(b.format === expected) - Number(a.format === expected));
  return best === undefined || best.count === 0 || best.format === expected ? undefined : best.format;
}
