/** Compiles a detector of type `pii` to the scan of one text. Source: specification document 3, `guardrails.detectors[]`. */

import { closestName, installCommand } from "../../../base/index.ts";
import type { DetectorConfig } from "../../core/config/index.ts";
import { compileCustom } from "./custom/compile-custom.ts";
import { engineOf } from "./engines.ts";
import { PHONE_REGIONS } from "./phones/numbers.ts";
import { phoneRecognizer } from "./phones/recognizer.ts";
import { compileScan, type Scan } from "./pii-scan.ts";
import { BUILT_IN } from "./recognizers/index.ts";
import type { Recognizer } from "./types.ts";

export interface PiiProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

type CompiledPii =
  | {
      readonly kind: "compiled";
      readonly recognizers: readonly Recognizer[];
      readonly scan: Scan;
      /** Returns a scan for matches that a pattern accepts and a check rejects; compiled at the first call. */
      readonly scanDisproved: () => Scan;
    }
  /** Problems of the configuration; their paths begin at the detector. */
  | { readonly kind: "refused"; readonly problems: readonly PiiProblem[] };

/** Compiles the detector. `usesContext` is `guardrails.context_enhancement`. */
export function compilePii(config: DetectorConfig, usesContext: boolean): CompiledPii {
  const engine = engineOf(config.prefilter);
  if (engine === undefined) {
    const remedies = `install it with \`${installCommand("re2")}\`, or set \`prefilter: pure\``;
    const message = `\`native\`, the default, needs the package re2, built for this Node.js: ${remedies}`;
    return { kind: "refused", problems: [{ path: ["prefilter"], message }] };
  }
  const builtInNames = new Set(BUILT_IN.map((recognizer) => recognizer.name));
  const custom = compileCustom(config.custom_recognizers ?? [], builtInNames, engine);
  const known = [...withPhones(config.phone_regions), ...custom.recognizers];
  const problems = [
    ...custom.problems,
    ...unknown("entity type", "entities", config.entities, [
      ...known.map(({ entity }) => entity),
      ...(config.custom_recognizers ?? []).map(({ entity }) => entity),
    ]),
    ...unknown("recognizer", "recognizers", config.recognizers, [
      ...known.map((recognizer) => recognizer.name),
      ...(config.custom_recognizers ?? []).map((recognizer) => recognizer.name),
    ]),
    ...unknown("region", "phone_regions", config.phone_regions, PHONE_REGIONS),
  ];
  if (problems.length > 0) return { kind: "refused", problems };
  const recognizers = selected(known, config);
  if (recognizers.length === 0) {
    const message = "`entities` and `recognizers` exclude every recognizer, so the detector would find nothing";
    return { kind: "refused", problems: [{ path: [], message }] };
  }
  const scan = compileScan(recognizers, { engine, usesContext });
  let disproved: Scan | undefined;
  const scanDisproved = (): Scan => {
    disproved ??= compileScan(recognizers, { engine, usesContext, wantsDisproved: true });
    return disproved;
  };
  return { kind: "compiled", recognizers, scan, scanDisproved };
}

/** Returns the recognizers with these regions for telephone numbers; `undefined` uses those of the table. */
function withPhones(regions: readonly string[] | undefined): readonly Recognizer[] {
  if (regions === undefined) return BUILT_IN;
  const phones = phoneRecognizer(regions);
  return BUILT_IN.map((recognizer) => (recognizer.name === phones.name ? phones : recognizer));
}

function selected(known: readonly Recognizer[], { entities, recognizers }: DetectorConfig): readonly Recognizer[] {
  const types = entities === undefined ? undefined : new Set(entities);
  const names = recognizers === undefined ? undefined : new Set(recognizers);
  return known.filter(({ name, entity }) => types?.has(entity) !== false && names?.has(name) !== false);
}

function unknown(
  what: string,
  key: string,
  found: readonly string[] | undefined,
  known: readonly string[],
): PiiProblem[] {
  const names = new Set(known);
  return (found ?? []).flatMap((name, at) => {
    if (names.has(name)) return [];
    const meant = closestName(name, names);
    const hint = meant === undefined ? "" : `; did you mean \`${meant}\`?`;
    return [{ path: [key, at], message: `this is no ${what} of a detector of type \`pii\`${hint}` }];
  });
}
