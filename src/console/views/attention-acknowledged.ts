/**
 * Which rows of attention operators have acknowledged. An acknowledgement folds a row away until it ends or is lifted, and no
 * longer than the row stays as bad as it was: one that has become more severe, or tells of more things than it did (its
 * `degree`), is shown again.
 */

import type { AcknowledgementRecord } from "../../admin-api/index.ts";
import { standingAcknowledgements } from "../actions/acknowledgement.ts";
import { namesInWords } from "../format/names.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type AttentionItem, SEVERITIES } from "./attention-item.ts";

export interface Acknowledged {
  /** With words before what they say where they have got worse. */
  readonly shown: readonly AttentionItem[];
  readonly folded: readonly AttentionItem[];
}

export function withoutAcknowledged(items: readonly AttentionItem[], { data, now }: Context): Acknowledged {
  const standing = new Map(standingAcknowledgements(data, now).map((row) => [row.name, row]));
  const shown: AttentionItem[] = [];
  const folded: AttentionItem[] = [];
  for (const item of items) {
    const row = standing.get(item.id);
    if (row === undefined) shown.push(item);
    else if (isWorse(item, row))
      shown.push({ ...item, says: `worse than ${namesInWords([row.by])} acknowledged: ${item.says}` });
    else folded.push(item);
  }
  return { shown, folded };
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
