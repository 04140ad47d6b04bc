/**
 * Checks of `auth` and `public_url`: which callers are accepted, and whether any caller can get each profile and budget. Spec:
 * document 3.
 */

import { type Path, type Problem, type ProblemAt, shown } from "../../problem.ts";
import { selfSetClaim } from "../../self-set-claims.ts";
import type { Deployment } from "../deployment.ts";
import { type Check, unknownName } from "./check.ts";

type Auth = NonNullable<Deployment["auth"]>;
type Issuer = Auth["issuers"][number];

export const checkAuth: Check = ({ auth, profiles }, problem) => {
  if (auth === undefined) return [];
  const known = new Set((profiles ?? []).map(({ name }) => name));
  return [
    ...(!auth.virtual_keys && auth.issuers.length === 0
      ? [
          problem(
            ["auth"],
            "`auth` accepts no credential, so every request is refused: set `virtual_keys: true` or name `issuers`",
            "warning",
          ),
        ]
      : []),
    ...repeatedBindings(auth.issuers, problem),
    ...auth.issuers.flatMap((issuer, at) => bindingProblems(issuer, known, problem, ["auth", "issuers", at])),
  ];
};

/** Reports duplicate bindings. They are distinguished by issuer and audience, so a duplicate would never be used. */
function repeatedBindings(issuers: readonly Issuer[], problem: ProblemAt): readonly Problem[] {
  const first = new Map<string, number>();
  return issuers.flatMap(({ issuer, audience }, at) => {
    const binding = JSON.stringify([issuer, audience]);
    const before = first.get(binding);
    if (before === undefined) first.set(binding, at);
    return before === undefined
      ? []
      : [
          problem(
            ["auth", "issuers", at],
            `entry ${before + 1} of this list accepts this issuer with the same \`audience\` already`,
          ),
        ];
  });
}

function bindingProblems(
  { profile, profiles }: Issuer,
  known: ReadonlySet<string>,
  problem: ProblemAt,
  path: Path,
): readonly Problem[] {
  const unknown = (name: string | undefined, at: Path): readonly Problem[] =>
    !name || known.has(name) ? [] : [problem(at, unknownName("profile", name, known))];
  if (profiles === undefined) return unknown(profile, [...path, "profile"]);
  const { claim, trust_claim: isTrusted, select } = profiles;
  const selfSet = isTrusted ? undefined : selfSetClaim(claim, "trust_claim");
  const values = new Map<string, number>();
  return [
    ...unknown(profile, [...path, "profile"]),
    ...(selfSet === undefined ? [] : [problem([...path, "profiles", "claim"], selfSet)]),
    ...select.flatMap(({ value, profile: selected }, at) => {
      const entry = [...path, "profiles", "select", at];
      const before = values.get(value);
      if (before === undefined) values.set(value, at);
      return [
        ...unknown(selected, [...entry, "profile"]),
        ...(before === undefined
          ? []
          : [problem([...entry, "value"], `never selects: entry ${before + 1} has this value already`, "warning")]),
      ];
    }),
  ];
}

/** Warns of profiles and budgets that no caller can get. */
export const checkHolders: Check = ({ auth, profiles, budgets }, problem) => {
  const spent = new Set((profiles ?? []).flatMap(({ budget }) => budget || []));
  const known = new Set((budgets ?? []).map(({ name }) => name));
  // A misspelled name is reported by another check. The budget that it was meant to name must not be reported as unused.
  const isMisspelt = [...spent].some((name) => !known.has(name));
  const unspent = (budgets ?? []).flatMap(({ name }, at) =>
    isMisspelt || spent.has(name)
      ? []
      : [problem(["budgets", at], "this budget is never used: no profile's `budget` names it", "warning")],
  );
  return [...unspent, ...unheldProfiles(auth, profiles ?? [], problem)];
};

function unheldProfiles(
  auth: Auth | undefined,
  profiles: NonNullable<Deployment["profiles"]>,
  problem: ProblemAt,
): readonly Problem[] {
  if (auth === undefined) {
    const message = "no caller gets a profile or uses a budget, since without `auth` every caller is anonymous";
    return profiles.length === 0 ? [] : [problem(["profiles"], message, "warning")];
  }
  // The profiles that keys will name are unknown until the keys are minted.
  if (auth.virtual_keys) return [];
  const named = new Set(
    auth.issuers.flatMap(({ profile, profiles: selection }) => [
      profile,
      ...(selection?.select ?? []).map((choice) => choice.profile),
    ]),
  );
  return profiles.flatMap(({ name }, at) =>
    named.has(name)
      ? []
      : [
          problem(
            ["profiles", at],
            `no caller gets the profile ${shown(name)}: no issuer of \`auth\` names it, and \`virtual_keys\` is off`,
            "warning",
          ),
        ],
  );
}

/**
 * Checks `public_url`, the identifier of the protected resource. Addresses are made by appending to its path (RFC 9728,
 * sections 1.2 and 3.1), so it must have no query and no fragment. Its format already refuses a user.
 */
export const checkPublicUrl: Check = ({ public_url: url }, problem) =>
  url === undefined || !/[?#]/.test(url)
    ? []
    : [problem(["public_url"], "the URL of the data plane must not have a query or fragment (`?`, `#`)")];
