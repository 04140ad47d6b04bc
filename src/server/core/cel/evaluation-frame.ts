/**
 * State of one evaluation: its variables, current loop items, and the cost units left.
 *
 * A cost unit is about one step of the evaluator. Steps outside loops are charged at once, by their number; a loop iteration is
 * charged by the steps of its body; work that grows with a text or list is charged by its length.
 */

import type { Value } from "./cel-values.ts";
import type { Fault } from "./evaluation-faults.ts";

/** Values of the declared variables by their whole names. Other properties are not read. */
export type Variables = Readonly<Record<string, unknown>>;

export interface Frame {
  variables: Variables;
  readonly locals: Value[];
  /** Cost units left. Below zero the evaluation has failed, whatever its result. */
  remainingCost: number;
}

/** Compiled node of the tree. Returns the node's value or a fault. */
export type Evaluate = (frame: Frame) => Value | Fault;

/** Implementation of a function with at most four arguments. Unused arguments are null. */
export type Run = (frame: Frame, a: Value, b: Value, c: Value, d: Value) => Value | Fault;

/** Charges `units`. Returns false if the budget is exceeded. */
export function charge(frame: Frame, units: number): boolean {
  frame.remainingCost -= units;
  return frame.remainingCost >= 0;
}

/** Number of characters that are processed in the time of one step. */
const TEXT_PER_UNIT = 32;

export const textUnits = (length: number): number => Math.ceil(length / TEXT_PER_UNIT);

export const chargeText = (frame: Frame, length: number): boolean => charge(frame, textUnits(length));
