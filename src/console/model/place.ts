/** Location in the console: a view and its subject, as `:` names it. */
export interface Place {
  readonly view: string;
  readonly subject?: string;
}
