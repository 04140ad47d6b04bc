/** Reads the usage that is metered per provider and UTC day, for comparison with the provider's report. */
import { dayText, type MeteredRow, meteredOf, readMetered } from "../core/state/index.ts";

/** Replicated state as far as this node has applied it. */
interface Rows {
  scan(prefix: string): Iterable<readonly [key: string, value: string]>;
}

/** Returns the rows of all providers of one day, ordered by name. `day`: days since 1970, UTC. */
const meteredOnDay = (rows: Rows, day: number): readonly MeteredRow[] =>
  Array.from(rows.scan(meteredOf(dayText(day))), ([, value]) => readMetered(value));

/**
 * Returns the rows of one provider from day `from` up to but excluding day `to`, in order. Days are counted from 1970. A day
 * without traffic has no row. A day is complete once every node has reported, within two minutes of its end. The report of a node
 * that was cut off is still added to its day for a week.
 */
export function meteredOfProvider(rows: Rows, provider: string, from: number, to: number): readonly MeteredRow[] {
  const found: MeteredRow[] = [];
  for (let day = from; day < to; day += 1) {
    found.push(...meteredOnDay(rows, day).filter((row) => row.provider === provider));
  }
  return found;
}
