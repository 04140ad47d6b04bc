/** Cost of the `pii` detector on ordinary texts, and that no text costs more than its length. */

import { BUILT_IN, compileScan, engineOf, type Prefilter, type Scan } from "../../../src/server/detectors/pii/index.ts";
import type { Aim, Figure } from "../parts/figures.ts";
import type { Scenario } from "../parts/scenario.ts";
import { type BenchSpeed, cpuMicrosOf } from "./cpu-micros.ts";
import { HOSTILE, ORDINARY } from "./texts.ts";

const MAX_WITHOUT_PHONES_US = 50;
const MAX_WITH_PHONES_US = 150;
const HOSTILE_LENGTH = 200_000;
/** Maximum growth for twice the text. */
const MAX_GROWTH = 2.3;

function scanOf(prefilter: Prefilter, hasPhones: boolean): Scan | undefined {
  const engine = engineOf(prefilter);
  if (engine === undefined) return undefined;
  const recognizers = BUILT_IN.filter(({ entity }) => hasPhones || entity !== "PHONE_NUMBER");
  return compileScan(recognizers, { engine, usesContext: true });
}

export const COST: Scenario<BenchSpeed> = {
  name: "cost",
  async run(input) {
    const figures: Figure[] = [];
    for (const prefilter of ["pure", "native"] as const) {
      for (const hasPhones of [false, true]) {
        const scan = scanOf(prefilter, hasPhones);
        const what = `${prefilter}, ${hasPhones ? "with" : "without"} phones`;
        if (scan === undefined) {
          const detail = "left out: the package re2 is not there (`npm run peers -- re2`)";
          figures.push({ name: what, value: Number.NaN, unit: "us/KB", aim: undefined, detail });
          continue;
        }
        for (const [kind, text] of Object.entries(ORDINARY)) {
          const atMost = hasPhones ? MAX_WITH_PHONES_US : MAX_WITHOUT_PHONES_US;
          const aim: Aim | undefined = kind.endsWith("prose") ? { atMost } : undefined;
          const kilobytes = Buffer.byteLength(text) / 1_024;
          const value = cpuMicrosOf(() => void scan(text), input) / kilobytes;
          figures.push({ name: `${kind}: ${what}`, value, unit: "us/KB", aim, detail: "" });
        }
      }
    }
    return figures;
  },
};

export const LINEARITY: Scenario<BenchSpeed> = {
  name: "linearity",
  async run(input) {
    const scan = scanOf("pure", true);
    if (scan === undefined) return [];
    return Object.entries(HOSTILE).map(([name, make]) => {
      const [one, two] = [make(HOSTILE_LENGTH / 2), make(HOSTILE_LENGTH)].map((text) =>
        cpuMicrosOf(() => void scan(text), input, 3),
      ) as [number, number];
      const detail = `${(one / 1e3).toFixed(1)} ms for 100,000 characters, ${(two / 1e3).toFixed(1)} ms for 200,000`;
      return { name: `twice as many ${name}`, value: two / one, unit: "times", aim: { atMost: MAX_GROWTH }, detail };
    });
  },
};
