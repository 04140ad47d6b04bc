/** The first value of a header in pairs; `name` in lower case. */
export function headerIn(pairs: readonly string[], name: string): string | undefined {
  for (let at = 0; at < pairs.length; at += 2) {
    const candidate = pairs[at] as string;
    if (candidate.length === name.length && candidate.toLowerCase() === name) return pairs[at + 1];
  }
  return undefined;
}
