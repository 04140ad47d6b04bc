/**
 * Charts of the guardrails over the last quarter of an hour, for all nodes: actions of each rule, findings of each detector,
 * shadow ones included, and the held-back text of streamed answers.
 */

import type { GuardrailRecord, HistoryRecord } from "../../admin-api/index.ts";
import { cutMiddle, padTo } from "../format/cut-text.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { count, percent, plural, short } from "../format/numbers.ts";
import { sparkline } from "../format/sparkline.ts";
import type { Context } from "../model/context.ts";
import { type Data, type Need, rowsOf } from "../model/data.ts";
import { createMemo } from "../model/remember.ts";
import { BLANK, type Line, span } from "../model/text.ts";
import { type BandSize, band, bucketAt, newestBucket, total, zeros } from "./ten-second-buckets.ts";

export const GUARDRAIL_HISTORY: Need<"list_history"> = { id: "list_history", name: "guardrails" };

/** Name of the history row for held-back text. */
const STREAMS = "streams";
/** Number of bars in a pane. */
const PANE_BUCKETS = 60;

interface GuardrailActivity {
  /** Counts by rule, and by detector. */
  readonly decisionCounts: ReadonlyMap<string, readonly number[]>;
  readonly findingCounts: ReadonlyMap<string, readonly number[]>;
  /** Counts by detector, then by type. */
  readonly typeCounts: ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>;
  /** Bytes; null if no answer was streamed. */
  readonly heldBytes: readonly (number | null)[];
}

const MEMO = createMemo<GuardrailActivity>();
const NONE: readonly HistoryRecord[] = [];

function activityOf({ data, now }: Pick<Context, "data" | "now">): GuardrailActivity {
  const rows = data.get(GUARDRAIL_HISTORY)?.value ?? NONE;
  const newest = newestBucket(now);
  return MEMO([rows, newest], () => {
    const decisionCounts = new Map<string, number[]>();
    const findingCounts = new Map<string, number[]>();
    const typeCounts = new Map<string, Map<string, number[]>>();
    const heldBytes: (number | null)[] = zeros().map(() => null);
    const add = (sums: Map<string, number[]>, name: string, at: number, more: number): void => {
      const values = sums.get(name) ?? zeros();
      sums.set(name, values);
      values[at] = (values[at] ?? 0) + more;
    };
    for (const { name, time, decisions, findings, types: byType, held_bytes: bytes } of rows) {
      const at = bucketAt(Date.parse(time), newest);
      if (!(at >= 0)) continue;
      if (decisions !== null) add(decisionCounts, name, at, decisions);
      if (findings !== null) add(findingCounts, name, at, findings);
      // An older node does not report types.
      for (const { type, findings: more } of byType ?? []) {
        const sums = typeCounts.get(name) ?? new Map<string, number[]>();
        typeCounts.set(name, sums);
        add(sums, type, at, more);
      }
      if (bytes !== null && name === STREAMS) heldBytes[at] = Math.max(heldBytes[at] ?? 0, bytes);
    }
    return { decisionCounts, findingCounts, typeCounts, heldBytes };
  });
}

/** Sorts by total, largest first. */
const byTotal = (sums: ReadonlyMap<string, readonly number[]>): readonly (readonly [string, readonly number[]])[] =>
  [...sums].sort(([a, x], [b, y]) => total(y) - total(x) || (a < b ? -1 : 1));

/**
 * Adds active rules or detectors without counts, because a shadow detector that finds nothing while others do is worth seeing.
 */
function withAll(
  sums: ReadonlyMap<string, readonly number[]>,
  kind: GuardrailRecord["kind"],
  data: Data,
): ReadonlyMap<string, readonly number[]> {
  const idle = rowsOf(data, "guardrails").flatMap((it) => (it.kind === kind ? [[it.name, zeros()] as const] : []));
  return new Map([...idle, ...sums]);
}

const isShadow = (data: Data, detector: string): boolean =>
  rowsOf(data, "guardrails").some(
    ({ kind, name, mode }) => kind === "detector" && name === detector && mode === "shadow",
  );

/** Returns at most `rows` lines: rules, then detectors, each by total, then held-back text. */
export function guardrailBands(
  context: Context,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): readonly Line[] {
  const { data, isAscii } = context;
  const { decisionCounts, findingCounts, heldBytes } = activityOf(context);
  const size: BandSize = { columns, isAscii };
  const most = heldBytes.reduce<number | null>((max, it) => (it === null ? max : Math.max(max ?? 0, it)), null);
  const heldLines =
    most === null ? [] : [band("held back", heldBytes, `${short(most)}B`, size, "dim", (it) => `${short(it)}B`)];
  // One line is the blank separator before the table.
  const room = rows - 1 - heldLines.length;
  const rules = byTotal(withAll(decisionCounts, "rule", data));
  const detectors = byTotal(withAll(findingCounts, "detector", data));
  const ofRules = Math.min(rules.length, Math.max(Math.ceil(room / 2), room - detectors.length));
  const lines = [
    ...rules
      .slice(0, ofRules)
      .map(([name, values]) =>
        band(`acted ${name}`, values, count(total(values)), size, total(values) > 0 ? "strong" : "dim"),
      ),
    ...detectors
      .slice(0, Math.max(0, room - ofRules))
      .map(([name, values]) =>
        isShadow(data, name)
          ? band(`~found ${name}`, values, count(total(values)), size, "off")
          : band(`found ${name}`, values, count(total(values)), size),
      ),
    ...heldLines,
  ];
  return lines.length === 0 ? [] : [...lines, BLANK];
}

/** Returns the lines of the pane, which are also those for a screen reader. */
export function activityLines({ kind, name, mode, type }: GuardrailRecord, context: Context): readonly Line[] {
  const { decisionCounts, findingCounts, typeCounts, heldBytes } = activityOf(context);
  const values = (kind === "rule" ? decisionCounts : findingCounts).get(name) ?? zeros();
  const inline = rowsOf(context.data, "guardrails").filter(
    (it) => it.kind === "detector" && it.mode === "inline" && it.type === type,
  );
  const others = inline.reduce((all, it) => all + total(findingCounts.get(it.name) ?? []), 0);
  const most = heldBytes.reduce<number | null>((max, it) => (it === null ? max : Math.max(max ?? 0, it)), null);
  return [
    labeledLine(
      "last 15m",
      ...chartSpans(kind === "rule" ? "acted, all nodes" : "findings, all nodes", values, context.isAscii),
    ),
    ...(kind === "detector" ? typeLines(typeCounts.get(name) ?? new Map(), context.isAscii) : []),
    ...(kind === "detector" && mode === "shadow" && inline.length > 0
      ? [
          labeledLine(
            "compare",
            shown(
              `${inline.map((it) => it.name).join(", ")}, inline and of this type, ${others === 1 ? "has" : "have"} ${plural(others, "finding")} in the same time`,
            ),
          ),
        ]
      : []),
    ...(kind === "rule" && most !== null
      ? [
          labeledLine(
            "held back",
            span(`at most ${count(Math.round(most))} bytes of a streamed answer at once, mean over ten seconds`, "dim"),
          ),
        ]
      : []),
  ];
}

/** Maximum number of types with their own line in a pane; the others are summed in one line. */
const MAX_TYPES = 5;
const TYPE_CELLS = 24;

function typeLines(typeCounts: ReadonlyMap<string, readonly number[]>, isAscii: boolean): readonly Line[] {
  const all = byTotal(typeCounts);
  const left = all.slice(MAX_TYPES);
  const series =
    left.length === 0 ? all : [...all.slice(0, MAX_TYPES), [plural(left.length, "other type"), summed(left)] as const];
  return series.map(([type, values], at) =>
    labeledLine(at === 0 ? "by type" : "", ...chartSpans(type, values, isAscii)),
  );
}

/** Returns name, sum and bars; the bars begin in the same column in every line. */
function chartSpans(name: string, values: readonly number[], isAscii: boolean): Line {
  const most = Math.max(0, ...values.slice(-PANE_BUCKETS));
  return [
    shown(padTo(cutMiddle(shown(name).text, TYPE_CELLS), TYPE_CELLS)),
    span(padTo(count(total(values)), 8, "right")),
    span(`  ${most === 0 ? "" : sparkline(values.slice(-PANE_BUCKETS), isAscii)}`),
    ...(most === 0 ? [] : [span(`  max ${short(most)}`, "dim")]),
  ];
}

const summed = (all: readonly (readonly [string, readonly number[]])[]): readonly number[] =>
  zeros().map((_, at) => all.reduce((sum, [, values]) => sum + (values[at] ?? 0), 0));

/** Describes errors of a detector and the use of its cache. */
export function healthLine({
  errors,
  texts_read: read,
  texts_remembered: remembered,
  on_error: onError,
}: GuardrailRecord): Line {
  const [texts, known] = [read ?? 0, remembered ?? 0];
  const asked = texts + known;
  const failing =
    errors === 0
      ? "no failure"
      : `${plural(errors, "failure")} of ${plural(texts, "text")}${texts === 0 ? "" : `, ${percent(Math.min(1, errors / texts))} %`}`;
  return labeledLine(
    "health",
    span(failing, errors === 0 ? "plain" : onError === "fail_closed" ? "fail" : "warn"),
    span(
      errors === 0 ? "" : onError === "fail_closed" ? ": such requests are refused" : ": such texts pass uninspected",
      "dim",
    ),
    span(asked === 0 ? "; no text yet" : `; cache answered ${percent(known / asked, 0)} % of ${plural(asked, "text")}`),
  );
}
