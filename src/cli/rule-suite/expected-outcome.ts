/** Expectation of a case, with the rules and providers that it names looked up. */

import type { Layer } from "../../server/core/policy/index.ts";
import type { Profile } from "../../server/snapshot/index.ts";
import type { CaseText } from "./suite-schema.ts";
import { didYouMean, type Fault, type Subject, unknownIn } from "./suite-subject.ts";

type By =
  /** Denied by the profile's list of models. */
  | { readonly kind: "allowed_models" }
  /** Decided by a rule; `layer` is `undefined` for either layer. */
  | { readonly kind: "rule"; readonly rule: string; readonly layer: Layer | undefined };

export interface Expected {
  readonly expect: CaseText["expect"];
  readonly by: By | undefined;
  readonly message: string | undefined;
  readonly expectedProviders: readonly string[] | undefined;
}

/** Resolves an expectation. Paths of faults are below the case. */
export function expectedOf(
  { expect, by, message, reaches: expectedProviders }: CaseText,
  profile: Profile,
  subject: Subject,
): { readonly expected: Expected; readonly faults: readonly Fault[] } {
  const wanted = by === undefined ? undefined : byOf(by);
  const faults: Fault[] = (expectedProviders ?? []).flatMap((name, at) =>
    unknownIn([...subject.byName.keys()], name, "provider", ["reaches", at]),
  );
  if (wanted?.kind === "rule") faults.push(...ruleFaults(wanted, profile, subject));
  if (wanted?.kind === "allowed_models") {
    if (expect !== "deny") faults.push({ path: ["by"], message: "`allowed_models` only denies" });
    if (profile.allows === undefined) {
      faults.push({
        path: ["by"],
        message: `${profileText(profile)} has no \`allowed_models\`: every model is allowed`,
      });
    }
    if (message !== undefined) faults.push({ path: ["message"], message: "only a rule has its own message" });
  }
  return { expected: { expect, by: wanted, message, expectedProviders }, faults };
}

/** Parses `by`. The text `allowed_models` means the list; a rule of that name is written `{rule: allowed_models}`. */
function byOf(by: NonNullable<CaseText["by"]>): By {
  if (by === "allowed_models") return { kind: "allowed_models" };
  if (typeof by === "string") return { kind: "rule", rule: by, layer: undefined };
  const { rule, profile } = by;
  return { kind: "rule", rule, layer: profile === undefined ? { kind: "deployment" } : { kind: "profile", profile } };
}

type NamedRule = Extract<By, { kind: "rule" }>;

function ruleFaults(wanted: NamedRule, profile: Profile, { governance }: Subject): readonly Fault[] {
  const matchingRules = governance.policies.rules.filter(({ layer }) => {
    return layer.kind === "deployment" || layer.profile === profile.name;
  });
  if (matchingRules.some(({ rule, layer }) => isOf(wanted, rule.name, layer))) return [];
  const names = matchingRules.map(({ rule }) => rule.name);
  const layerText = wanted.layer === undefined ? "" : ` ${layerName(wanted.layer)}`;
  const message = `no such rule${layerText} applies to ${profileText(profile)}${didYouMean(wanted.rule, names)}`;
  return [{ path: ["by"], message }];
}

const profileText = ({ name }: Profile): string =>
  name === undefined ? "a caller without a profile" : `profile ${name}`;

/** Returns the layer's name in lines of output: `(deployment)`, `(profile staff)`. */
export const layerName = (layer: Layer): string =>
  layer.kind === "deployment" ? "(deployment)" : `(profile ${layer.profile})`;

/** Returns whether the rule with this name and layer is the expected one. */
export function isOf({ rule, layer }: NamedRule, name: string, actual: Layer): boolean {
  return rule === name && (layer === undefined || layerName(layer) === layerName(actual));
}
