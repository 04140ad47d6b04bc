/**
 * One evaluation: its variables, the items of the loops it is in, and the cost units it has left.
 *
 * A cost unit is about one step of the evaluator. Steps outside loops are charged at once, by their number; a turn of a
 * loop is charged by the steps of its body; work that grows with a text or a list is charged by its length.
 */

import type { Fault } from "./faults.ts";
import type { Value } from "./values.ts";

/** Reads no other properties than declared variables, by their whole names. */
export type Variables = Readonly<Record<string, unknown>>;

export interface Frame {
  variables: Variables;
  readonly locals: Value[];
  /** Units; below zero the evaluation is over, whatever it answers. */
  left: number;
}

/** A compiled node. */
export type Evaluate = (frame: Frame) => Value | Fault;

/** A function of at most four arguments; those that it does not take are passed as null. */
export type Run = (frame: Frame, a: Value, b: Value, c: Value, d: Value) => Value | Fault;

/** Takes `units`, and tells whether there were that many. */
export function charge(frame: Frame, units: number): boolean {
  frame.left -= units;
  return frame.left >= 0;
}

/** Characters handled in the time of one step. */
const TEXT_PER_UNIT = 32;

export const textUnits = (length: number): number => Math.ceil(length / TEXT_PER_UNIT);

export const chargeText = (frame: Frame, length: number): boolean => charge(frame, textUnits(length));
