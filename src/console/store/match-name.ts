/**
 * Returns how well the typed text matches a name: 0 for the whole name, 1 for its start, 2 for a part of it, 3 for its letters
 * in order; `undefined` if none of these.
 */
export function matchOf(typed: string, names: readonly string[]): number | undefined {
  const wanted = typed.toLowerCase();
  if (wanted === "") return 1;
  let best: number | undefined;
  for (const name of names) {
    const match = matchOfOne(wanted, name.toLowerCase());
    if (match !== undefined && (best === undefined || match < best)) best = match;
  }
  return best;
}

function matchOfOne(wanted: string, name: string): number | undefined {
  if (name === wanted) return 0;
  if (name.startsWith(wanted)) return 1;
  if (name.includes(wanted)) return 2;
  let from = 0;
  for (const character of wanted) {
    const at = name.indexOf(character, from);
    if (at === -1) return undefined;
    from = at + character.length;
  }
  return 3;
}
