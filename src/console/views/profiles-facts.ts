/** Texts about a profile, for its own view and for that of the keys. */

import type { ProfileRecord } from "../../admin-api/index.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { namesText } from "../format/name-list.ts";
import { plural } from "../format/numbers.ts";
import { type Line, span } from "../model/text.ts";

/** Maximum number of names in a line. */
const MAX_NAMED = 12;

/** Returns the allowed models in words. An empty list means all routed models. */
export const modelsOf = ({ allowed_models: models }: ProfileRecord): string =>
  models.length === 0 ? "all" : models.join(", ");

export const capsOf = ({ require_caps: caps }: ProfileRecord): string => (caps.length === 0 ? "-" : caps.join(", "));

/** Returns the detectors in words. Null means all detectors; an empty list means that nothing is inspected. */
export function detectorsOf({ detectors }: ProfileRecord): string {
  if (detectors === null) return "all";
  return detectors.length === 0 ? "none" : detectors.join(", ");
}

export function profileLines(profile: ProfileRecord): readonly Line[] {
  const { name, budget, allowed_models: models, access_rules: rules } = profile;
  return [
    labeledLine(
      "profile",
      shown(name, "strong"),
      span("  models ", "dim"),
      span(models.length === 0 ? "all that are routed" : namesText(models, MAX_NAMED)),
      span("  require_caps ", "dim"),
      shown(capsOf(profile)),
    ),
    labeledLine(
      "",
      span("budget ", "dim"),
      shown(budget ?? "none"),
      span(`  ${plural(rules, "access rule")} of its own, in addition to those of the deployment`),
      span("  detectors ", "dim"),
      shown(detectorsOf(profile)),
    ),
  ];
}
