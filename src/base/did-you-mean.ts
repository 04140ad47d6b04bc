/** Finds the name that was most likely meant, for messages about unknown names. */

/** Maximum length of a text that is compared; a longer one is not a typing error. */
const MAX_TYPO_LENGTH = 64;

/**
 * Returns the closest of `names` within an edit distance of a third of its length, at least one. Ignores case, and
 * treats `-` like `_`.
 */
export function closestName(text: string, names: Iterable<string>): string | undefined {
  if (text.length > MAX_TYPO_LENGTH) return undefined;
  const normalized = normalizeName(text);
  let best: string | undefined;
  let bestEdits = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const edits = editDistance(normalized, normalizeName(name));
    if (edits <= Math.max(1, Math.floor(name.length / 3)) && edits < bestEdits) [best, bestEdits] = [name, edits];
  }
  return best;
}

function normalizeName(text: string): string {
  return text.toLowerCase().replaceAll("-", "_");
}

/** Counts insertions, deletions, replacements and swaps of neighbors (optimal string alignment distance). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (last[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      let edits = Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, replaced);
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwap) edits = Math.min(edits, (beforeLast[column - 2] ?? 0) + 1);
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
