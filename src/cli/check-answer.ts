/** One line of `gateway check`. */

export interface Answer {
  readonly verdict: "ok" | "fail" | "note";
  readonly subject: string;
  readonly words: string;
}
