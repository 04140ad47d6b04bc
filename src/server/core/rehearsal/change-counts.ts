/** Counts of what a proposed configuration would change, by cause and caller. */
import type { Judged, Outcome } from "./judge.ts";
import type { RecordedRequest } from "./recorded-request.ts";

/** Maximum number of example requests. */
const MAX_EXAMPLES = 50;
/** Maximum number of causes, of callers per cause and of reasons that are listed separately. */
const MAX_ROWS = 200;
const OTHERS = "others";

interface Change {
  readonly outcome: Exclude<Outcome["kind"], "same" | "unknown">;
  /** Name of what refuses or refused them, of the provider they would go to, or of the rules that would act. */
  readonly cause: string;
  readonly requests: number;
  /** Callers by number of requests, highest first. */
  readonly callers: readonly { readonly caller: string; readonly requests: number }[];
}

interface Example {
  readonly id: string;
  readonly node: string;
  readonly time: string;
  readonly caller: string;
  readonly outcome: Change["outcome"];
  readonly cause: string;
}

export interface Counted {
  readonly requests: number;
  readonly same: number;
  readonly refused: number;
  readonly served: number;
  readonly other_provider: number;
  readonly other_guardrail: number;
  readonly unknown: number;
  readonly changes: readonly Change[];
  readonly reasons: readonly { readonly reason: string; readonly requests: number }[];
  readonly examples: readonly Example[];
}

interface Row {
  readonly outcome: Change["outcome"];
  readonly cause: string;
  requests: number;
  readonly callers: Map<string, number>;
}

export class Tally {
  readonly #counts = { same: 0, refused: 0, served: 0, other_provider: 0, other_guardrail: 0, unknown: 0 };
  readonly #rows = new Map<string, Row>();
  readonly #reasons = new Map<string, number>();
  readonly #examples: Example[] = [];

  /** Counts a request. `caller` is the display name. */
  add(request: RecordedRequest, { outcome }: Judged, caller: string, node: string): void {
    this.#counts[outcome.kind] += 1;
    if (outcome.kind === "same") return;
    if (outcome.kind === "unknown") {
      addTo(this.#reasons, outcome.reason);
      return;
    }
    const cause = causeOf(outcome);
    const wanted = `${outcome.kind}\n${cause}`;
    const isFull = !this.#rows.has(wanted) && this.#rows.size >= MAX_ROWS;
    const key = isFull ? `${outcome.kind}\n${OTHERS}` : wanted;
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = { outcome: outcome.kind, cause: isFull ? OTHERS : cause, requests: 0, callers: new Map() };
      this.#rows.set(key, row);
    }
    row.requests += 1;
    addTo(row.callers, caller);
    this.#exemplify({
      id: request.id,
      node,
      time: new Date(request.at).toISOString(),
      caller,
      outcome: outcome.kind,
      cause,
    });
  }

  counted(): Counted {
    const requests = Object.values(this.#counts).reduce((sum, count) => sum + count, 0);
    const changes = [...this.#rows.values()]
      .sort((a, b) => b.requests - a.requests)
      .map(({ callers, ...row }) => ({
        ...row,
        callers: mostFirst(callers).map(([caller, count]) => ({ caller, requests: count })),
      }));
    const reasons = mostFirst(this.#reasons).map(([reason, count]) => ({ reason, requests: count }));
    return { requests, ...this.#counts, changes, reasons, examples: this.#examples };
  }

  /**
   * Adds an example, and removes the oldest of the most frequent cause when there are too many, so that every cause keeps its
   * newest.
   */
  #exemplify(example: Example): void {
    this.#examples.push(example);
    if (this.#examples.length <= MAX_EXAMPLES) return;
    const byCause = new Map<string, number>();
    for (const { outcome, cause } of this.#examples) addTo(byCause, `${outcome}\n${cause}`, Number.POSITIVE_INFINITY);
    const [most] = mostFirst(byCause);
    const at = this.#examples.findIndex(({ outcome, cause }) => `${outcome}\n${cause}` === most?.[0]);
    this.#examples.splice(at, 1);
  }
}

const causeOf = (outcome: Exclude<Outcome, { kind: "same" | "unknown" }>): string => {
  switch (outcome.kind) {
    case "refused":
      return outcome.by;
    case "served":
      return outcome.was;
    case "other_provider":
      return outcome.to;
    case "other_guardrail":
      return outcome.acted === "" ? "no rule acts" : outcome.acted;
    default:
      return outcome satisfies never;
  }
};

function addTo(counts: Map<string, number>, name: string, limit = MAX_ROWS): void {
  const key = counts.has(name) || counts.size < limit ? name : OTHERS;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

const mostFirst = (counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
  [...counts].sort((a, b) => b[1] - a[1]);
