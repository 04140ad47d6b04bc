/**
 * Parses the meaning of each label from `prompt`: lines that begin with `LABEL:` or `- LABEL:`, and the lines after
 * them.
 */

/** Returns the meaning of each label. If no line begins with a label, the whole prompt is the meaning of the last label. */
export function meaningsOf(labels: readonly string[], prompt: string): ReadonlyMap<string, string> {
  const meanings = new Map<string, string[]>();
  let own: string[] | undefined;
  for (const line of prompt.split(/\r?\n/)) {
    const begun = labels.find((label) => line.replace(/^\s*(?:[-*]\s+)?/, "").startsWith(`${label}:`));
    if (begun !== undefined) {
      own = [line.slice(line.indexOf(`${begun}:`) + begun.length + 1).trim()];
      meanings.set(begun, own);
    } else if (line.trim() === "") own = undefined;
    else own?.push(line.trim());
  }
  const last = labels.at(-1);
  if (meanings.size === 0 && last !== undefined) return new Map([[last, prompt.trim()]]);
  return new Map([...meanings].map(([label, lines]) => [label, lines.join(" ").trim()]));
}
