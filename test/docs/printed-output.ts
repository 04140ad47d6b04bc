/** Compares the output that a page shows with what a command printed. */

/** Values that differ from run to run, each with its replacement. Both sides are rewritten. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  // Columns are as wide as their widest value.
  [/ {2,}/g, "  "],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME"],
  [/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID"],
  [/gwk_\S+/g, "KEY"],
  [/chatcmpl-sim\d+/g, "CHATCMPL"],
  [/gateway-dev-\w{6}/g, "gateway-dev"],
  [/(?<=simulator {2}http:\/\/127\.0\.0\.1:)\d+/g, "PORT"],
  [/(?<=in |^Times +)\d+ ms/gm, "N ms"],
  [/raft index \d+/g, "raft index N"],
  // Ids of keys and audit chains.
  [/(?<=^id: +)\S+/gm, "KEY-ID"],
  [/(?<=^(?:unrecognised|staff) +)\w{8}(?= )/gm, "KEY-ID"],
  [/(?<=^ok {2}\w+ )[\w-]{43} 0\.\.\d+, \d+ records/gm, "CHAIN"],
  [/(?<=^\d+ chains?, )\d+ records/gm, "N records"],
  // Members: applied, lag and clock; the roles are the election's.
  [/^(n\d|dev) +(?:leader|follower) +(\w+) +([\d.]+)(?: +-?\d+){1,3}$/gm, "$1 ROLE $2 $3 N"],
  [/leader n\d\b/g, "leader nN"],
  [/silent(?: since before n\w led| [\d.]+s)/g, "silent"],
  [/; n\d does not know for how long: only (?:a leader|the leader n\w) measures it/g, ""],
  // A rate depends on what was asked in the same minute.
  [/[\d.]+ % of attempts fail( \([^)]*\))?, [\d.]+\/s/g, "N % of attempts fail$1"],
  // Requests: their duration.
  [/^(TIME {2}ID {2}.*? {2}\d{3}(?: {2}[a-z_]+)?) {2}\d+/gm, "$1  MS"],
];

const normal = (text: string): readonly string[] =>
  VARYING.reduce((it, [pattern, by]) => it.replace(pattern, by), text)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/**
 * Returns the first line of `shown` that `printed` lacks; `undefined` if all are there, in one piece. A line `…` stands for any
 * lines, and `…` within a line for any text.
 */
export function faultOf(shown: string, printed: string): string | undefined {
  const lines = normal(printed);
  const wanted = normal(shown);
  const tries = lines.map((_, from) => matchFrom(wanted, lines, from));
  const best = tries.reduce(
    (most, it) => (it.matched > most.matched ? it : most),
    tries[0] ?? { matched: 0, missing: wanted[0] },
  );
  return best.missing === undefined ? undefined : `not printed, or not here: ${best.missing}`;
}

interface Match {
  /** Number of lines of the page that were found. */
  readonly matched: number;
  /** First line that was not. */
  readonly missing: string | undefined;
}

function matchFrom(shown: readonly string[], lines: readonly string[], from: number): Match {
  let at = from;
  let isFree = false;
  for (const [matched, line] of shown.entries()) {
    if (line === "…") {
      isFree = true;
      continue;
    }
    const pattern = new RegExp(`^${line.split(/ *… */).map(escaped).join(".*")}$`);
    if (isFree) while (at < lines.length && !pattern.test(lines[at] ?? "")) at += 1;
    if (!pattern.test(lines[at] ?? "")) return { matched, missing: line };
    isFree = false;
    at += 1;
  }
  return { matched: shown.length, missing: undefined };
}
