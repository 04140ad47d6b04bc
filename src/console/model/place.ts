/** A place in the console, as `:` names it. */

/** Where the operator is: a view, and what it is about. */
export interface Place {
  readonly view: string;
  readonly subject?: string;
}
