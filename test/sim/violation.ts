/** A violated invariant of the cluster. */

export class Violation extends Error {
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(message);
    this.name = "Violation";
    this.invariant = invariant;
  }
}

export function must(holds: boolean, invariant: string, message: () => string): asserts holds {
  if (!holds) throw new Violation(invariant, message());
}
