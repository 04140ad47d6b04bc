/**
 * Which rows of attention operators have acknowledged. An acknowledgement folds a row away until it ends or is lifted, and no
 * longer than the row stays as bad as it was: one that has become more severe, or tells of more things than it did (its
 * `degree`), is shown again, and so is one that was gone and came back (attention-recurrence.ts).
 */

import type { AcknowledgementRecord } from "../../admin-api/index.ts";
import { standingAcknowledgements } from "../actions/acknowledgement.ts";
import { namesInWords } from "../format/names.ts";
import { span } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type AttentionItem, SEVERITIES } from "./attention-item.ts";

export interface Acknowledged {
  /** With words before what they say where they have got worse. */
  readonly shown: readonly AttentionItem[];
  readonly folded: readonly AttentionItem[];
}

export function withoutAcknowledged(items: readonly AttentionItem[], context: Context): Acknowledged {
  const standing = new Map(standingAcknowledgements(context.data, context.now).map((row) => [row.name, row]));
  const shown: AttentionItem[] = [];
  const folded: AttentionItem[] = [];
  for (const item of items) {
    const row = standing.get(item.id);
    const why = row === undefined ? "" : whyShown(item, row, context);
    if (row === undefined) shown.push(item);
    else if (why !== undefined) shown.push({ ...item, says: `${why}: ${item.says}` });
    else folded.push(item);
  }
  return { shown, folded };
}

/** Why it is shown though it is acknowledged, in words before what it says. */
function whyShown(item: AttentionItem, row: AcknowledgementRecord, context: Context): string | undefined {
  const by = namesInWords([row.by]);
  if (isWorse(item, row)) return `worse than ${by} acknowledged`;
  const away = awayMs(row, context);
  if (away !== undefined) return `back after ${span(away)} since ${by} acknowledged`;
  return isAnother(item, row) ? `anew since ${by} acknowledged` : undefined;
}

/** It went away, for longer than what flaps, and came back. */
export const isBack = (item: AttentionItem, row: AcknowledgementRecord, context: Context): boolean =>
  awayMs(row, context) !== undefined || isAnother(item, row);

const isAnother = ({ since }: AttentionItem, { created_at: at }: AcknowledgementRecord): boolean =>
  since !== undefined && since > Date.parse(at);

function awayMs({ name, created_at: at }: AcknowledgementRecord, { recurrences }: Context): number | undefined {
  const seen = recurrences?.get(name);
  return seen?.of === at ? seen.backAfterMs : undefined;
}

/** What was not said of how bad it was is no measure. */
export function isWorse(
  { severity, degree }: Pick<AttentionItem, "severity" | "degree">,
  was: Pick<AcknowledgementRecord, "severity" | "degree">,
): boolean {
  if (was.severity !== null && SEVERITIES[severity].rank < SEVERITIES[was.severity].rank) return true;
  return was.degree !== null && (degree ?? 1) > was.degree;
}

/** Of those that are known, how many have ended: rows come back as it grows. */
export const endedAcknowledgements = ({ data, now }: Context): number =>
  rowsOf(data, "acknowledgements").length - standingAcknowledgements(data, now).length;
