/**
 * Faults of evaluation, a closed set of kinds. Source: CEL language definition, "Evaluation".
 *
 * A fault is a value and nothing is thrown, so that `&&`, `||`, `all` and `exists` can absorb it as the language specifies.
 * Its message never contains a value of the request. Most faults are created when the expression is compiled.
 */

export type FaultKind =
  /** Missing key of a map, index of a list, or field. */
  | "missing_key"
  /** Exhausted cost budget. Nothing absorbs this fault. */
  | "cost"
  /** Missing function for the types of the values; only if a type was not known at load time. */
  | "type"
  /** Value out of the range of int, uint, timestamp or duration. */
  | "overflow"
  /** Division or remainder by zero. */
  | "division"
  /** Invalid argument: a pattern, a time zone, or a text that is not a number. */
  | "other";

export class Fault {
  readonly kind: FaultKind;
  readonly message: string;

  constructor(kind: FaultKind, message: string) {
    this.kind = kind;
    this.message = message;
  }
}

export const COST_FAULT = new Fault("cost", "the evaluation costs more than its budget");
export const INT_OVERFLOW = new Fault("overflow", "the result is beyond the range of int");
export const UINT_OVERFLOW = new Fault("overflow", "the result is beyond the range of uint");
export const TIME_OVERFLOW = new Fault("overflow", "the result is beyond the range of timestamp or duration");
export const DIVISION_BY_ZERO = new Fault("division", "division by zero");
export const INDEX_MISSING = new Fault("missing_key", "the index is outside the list");
export const KEY_MISSING = new Fault("missing_key", "the map has no such key");
export const NO_OVERLOAD = new Fault("type", "the function is not defined for values of these types");
