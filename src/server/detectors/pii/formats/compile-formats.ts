/** Derives the formats of values from the patterns that find them. */

import type { Guardrails } from "../../../core/config/index.ts";
import type { FormatOf, ValueFormat } from "../../../core/guardrails/index.ts";
import { validatorOf } from "../custom/validators.ts";
import { engineOf } from "../engines.ts";
import { DEFAULT_PHONE_REGIONS } from "../phones/numbers.ts";
import { BUILT_IN } from "../recognizers/index.ts";
import { viewsOf } from "../text-view.ts";
import type { Pattern } from "../types.ts";
import { expressionFormat } from "./expression-format.ts";
import { phoneFormat } from "./phone-format.ts";
import { shapeFormat } from "./shape-format.ts";
import { ALPHANUMERICS, type PatternFormat, pick } from "./types.ts";

const PHONES = "PHONE_NUMBER";

/** Returns a function that compiles each format at its first use. */
export function compileFormats({ detectors }: Pick<Guardrails, "detectors">): FormatOf {
  const known = new Map<string, ValueFormat | undefined>();
  return (label) => {
    if (!known.has(label)) {
      const patterns = [...builtIn(label, detectors), ...custom(label, detectors)];
      known.set(label, patterns.length === 0 ? undefined : joined(patterns));
    }
    return known.get(label);
  };
}

type Detectors = Guardrails["detectors"];

function builtIn(label: string, detectors: Detectors): readonly PatternFormat[] {
  if (label === PHONES) {
    const regions = detectors.flatMap(({ type, phone_regions: own }) => (type === "pii" && own ? own : []));
    const isDefault = detectors.every(({ type, phone_regions: own }) => type !== "pii" || own === undefined);
    return [phoneFormat(isDefault ? DEFAULT_PHONE_REGIONS : [...new Set(regions)])];
  }
  return BUILT_IN.filter(({ entity }) => entity === label).flatMap(({ patterns }) => patterns.flatMap(patternFormat));
}

/** Returns the formats of a pattern; none for a search written as code. */
function patternFormat(pattern: Pattern): readonly PatternFormat[] {
  if (pattern.kind === "shape") return [shapeFormat(pattern)];
  if (pattern.kind === "search") return [];
  const { regex, isCaseSensitive = false, validate } = pattern;
  const isValid =
    validate && ((value: string) => validate(value, { text: value, start: 0, end: value.length }) !== false);
  return expressionOf({ regex, isCaseSensitive, search: pure().builtIn(regex, isCaseSensitive), isValid });
}

function custom(label: string, detectors: Detectors): readonly PatternFormat[] {
  return detectors.flatMap(({ custom_recognizers: recognizers = [], prefilter }) =>
    recognizers
      .filter(({ entity }) => entity === label)
      .flatMap(({ patterns = [], validator, case_sensitive: isCaseSensitive = false }) =>
        patterns.flatMap(({ regex }) => {
          try {
            const search = (engineOf(prefilter) ?? pure()).custom(regex, isCaseSensitive);
            return expressionOf({ regex, isCaseSensitive, search, isValid: validator && validatorOf(validator) });
          } catch {
            // The detector refuses the pattern, with the reason.
            return [];
          }
        }),
      ),
  );
}

function expressionOf(terms: Parameters<typeof expressionFormat>[0]): readonly PatternFormat[] {
  try {
    return [expressionFormat(terms)];
  } catch {
    return [];
  }
}

function pure() {
  const engine = engineOf("pure");
  if (engine === undefined) throw new Error("the engine of V8 is always there");
  return engine;
}

const WEAKEST = ["none", "form", "check"] as const;

/** Joins the formats of a type that several patterns find. */
function joined(patterns: readonly PatternFormat[]): ValueFormat {
  return {
    classesOf(value) {
      const [view] = viewsOf(value);
      const all = patterns.flatMap((pattern) => {
        const classes = pattern.classesOf(view.text);
        return classes === undefined ? [] : [classes];
      });
      if (all.length === 0) return undefined;
      const byPlace = new Map<number, string | undefined>();
      let at = 0;
      for (const [index, character] of [...view.text].entries()) {
        byPlace.set(view.startOf(at), membersOf(all.map((classes) => classes[index])));
        at += character.length;
      }
      let place = 0;
      return [...value].map((character) => {
        const members = byPlace.get(place);
        place += character.length;
        return members;
      });
    },
    visitMatches(text, take) {
      const taken = new Set<string>();
      for (const view of viewsOf(text)) {
        for (const pattern of patterns) {
          pattern.each(view.text, (from, to) => {
            const [start, end] = [view.startOf(from), view.endOf(to)];
            const place = `${start} ${end}`;
            if (taken.has(place)) return;
            taken.add(place);
            take(start, end);
          });
        }
      }
    },
    isValid: (value) => {
      const [view] = viewsOf(value);
      return patterns.some((pattern) => pattern.accepts(view.text));
    },
    proof: WEAKEST.find((proof) => patterns.some((pattern) => pattern.proof === proof)) ?? "none",
    sample: (random) => pick(patterns, random).sample(random),
  };
}

function membersOf(all: readonly (string | undefined)[]): string | undefined {
  const open = [...new Set(all.filter((one): one is string => one !== undefined))];
  if (open.length < 2) return open[0];
  return [...ALPHANUMERICS].filter((symbol) => open.some((members) => members.includes(symbol))).join("");
}
