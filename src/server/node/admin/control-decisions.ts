/** Counts the decisions of each control in the last 24 hours, as they are recorded. */

export interface ControlDecisions {
  /** Number of decisions counted so far. */
  readonly counted: number;
  /** Counts one decision at `atMs`, in milliseconds since 1970. */
  add(controls: readonly string[], atMs: number): void;
  /** Returns the decisions per control in the 24 hours before `nowMs`, to the hour. */
  since(nowMs: number): ReadonlyMap<string, number>;
}

/** Returns whether an audit event is a decision. Events of shadow detectors, for example, are not. */
export const isDecision = (event: string): boolean => event === "access.decision" || event === "guardrail.decision";

const HOUR_MS = 3_600_000;
const HOURS = 24;
/** Maximum number of controls per hour; frequently replaced documents keep bringing new ones. */
const MAX_CONTROLS = 10_000;

export function createControlDecisions(): ControlDecisions {
  const hours = new Map<number, Map<string, number>>();
  let counted = 0;
  const drop = (now: number): void => {
    for (const hour of hours.keys()) if (hour <= now - HOURS) hours.delete(hour);
  };
  return {
    get counted() {
      return counted;
    },
    add(controls, atMs) {
      if (controls.length === 0) return;
      const hour = Math.floor(atMs / HOUR_MS);
      let counts = hours.get(hour);
      if (counts === undefined) {
        drop(hour);
        counts = new Map();
        hours.set(hour, counts);
      }
      counted += 1;
      for (const control of controls) {
        const count = counts.get(control);
        if (count !== undefined || counts.size < MAX_CONTROLS) counts.set(control, (count ?? 0) + 1);
      }
    },
    since(nowMs) {
      drop(Math.floor(nowMs / HOUR_MS));
      const sums = new Map<string, number>();
      for (const counts of hours.values()) {
        for (const [control, count] of counts) sums.set(control, (sums.get(control) ?? 0) + count);
      }
      return sums;
    },
  };
}
