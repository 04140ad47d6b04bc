/** The figures of the replicated state, each with R before and after its scenario. Pure. */

import { type ExtraColumn, type Figure, renderFigures } from "../parts/figures.ts";

export interface Reported extends Figure {
  readonly scenario: string;
  /** R before and after the scenario. */
  readonly rawRates: readonly [before: number, after: number];
}

const RAW_RATES: ExtraColumn<Reported> = {
  heading: "R",
  cell: ({ rawRates }) => rawRates.map((rate) => rate.toFixed(0)).join("-"),
};

export const renderReported = (figures: readonly Reported[]): string => renderFigures(figures, [RAW_RATES]);
