/** Compares the findings in translations of one text. Pure. Source: guardrails reference, 7. */

/** Findings of one text: labels with their counts. */
export type TypeCounts = ReadonlyMap<string, number>;

export interface Agreement {
  /** Number of rows that have both the language and the reference. */
  rows: number;
  /** Number of rows with the same findings in both. */
  agreed: number;
  /** Number of agreeing rows without findings. */
  emptyAgreed: number;
  /** Number of findings of the reference that the language lacks, and the reverse. */
  lost: number;
  gained: number;
}

/**
 * Adds one row to the agreement of each language. Returns false, and ignores the row, if it has no text of the
 * reference.
 */
export function compareRow(
  byLanguage: Map<string, Agreement>,
  row: ReadonlyMap<string, TypeCounts>,
  reference: string,
): boolean {
  const referenceCounts = row.get(reference);
  if (referenceCounts === undefined) return false;
  for (const [language, counts] of row) {
    if (language === reference) continue;
    const sums = byLanguage.get(language) ?? { rows: 0, agreed: 0, emptyAgreed: 0, lost: 0, gained: 0 };
    byLanguage.set(language, sums);
    const lost = countMissing(counts, referenceCounts);
    const gained = countMissing(referenceCounts, counts);
    sums.rows += 1;
    sums.lost += lost;
    sums.gained += gained;
    if (lost + gained > 0) continue;
    sums.agreed += 1;
    if (referenceCounts.size === 0) sums.emptyAgreed += 1;
  }
  return true;
}

/** Returns how many findings of `whole` are not in `part`. */
function countMissing(part: TypeCounts, whole: TypeCounts): number {
  return [...whole].reduce((sum, [label, times]) => sum + Math.max(0, times - (part.get(label) ?? 0)), 0);
}
