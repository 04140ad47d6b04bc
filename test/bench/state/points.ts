/** The parts of a large-state curve, and the judgment of its growth. Pure. */

export interface Point {
  readonly size: number;
  readonly value: number;
}

/** `flat` does not depend on the size; `linear` grows with it at most. */
export type Growth = "flat" | "linear";

export interface Curve {
  /** Objects that are counted: keys, providers, budgets, rules. */
  readonly of: string;
  readonly figure: string;
  readonly unit: string;
  readonly growth: Growth;
  readonly points: readonly Point[];
}

export interface JudgedCurve extends Curve {
  /** Exponent of the size between the two largest points: 0 is flat, 1 is linear. */
  readonly exponent: number;
  /** Cost of one more item on a linear curve, between its smallest and its largest point, in the curve's unit. */
  readonly each: number;
  readonly isWithin: boolean;
}

/** Maximum difference of a flat figure between the smallest and the largest size, on a shared machine. */
const MAX_FLAT_RATIO = 1.5;
/** Above 1, since caches miss more often in large tables. */
const MAX_LINEAR_EXPONENT = 1.15;

export function judgeCurve(curve: Curve): JudgedCurve {
  const points = curve.points.filter(({ value }) => Number.isFinite(value) && value > 0);
  const first = points[0];
  const last = points.at(-1);
  const before = points.at(-2);
  if (first === undefined || last === undefined || before === undefined) {
    return { ...curve, exponent: Number.NaN, each: Number.NaN, isWithin: true };
  }
  const exponent = Math.log(last.value / before.value) / Math.log(last.size / before.size);
  const each = (last.value - first.value) / (last.size - first.size);
  const isWithin =
    curve.growth === "flat" ? last.value <= first.value * MAX_FLAT_RATIO : exponent <= MAX_LINEAR_EXPONENT;
  return { ...curve, exponent, each, isWithin };
}

const SIGNIFICANT = 3;

export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const rounded = Number(value.toPrecision(SIGNIFICANT));
  if (Math.abs(rounded) >= 1e6) return `${Number((rounded / 1e6).toPrecision(SIGNIFICANT))} M`;
  if (Math.abs(rounded) >= 1e4) return `${Number((rounded / 1e3).toPrecision(SIGNIFICANT))} k`;
  return String(rounded);
}
