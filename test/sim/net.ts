/**
 * The network between nodes, which loses, duplicates and delays messages, and cuts links. Each direction of a link is
 * cut separately, so every kind of partition is a set of cut links.
 */

import type { Plan } from "./plan.ts";
import type { Random } from "./random.ts";

export interface SimNet {
  /** Delay in milliseconds of each delivery of a message sent now; empty when it is lost. */
  deliveries(from: string, to: string): readonly number[];
  isCut(from: string, to: string): boolean;
  cut(from: string, to: string): void;
  /** Restores one cut link. */
  mend(from: string, to: string): void;
  heal(): void;
  /** From now on no message is lost, duplicated or late. Cut links stay cut. */
  calm(): void;
}

/** Maximum delay in a calm network. */
const CALM_DELAY_MS = 8;
/** A delay of the second kind may span several terms, the first kind the next election. */
const STALE_AFTER_MS = [1_500, 20_000] as const;

export function createNet(plan: Plan["net"], random: Random): SimNet {
  const cuts = new Set<string>();
  let isCalm = false;
  const delay = (): number => {
    if (isCalm) return 1 + random.real() * (CALM_DELAY_MS - 1);
    const typical = plan.delayMs * (0.5 + random.real());
    return random.chance(plan.tailChance) ? typical + random.real() ** 3 * plan.tailMs : typical;
  };

  return {
    deliveries(from, to) {
      if (cuts.has(`${from}>${to}`)) return [];
      if (isCalm) return [delay()];
      if (random.chance(plan.loss)) return [];
      const delays = [delay()];
      if (random.chance(plan.duplication)) delays.push(delay());
      if (random.chance(plan.staleChance)) delays.push(delay() + random.real() * random.pick(STALE_AFTER_MS));
      return delays;
    },
    isCut: (from, to) => cuts.has(`${from}>${to}`),
    cut: (from, to) => cuts.add(`${from}>${to}`),
    mend: (from, to) => cuts.delete(`${from}>${to}`),
    heal: () => cuts.clear(),
    calm() {
      isCalm = true;
    },
  };
}
