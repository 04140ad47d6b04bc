/** The detector compared with the Presidio analyzer, on the same texts in one run. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { peer } from "../../peers/index.ts";
import {
  type Case,
  DATA,
  detectorOf,
  figuresOf,
  findingsIn,
  readCases,
  type Scored,
  typesIn,
} from "../../server/detectors/pii/development-data.ts";
import type { Figure } from "../parts/figures.ts";
import type { Scenario } from "../parts/scenario.ts";
import { type BenchSpeed, cpuMicrosOf } from "./cpu-micros.ts";

const SCRIPT = fileURLToPath(new URL("presidio.py", import.meta.url));
const TIMEOUT_MS = 170_000;
const MIN_SPEEDUP = 30;
/** Recommended threshold of ours; Presidio's own default reports everything. */
const THRESHOLD = 0.5;

interface Answer {
  readonly version: string;
  readonly entities: readonly string[];
  readonly seconds: number;
  readonly found: readonly (readonly Scored[])[];
}

const leftOut = (reason: string): readonly Figure[] => [
  { name: "presidio", value: Number.NaN, unit: "", aim: undefined, detail: `left out: ${reason}` },
];

export const PRESIDIO: Scenario<BenchSpeed> = {
  name: "presidio",
  async run(input) {
    if (!existsSync(DATA)) return leftOut("the data is not beside the project (GATEWAY_GUARDRAIL_DATA)");
    const python = await peer("presidio");
    if (python.missing !== false) return leftOut(python.missing);
    return [
      ...beside(input, python.path, "presidio_synth", "default"),
      ...beside(input, python.path, "presidio_synth", "all"),
      ...beside(input, python.path, "pii_patterns", "all"),
    ];
  },
};

function beside(input: BenchSpeed, python: string, name: string, recognizers: "default" | "all"): readonly Figure[] {
  const cases = readCases(`${name}.jsonl`);
  const texts = cases.map(({ text }) => text);
  const { version, entities, seconds, found: theirs } = analyzed(python, { texts, recognizers });
  const detector = detectorOf({});
  const ours = texts.map((text) => findingsIn(detector, text));
  const kilobytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / 1_024;
  const ourMicros = cpuMicrosOf(() => texts.forEach((text) => void findingsIn(detector, text)), input, 5) / kilobytes;
  const theirMicros = (seconds * 1e6) / kilobytes;
  const what = `${name}, ${recognizers === "all" ? "all recognizers" : "default recognizers"}`;
  const speed: Figure = {
    name: `${what}: times faster`,
    value: theirMicros / ourMicros,
    unit: "times",
    aim: { atLeast: MIN_SPEEDUP },
    detail: `${ourMicros.toFixed(0)} us/KB, presidio ${version} ${theirMicros.toFixed(0)} us/KB`,
  };
  const shared = [...typesIn(cases)].filter((type) => entities.includes(type) && isFoundByOurs(type)).sort();
  return [speed, ...shared.map((type) => quality(type, what, cases, ours, theirs))];
}

/** Found by a model alone: no pattern finds them. */
const MODEL_DRIVEN = new Set(["PERSON", "LOCATION", "ORGANIZATION", "NRP", "AGE", "ID", "TITLE"]);
const isFoundByOurs = (type: string): boolean => !MODEL_DRIVEN.has(type);

const rounded = (share: number): number => Math.round(share * 1e3) / 1e3;

function quality(
  type: string,
  what: string,
  cases: readonly Case[],
  ours: readonly (readonly Scored[])[],
  theirs: readonly (readonly Scored[])[],
): Figure {
  const types = new Set([type]);
  const above = (found: readonly (readonly Scored[])[]) =>
    found.map((all) => all.filter(({ score }) => score >= THRESHOLD));
  const own = figuresOf(cases, above(ours), types);
  const all = figuresOf(cases, theirs, types);
  const half = figuresOf(cases, above(theirs), types);
  const shown = ({ precision, recall, f1 }: typeof own) =>
    `F1 ${f1.toFixed(3)} (P ${precision.toFixed(2)}, R ${recall.toFixed(2)})`;
  return {
    name: `${what}: ${type} F1`,
    value: rounded(own.f1),
    unit: "",
    aim: { atLeast: rounded(Math.max(all.f1, half.f1)) },
    detail: `${own.marked} spans; P ${own.precision.toFixed(2)}, R ${own.recall.toFixed(2)}; presidio ${shown(all)} at its default, ${shown(half)} at 0.5`,
  };
}

function analyzed(python: string, asked: { readonly texts: readonly string[]; readonly recognizers: string }): Answer {
  const input = JSON.stringify(asked);
  const child = spawnSync(python, [SCRIPT], { input, encoding: "utf8", timeout: TIMEOUT_MS, maxBuffer: 2 ** 28 });
  if (child.status !== 0) throw new Error(`presidio: ${child.stderr.trim().split("\n").at(-1) ?? "it ended"}`);
  return JSON.parse(child.stdout) as Answer;
}
