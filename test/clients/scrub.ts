/** Removes from a recorded body what differs from run to run, and the prompts that a library adds itself. */

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** A gateway reads nothing beyond this length. */
const MAX_TEXT = 120;

export function scrubbed(value: unknown): unknown {
  if (typeof value === "string") return shortened(value);
  if (Array.isArray(value)) return value.map(scrubbed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, scrubbed(member)]));
}

function shortened(text: string): string {
  const steady = text.replaceAll(UUID, "00000000-0000-4000-8000-000000000000");
  // A text that is JSON, such as arguments, must stay valid.
  const isJson = /^[{[]/.test(steady);
  return isJson || steady.length <= MAX_TEXT ? steady : `${steady.slice(0, MAX_TEXT)}…`;
}
