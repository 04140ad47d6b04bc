/**
 * Checks an overlay operation alone: first the configuration's rules for operations, then those that need the catalog's
 * vocabulary. Spec: document 3, `catalog_overlays[]`.
 */

import { closestName, HOP_BY_HOP_HEADERS } from "../../../base/index.ts";
import { type ChannelOperation, operationChecks, type ProviderOperation } from "../config/index.ts";
import { CLAIMABLE_NAMES, isClaimable } from "../dialects/index.ts";
import { lostWithout } from "./removed-fields.ts";
import { rootProblem } from "./root-address-rules.ts";

/** Hop-by-hop headers. The configuration's rules already refuse headers for credentials, destination and framing. */
const HOP_BY_HOP: ReadonlySet<string> = new Set(HOP_BY_HOP_HEADERS);

export function operationProblems(operation: ProviderOperation): readonly string[] {
  const rules = operationChecks(operation, (path, message) => ({
    severity: "error",
    file: "",
    line: 0,
    column: 0,
    path: path.join("."),
    message,
  }));
  if (rules.length > 0) return rules.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  return [...rootProblems(operation), ...headerProblems(operation), ...claimProblems(operation)];
}

function rootProblems({ base_url, channels = [] }: ProviderOperation): readonly string[] {
  const roots = [
    ["base_url", base_url],
    ...channels.map(({ id, base_url }) => [`channel \`${id}\`: base_url`, base_url]),
  ];
  return roots.flatMap(([what, root]) => {
    const problem = root === undefined ? undefined : rootProblem(root);
    return problem === undefined ? [] : [`${what} ${problem}`];
  });
}

function headerProblems({ set_request_headers = {} }: ProviderOperation): readonly string[] {
  return Object.keys(set_request_headers)
    .filter((name) => HOP_BY_HOP.has(name.toLowerCase()))
    .map((name) => `set_request_headers.${name}: this header belongs to a connection and is never forwarded`);
}

/** Reports claims outside the vocabulary, which would have no effect. */
function claimProblems({ channels = [], remove_request_fields = [] }: ProviderOperation): readonly string[] {
  return channels.flatMap((channel) => [
    ...(channel.caps ?? [])
      .filter((name) => !isClaimable(name))
      .map((name) => `channel \`${channel.id}\`: ${unknownCapability(name)}`),
    ...untrueClaims(channel, remove_request_fields),
  ]);
}

/**
 * Reports claims of capabilities whose field the gateway removes. The fidelity guard would let such a request pass although
 * the field is lost.
 */
export function untrueClaims({ id, caps = [] }: ChannelOperation, removedFields: readonly string[]): readonly string[] {
  const lost: ReadonlyMap<string, string> = lostWithout(removedFields);
  return caps.flatMap((name) => {
    const field = lost.get(name);
    return field === undefined
      ? []
      : [`channel \`${id}\` claims \`${name}\`, but \`${field}\` is taken out of its requests`];
  });
}

function unknownCapability(name: string): string {
  const meant = closestName(name, CLAIMABLE_NAMES);
  const hint = meant === undefined ? "" : `; did you mean \`${meant}\`?`;
  return `${JSON.stringify(name)} is not a capability${hint}`;
}
