/** Counts decisions by control, as evidence for auditors. */

interface ControlCounts {
  readonly counts: ReadonlyMap<string, number>;
  /** Counts one decision. */
  add(controls: readonly string[]): void;
  /** Returns the number of decisions with controls that are not in `counts`. */
  uncounted(): number;
}

/** Maximum number of controls; a deployment cites a few hundred. */
const MAX_CONTROLS = 10_000;

export function createControlCounts(): ControlCounts {
  const counts = new Map<string, number>();
  let uncounted = 0;
  return {
    counts,
    add(controls) {
      let isWhole = true;
      for (const control of new Set(controls)) {
        const count = counts.get(control);
        if (count === undefined && counts.size >= MAX_CONTROLS) isWhole = false;
        else counts.set(control, (count ?? 0) + 1);
      }
      if (!isWhole) uncounted += 1;
    },
    uncounted: () => uncounted,
  };
}
