/**
 * Faults of evaluation: a closed set of kinds. Source: CEL language definition, "Evaluation".
 *
 * A fault is a value, so that `&&`, `||`, `all` and `exists` can absorb it as the language specifies; nothing is thrown. Its
 * message never contains a value of the request, and most faults are created when the expression is compiled.
 */

export type FaultKind =
  /** A map without the key, a list without the index, an absent field. */
  | "missing_key"
  /** The budget of cost units is spent. Not absorbed by anything. */
  | "cost"
  /** No function for values of these types; only if the type was not known at load. */
  | "type"
  /** Out of the range of int, uint, timestamp or duration. */
  | "overflow"
  /** Division or remainder by zero. */
  | "division"
  /** An argument that the function refuses: a pattern, a time zone, a text that is no number. */
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
