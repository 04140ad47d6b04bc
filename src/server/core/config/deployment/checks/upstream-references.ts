/** Checks of references in pools, MCP servers and agents. Spec: document 3, `pool`, `mcp[]`, `a2a[]`. */

import type { Problem } from "../../problem.ts";
import { registryOwners } from "../../registry-names.ts";
import { type Check, unknownName } from "./check.ts";

export const checkPools: Check = ({ providers }, problem) =>
  providers.flatMap(({ pool }, at) =>
    pool?.picker?.insecure_skip_verify && !pool.picker.service.startsWith("https://")
      ? [
          problem(
            ["providers", at, "pool", "picker", "insecure_skip_verify"],
            "this key has no effect, since the `service` of this picker is `http://` and has no certificate",
          ),
        ]
      : [],
  );

export const checkHops: Check = ({ mcp, a2a, credentials, guardrails }, problem) => {
  const known = new Map(credentials.map((credential) => [credential.name, credential]));
  const hops = [
    ...(mcp ?? []).map((hop, at) => ({ ...hop, path: ["mcp", at] })),
    ...(a2a ?? []).map((hop, at) => ({ ...hop, path: ["a2a", at] })),
  ];
  const owners = registryOwners(mcp ?? []);
  const unlisted = (mcp ?? []).flatMap(({ name, registry }, at) => {
    const owner = registry === undefined ? undefined : owners.get(registry.name);
    if (owner === undefined || owner === at) return [];
    const message = `entry ${owner + 1} of this list has this name with a higher version: this server can only be reached at \`/mcp/${name}\` alone`;
    return [problem(["mcp", at, "registry", "name"], message, "warning")];
  });
  const faults = hops.flatMap(({ credential, restore, path }) => {
    const found: Problem[] = [];
    const named = credential === undefined ? undefined : known.get(credential);
    if (credential !== undefined && named === undefined) {
      found.push(problem([...path, "credential"], unknownName("entry of `credentials`", credential, known.keys())));
    }
    if (named?.cloudsig !== undefined) {
      found.push(
        problem([...path, "credential"], "this names a credential of kind `cloudsig`, which only providers support"),
      );
    }
    if ((restore ?? []).length > 0 && guardrails?.fpe_key === undefined) {
      found.push(problem([...path, "restore"], "`restore` needs `guardrails.fpe_key`, which decrypts the values"));
    }
    return found;
  });
  return [...faults, ...unlisted];
};
