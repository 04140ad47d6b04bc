/** The detector of type `pii`, compiled from its configuration. Source: specification document 3, `guardrails.detectors[]`. */

import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { nearest } from "../../../base/index.ts";
import type { DetectorConfig } from "../../core/config/index.ts";
import type { Detector, Finding, Horizon, Scanned } from "../../core/guardrails/index.ts";
import { compileCustom } from "./custom/compile.ts";
import { engineOf, RE2_VERSION } from "./engines.ts";
import { PHONE_REGIONS } from "./phones/numbers.ts";
import { phoneRecognizer } from "./phones/recognizer.ts";
import { horizonOf } from "./reach.ts";
import { BUILT_IN } from "./recognizers/index.ts";
import { compileScan, type Scan } from "./scan.ts";
import type { Recognizer } from "./types.ts";

interface PiiProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export type BuiltPiiDetector =
  | {
      readonly kind: "detector";
      readonly detector: Detector;
      /** Every `<category>/<LABEL>` that it can find. */
      readonly gives: readonly string[];
    }
  /** Paths begin at the detector. */
  | { readonly kind: "refused"; readonly problems: readonly PiiProblem[] };

/** `usesContext`: `guardrails.context_enhancement`. The detector has a horizon where it applies to `output`. */
export function createPiiDetector(config: DetectorConfig, name: string, usesContext: boolean): BuiltPiiDetector {
  const engine = engineOf(config.prefilter);
  if (engine === undefined) {
    const message = `\`native\` needs the package re2, built for this Node.js: \`npm install re2@${RE2_VERSION}\`, or \`prefilter: pure\``;
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
    const message = "no recognizer finds what `entities` and `recognizers` leave, so nothing would be looked for";
    return { kind: "refused", problems: [{ path: [], message }] };
  }
  const scan = compileScan(recognizers, { engine, usesContext });
  // Half a second of a start, and streams alone ask for it.
  const horizon = config.apply_to?.includes("output") ? horizonOf(recognizers) : undefined;
  const gives = new Set(recognizers.map(({ category, entity }) => `${category}/${entity}`));
  const detector = detectorOf(name, scan, horizon, fingerprintOf(config, usesContext));
  return { kind: "detector", detector, gives: [...gives] };
}

/** Without regions, those of the table. */
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
    const meant = nearest(name, names);
    const hint = meant === undefined ? "" : `; did you mean \`${meant}\`?`;
    return [{ path: [key, at], message: `this is no ${what} of a detector of type \`pii\`${hint}` }];
  });
}

/** UTF-16 units that are read before others on this thread have their turn; some ten milliseconds. */
const TURN_LENGTH = 64 << 10;

/** A long conversation, text by text, so that a limit of time can end it and others are served meanwhile. */
async function inTurns(
  texts: readonly Scanned[],
  read: (scanned: Scanned) => readonly Finding[],
): Promise<readonly (readonly Finding[])[]> {
  const found: (readonly Finding[])[] = [];
  let length = 0;
  for (const scanned of texts) {
    if (length > TURN_LENGTH) {
      await setImmediate();
      length = 0;
    }
    found.push(read(scanned));
    length += scanned.segment.text.length;
  }
  return found;
}

function detectorOf(name: string, scan: Scan, horizon: Horizon | undefined, fingerprint: string): Detector {
  return Object.freeze({
    name,
    type: "pii",
    fingerprint,
    readsContext: [],
    detect(texts, _all, signal) {
      const read = (scanned: Scanned): readonly Finding[] => {
        signal.throwIfAborted();
        return withinWindows(scan(scanned.segment.text), scanned);
      };
      const length = texts.reduce((sum, { segment }) => sum + segment.text.length, 0);
      return texts.length === 1 || length <= TURN_LENGTH ? texts.map(read) : inTurns(texts, read);
    },
    horizon,
  } satisfies Detector);
}

/** The whole text is scanned, since words before a window and what stands at its edges count. */
function withinWindows(found: readonly Finding[], { windows }: Scanned): readonly Finding[] {
  if (windows === undefined) return found;
  return found.filter(({ start, end }) => windows.some((window) => window.start <= start && window.end >= end));
}

/** What findings depend on, apart from the program itself: a cache does not outlive it. */
function fingerprintOf(config: DetectorConfig, usesContext: boolean): string {
  const { entities, recognizers, custom_recognizers: custom, phone_regions: regions, prefilter } = config;
  const read = JSON.stringify({ type: "pii", entities, recognizers, custom, regions, prefilter, usesContext });
  return createHash("sha256").update(read).digest("hex");
}
