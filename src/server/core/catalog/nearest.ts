/** The name that was most likely meant, for the message about one that does not exist. */

/** Beyond this a text is no typing error, and comparing it would only cost time. */
const LONGEST_TYPO = 64;

/** The nearest of `names` within a third of its length in edits, one at least. */
export function nearest(text: string, names: Iterable<string>): string | undefined {
  if (text.length > LONGEST_TYPO) return undefined;
  let best: string | undefined;
  let bestEdits = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const edits = editDistance(text.toLowerCase(), name);
    if (edits <= Math.max(1, Math.floor(name.length / 3)) && edits < bestEdits) [best, bestEdits] = [name, edits];
  }
  return best;
}

/** Insertions, deletions and replacements (Levenshtein). */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    above = current;
  }
  return above[b.length] ?? 0;
}
