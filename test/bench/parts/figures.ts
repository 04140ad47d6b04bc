/** Figures with targets as a table or JSON. Pure. */

import { align } from "../report.ts";

export interface Aim {
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface Figure<Unit extends string = string> {
  readonly name: string;
  readonly value: number;
  readonly unit: Unit;
  /** `undefined` for information only. */
  readonly aim: Aim | undefined;
  readonly detail: string;
}

/** An additional column of one bench, before the detail. */
export interface ExtraColumn<Row extends Figure> {
  readonly heading: string;
  cell(row: Row): string;
}

export function isMet(value: number, aim: Aim | undefined): boolean | undefined {
  if (aim === undefined) return undefined;
  return value >= (aim.atLeast ?? Number.NEGATIVE_INFINITY) && value <= (aim.atMost ?? Number.POSITIVE_INFINITY);
}

export function countMissed(figures: readonly Figure[]): number {
  return figures.filter(({ value, aim }) => isMet(value, aim) === false).length;
}

export function renderFigures<Row extends Figure>(
  figures: readonly Row[],
  extra: readonly ExtraColumn<Row>[] = [],
): string {
  const rows = figures.map((row) => {
    const met = isMet(row.value, row.aim);
    return [
      row.name,
      `${showNumber(row.value)} ${row.unit}`,
      renderAim(row.aim),
      met === undefined ? "" : met ? "met" : "NOT MET",
      ...extra.map(({ cell }) => cell(row)),
      row.detail,
    ];
  });
  return align([["", "value", "aim", "", ...extra.map(({ heading }) => heading), ""], ...rows]);
}

export function figuresAsJson(figures: readonly Figure[]): string {
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

/** Formats at least three significant digits, without meaningless ones. */
export function showNumber(value: number): string {
  if (value >= 100 || value === 0) return value.toFixed(0);
  return Math.abs(value) < 0.1 ? value.toFixed(4) : value.toFixed(2);
}
