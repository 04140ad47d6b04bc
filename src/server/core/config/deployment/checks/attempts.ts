/** Checks of failover and timeouts, which refer to other providers. Spec: document 3, `providers[]`, `first_byte_timeout`. */

import { type Problem, shown } from "../../problem.ts";
import { providerName } from "../providers.ts";
import { type Check, unknownName } from "./check.ts";

export const checkFailover: Check = ({ providers }, problem) => {
  const names = new Set(providers.flatMap((provider) => providerName(provider) ?? []));
  return providers.flatMap((provider, at) => {
    const own = providerName(provider);
    const seen = new Set<string>();
    return (provider.failover?.to ?? []).flatMap((name, position) => {
      const path = ["providers", at, "failover", "to", position];
      if (!names.has(name)) return [problem(path, unknownName("provider", name, names))];
      if (name === own)
        return [problem(path, "a provider cannot fail over to itself; `retry` repeats at the same one")];
      if (seen.has(name)) return [problem(path, `${shown(name)} is in this list already; each is tried once`)];
      seen.add(name);
      return [];
    });
  });
};

/**
 * Checks that `first_byte_timeout` and its triggers are used together. The triggers are the provider's own `retry.when` and
 * `failover.when`, and the `failover.when` of every provider that lists it.
 */
export const checkFirstByteTimeout: Check = ({ providers }, problem) => {
  const triggeredBy = new Map<string, string>();
  for (const provider of providers) {
    if (!provider.failover?.when.includes("timeout")) continue;
    const owner = shown(providerName(provider) ?? "");
    for (const name of provider.failover.to) triggeredBy.set(name, `\`failover.when\` of provider ${owner}`);
  }
  return providers.flatMap((provider, at): readonly Problem[] => {
    const trigger = provider.retry?.when.includes("timeout")
      ? "its `retry.when`"
      : provider.failover?.when.includes("timeout")
        ? "its `failover.when`"
        : triggeredBy.get(providerName(provider) ?? "");
    if (trigger !== undefined && provider.first_byte_timeout === undefined) {
      return [
        problem(
          ["providers", at],
          `this provider needs a \`first_byte_timeout\`, because ${trigger} names \`timeout\``,
        ),
      ];
    }
    if (trigger === undefined && provider.first_byte_timeout !== undefined) {
      return [
        problem(
          ["providers", at, "first_byte_timeout"],
          "this timeout has no effect: add `timeout` to `retry.when` or `failover.when` here, or to `failover.when` of a provider that lists this one",
        ),
      ];
    }
    return [];
  });
};
