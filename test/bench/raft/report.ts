/** The figures of the replicated state as a table or JSON. Pure. */

import { align } from "../report.ts";
import type { Aim, Figure } from "./scenarios.ts";

export interface Reported extends Figure {
  readonly scenario: string;
  /** R before and after the scenario. */
  readonly rawRates: readonly [before: number, after: number];
}

export function isMet(value: number, aim: Aim | undefined): boolean | undefined {
  if (aim === undefined) return undefined;
  return value >= (aim.atLeast ?? Number.NEGATIVE_INFINITY) && value <= (aim.atMost ?? Number.POSITIVE_INFINITY);
}

export function renderFigures(figures: readonly Reported[]): string {
  const rows = figures.map(({ name, value, unit, aim, rawRates, detail }) => {
    const met = isMet(value, aim);
    return [
      name,
      `${show(value)} ${unit}`,
      renderAim(aim),
      met === undefined ? "" : met ? "met" : "NOT MET",
      rawRates.map((rate) => rate.toFixed(0)).join("-"),
      detail,
    ];
  });
  return align([["", "value", "aim", "", "R", ""], ...rows]);
}

export function figuresAsJson(figures: readonly Reported[]): string {
  return JSON.stringify(
    figures.map((figure) => ({ ...figure, met: isMet(figure.value, figure.aim) ?? null })),
    undefined,
    2,
  );
}

function renderAim(aim: Aim | undefined): string {
  if (aim?.atLeast !== undefined) return `>= ${aim.atLeast}`;
  return aim?.atMost === undefined ? "" : `<= ${aim.atMost}`;
}

function show(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}
