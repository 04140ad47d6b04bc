/**
 * Recurrence of acknowledged alerts: an alert that cleared and came back is a different one, so it is shown again although its
 * acknowledgement has not ended. An alert that was clear for less than `FLAPPING_LIMIT_MS` flaps and stays hidden.
 *
 * The console knows that an alert was clear only if it was watching, with the overview on the screen or recently left. For
 * suspensions and refused callers, the gateway reports the start time itself.
 */

import { activeAcknowledgements } from "../actions/acknowledgement-dialogs.ts";
import type { Context } from "../model/context.ts";
import { NO_RECURRENCES, type Recurrence, type Recurrences } from "../model/recurrence.ts";
import { attentionNeeds, attentionOf } from "./attention.ts";

const FLAPPING_LIMIT_MS = 10 * 60_000;

/** Maximum age of a reading that still describes the present, in milliseconds. */
const FRESH_MS = 30_000;

/** Returns the recurrences after an answer; `context` has the previous ones. */
export function recurrencesOf(context: Context): Recurrences {
  const { recurrences: before = NO_RECURRENCES, data, now } = context;
  const active = activeAcknowledgements(data, now);
  if (active.length === 0) return before.size === 0 ? before : NO_RECURRENCES;
  const isWatched = attentionNeeds().every((need) => {
    const reading = data.get(need);
    // A forbidden list never produces alerts, so it need not be read.
    if (reading?.failure?.code === "forbidden") return true;
    return reading?.value !== undefined && reading.failure === undefined && now - (reading.freshAt ?? 0) < FRESH_MS;
  });
  const present = new Set(attentionOf(context).map(({ id }) => id));
  const next = active.map(({ name, created_at }): readonly [string, Recurrence] => {
    const known = before.get(name);
    const was =
      known?.of === created_at ? known : { of: created_at, clearedSince: undefined, recurredAfterMs: undefined };
    if (!present.has(name)) {
      return [name, was.clearedSince !== undefined || !isWatched ? was : { ...was, clearedSince: now }];
    }
    if (was.clearedSince === undefined) return [name, was];
    const clearedMs = now - was.clearedSince;
    return [
      name,
      {
        ...was,
        clearedSince: undefined,
        recurredAfterMs: clearedMs < FLAPPING_LIMIT_MS ? was.recurredAfterMs : clearedMs,
      },
    ];
  });
  const isSame = next.length === before.size && next.every(([name, it]) => before.get(name) === it);
  return isSame ? before : new Map(next);
}
