/**
 * A trouble that went away and came back is another one, whatever was said of the first: its row is shown again, though its
 * acknowledgement has not ended. What was away for less than `CALM_MS` flaps, and stays folded.
 *
 * That a row was away is known to a console that has looked at it meanwhile, while the overview was on its screen or had
 * just been; of a suspension, and of a caller that is refused, the gateway itself tells when it began.
 */

import { standingAcknowledgements } from "../actions/acknowledgement.ts";
import type { Context } from "../model/context.ts";
import { NO_RECURRENCES, type Recurrence, type Recurrences } from "../model/recurrence.ts";
import { attentionNeeds, attentionOf } from "./attention.ts";

export const CALM_MS = 10 * 60_000;

/** An answer that is older says nothing of now. */
const FRESH_MS = 30_000;

/** The next, after an answer; `context` holds those before. */
export function recurrencesOf(context: Context): Recurrences {
  const { recurrences: before = NO_RECURRENCES, data, now } = context;
  const standing = standingAcknowledgements(data, now);
  if (standing.length === 0) return before.size === 0 ? before : NO_RECURRENCES;
  const isWatched = attentionNeeds().every((need) => {
    const reading = data.get(need);
    // What is not permitted makes no rows, before and after.
    if (reading?.failure?.code === "forbidden") return true;
    return reading?.value !== undefined && reading.failure === undefined && now - (reading.freshAt ?? 0) < FRESH_MS;
  });
  const present = new Set(attentionOf(context).map(({ id }) => id));
  const next = standing.map(({ name, created_at }): readonly [string, Recurrence] => {
    const known = before.get(name);
    const was = known?.of === created_at ? known : { of: created_at, awaySince: undefined, backAfterMs: undefined };
    if (!present.has(name)) {
      return [name, was.awaySince !== undefined || !isWatched ? was : { ...was, awaySince: now }];
    }
    if (was.awaySince === undefined) return [name, was];
    const awayMs = now - was.awaySince;
    return [name, { ...was, awaySince: undefined, backAfterMs: awayMs < CALM_MS ? was.backAfterMs : awayMs }];
  });
  const isSame = next.length === before.size && next.every(([name, it]) => before.get(name) === it);
  return isSame ? before : new Map(next);
}
