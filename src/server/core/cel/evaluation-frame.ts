/**
 * State of one evaluation: its variables, current loop items, and the cost units left.
 *
 * A cost unit is about one step of the evaluator. Steps outside loops are charged at once, by their number; a loop iteration is
 * charged by the steps of its body; work that grows with a text or list is charged by its length.
 */

import type { Value } from "./cel-values.ts";
import type { Fault } from "./evaluation-faults.ts";

/** Reads no other properties than declared variables, by their whole names. */
export type Variables = Readonly<Record<string, unknown>>;

export interface Frame {
  variables: Variables;
  readonly locals: Value[];
  /** Units left; below zero the evaluation has failed, whatever its result. */
  left: number;
}

/** A compiled node. */
export type Evaluate = (frame: Frame) => Value | Fault;

/** A function of at most four arguments; those that it does not take are passed as null. */
export type Run = (frame: Frame, a: Value, b: Value, c: Value, d: Value) => Value | Fault;

/** Charges `units`, and returns whether that many were left. */
export function charge(frame: Frame, units: number): boolean {
  frame.left -= units;
  return frame.left >= 0;
}

/** Characters handled in the time of one step. */
const TEXT_PER_UNIT = 32;

export const textUnits = (length: number): number => Math.ceil(length / TEXT_PER_UNIT);

export const chargeText = (frame: Frame, length: number): boolean => charge(frame, textUnits(length));
