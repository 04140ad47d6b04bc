/** Usage metered per provider and UTC day, for comparison with the provider's report. */
import { dayText, type MeteredRow, meteredOf, readMetered } from "../core/state/index.ts";

/** The replicated state as this node has applied it. */
interface Rows {
  scan(prefix: string): Iterable<readonly [key: string, value: string]>;
}

/** Returns all providers of one day, ordered by name. `day`: days since 1970, UTC. */
export const meteredOnDay = (rows: Rows, day: number): readonly MeteredRow[] =>
  Array.from(rows.scan(meteredOf(dayText(day))), ([, value]) => readMetered(value));

/**
 * Of one provider, from the day `from` on and before the day `to`, both counted from 1970; in the order of the days, and a
 * day without traffic has none. A day is whole once every node has reported, which is within two minutes of its end unless a
 * node is cut off: what it reports later goes to the day that it says, for a week.
 */
export function meteredOfProvider(rows: Rows, provider: string, from: number, to: number): readonly MeteredRow[] {
  const found: MeteredRow[] = [];
  for (let day = from; day < to; day += 1) {
    found.push(...meteredOnDay(rows, day).filter((row) => row.provider === provider));
  }
  return found;
}
