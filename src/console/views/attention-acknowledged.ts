/**
 * Acknowledged alerts. An acknowledgement hides an alert until it ends or is lifted, but only while the alert does not get
 * worse: it is shown again if it becomes more severe, concerns more things than before (its `degree`), or cleared and came back
 * (attention-recurrence.ts).
 */

import type { AcknowledgementRecord } from "../../admin-api/index.ts";
import { activeAcknowledgements } from "../actions/acknowledgement-dialogs.ts";
import { namesText } from "../format/name-list.ts";
import { humanDuration } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type AttentionItem, SEVERITIES } from "./attention-item.ts";

interface AlertPartition {
  /** Alerts to show. For those that got worse, `text` begins with the reason. */
  readonly shown: readonly AttentionItem[];
  readonly folded: readonly AttentionItem[];
}

export function withoutAcknowledged(items: readonly AttentionItem[], context: Context): AlertPartition {
  const active = new Map(activeAcknowledgements(context.data, context.now).map((row) => [row.name, row]));
  const shown: AttentionItem[] = [];
  const folded: AttentionItem[] = [];
  for (const item of items) {
    const row = active.get(item.id);
    const reason = row === undefined ? "" : whyShown(item, row, context);
    if (row === undefined) shown.push(item);
    else if (reason !== undefined) shown.push({ ...item, text: `${reason}: ${item.text}` });
    else folded.push(item);
  }
  return { shown, folded };
}

/** Returns the reason why an acknowledged alert is shown; `undefined` if it stays hidden. */
function whyShown(item: AttentionItem, row: AcknowledgementRecord, context: Context): string | undefined {
  const by = namesText([row.by]);
  if (isWorse(item, row)) return `worse than when ${by} acknowledged it`;
  const away = clearedMs(row, context);
  if (away !== undefined) return `back after ${humanDuration(away)} since ${by} acknowledged it`;
  return isNewSince(item, row) ? `new since ${by} acknowledged it` : undefined;
}

/** Returns whether the alert cleared for longer than a flapping alert does, and came back. */
export const hasRecurred = (item: AttentionItem, row: AcknowledgementRecord, context: Context): boolean =>
  clearedMs(row, context) !== undefined || isNewSince(item, row);

const isNewSince = ({ since }: AttentionItem, { created_at: at }: AcknowledgementRecord): boolean =>
  since !== undefined && since > Date.parse(at);

function clearedMs({ name, created_at: at }: AcknowledgementRecord, { recurrences }: Context): number | undefined {
  const seen = recurrences?.get(name);
  return seen?.of === at ? seen.recurredAfterMs : undefined;
}

/** Returns whether an alert got worse. A severity or degree that the acknowledgement lacks is not compared. */
export function isWorse(
  { severity, degree }: Pick<AttentionItem, "severity" | "degree">,
  was: Pick<AcknowledgementRecord, "severity" | "degree">,
): boolean {
  if (was.severity !== null && SEVERITIES[severity].rank < SEVERITIES[was.severity].rank) return true;
  return was.degree !== null && (degree ?? 1) > was.degree;
}

/** Returns how many of the known acknowledgements have ended; alerts return as it grows. */
export const endedAcknowledgements = ({ data, now }: Context): number =>
  rowsOf(data, "acknowledgements").length - activeAcknowledgements(data, now).length;
