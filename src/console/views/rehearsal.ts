/**
 * View of the requests of the last hour that a rehearsed change would have ended differently: examples with outcome and cause.
 * Enter opens the explanation of a request.
 */

import type { RehearsalResult } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { momentColumn, textColumn } from "../format/column-kinds.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { count, plural } from "../format/numbers.ts";
import { clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { BLANK, type Line, span, type Tone } from "../model/text.ts";
import type { Intent, View } from "../model/view.ts";

type Example = NonNullable<RehearsalResult["examples"]>[number];
type Outcome = Example["outcome"];
type Reads = Pick<Context, "rehearsed">;

const OUTCOMES: Readonly<Record<Outcome, { readonly word: string; readonly tone: Tone }>> = {
  refused: { word: "!REFUSED", tone: "fail" },
  served: { word: "served", tone: "plain" },
  other_provider: { word: "provider", tone: "warn" },
  other_guardrail: { word: "guardrail", tone: "warn" },
};

/** Sentence of each outcome, followed by its cause. */
const SENTENCES: Readonly<Record<Outcome, string>> = {
  refused: "would be refused by",
  served: "would be served, and were refused by",
  other_provider: "would go to",
  other_guardrail: "would trigger other guardrails:",
};

const examplesOf = ({ rehearsed }: Reads): readonly Example[] => rehearsed?.result.examples ?? [];
const idOf = ({ id, time, node }: Example): string => JSON.stringify([time, node, id]);
const named = (context: Reads, id: string): Example | undefined => examplesOf(context).find((it) => idOf(it) === id);

const COLUMNS: readonly Column<Example>[] = [
  momentColumn({ head: "TIME", letter: "t", width: 17, priority: 1 }, ({ time }) => time),
  textColumn(
    { head: "CALLER", letter: "c", width: { least: 10, flex: 2 }, priority: 1, cut: "middle" },
    (row) => row.caller,
  ),
  {
    ...textColumn<Example>({ head: "OUTCOME", letter: "o", width: 10, priority: 1 }, ({ outcome }) => outcome),
    cell: ({ outcome }) => span(OUTCOMES[outcome].word, OUTCOMES[outcome].tone),
  },
  textColumn({ head: "CAUSE", letter: "a", width: { least: 16, flex: 3 }, priority: 1 }, ({ cause }) => cause),
  textColumn({ head: "NODE", letter: "n", width: 8, priority: 3, cut: "middle" }, ({ node }) => node),
  textColumn(
    { head: "REQUEST", letter: "q", width: { least: 8, flex: 2 }, priority: 2, cut: "middle" },
    ({ id }) => id,
  ),
];

const table = (context: Context): Table =>
  tableOf<Example>(
    {
      columns: COLUMNS,
      idOf,
      nameOf: ({ id }) => id,
      haystack: ({ id, caller, outcome, cause, node }) => [id, caller, outcome, cause, node].join(" "),
      isBad: ({ outcome }) => outcome === "refused",
      jsonOf: (row) => row,
    },
    examplesOf(context),
  );

/** Maximum number of callers that are named per cause. */
const MAX_CALLERS = 4;

/** Returns one line per cause, the one with the most requests first, then the reasons why some outcomes are not known. */
function causeLines({ changes, reasons }: RehearsalResult): readonly Line[] {
  return [
    ...changes.map(({ outcome, cause, requests, callers }) =>
      labeledLine(
        count(requests),
        span(SENTENCES[outcome], outcome === "refused" ? "warn" : "plain"),
        shown(` ${cause}`),
        shown(`  ${callersText(callers)}`, "dim"),
      ),
    ),
    ...reasons.map(({ reason, requests }) => labeledLine(count(requests), span("not known: "), shown(reason))),
  ];
}

function callersText(callers: RehearsalResult["changes"][number]["callers"]): string {
  const named = callers.slice(0, MAX_CALLERS).map(({ caller, requests }) => `${caller} ${count(requests)}`);
  const more = callers.length - named.length;
  return more > 0 ? `${named.join(", ")}, ${plural(more, "caller")} more` : named.join(", ");
}

/** Maximum number of lines above the table: causes, the line before them, and the blank after them. */
const MAX_ABOVE = 7;

function above({ rehearsed }: Reads, rows: number): readonly Line[] {
  if (rehearsed === undefined) return [];
  const { title, result } = rehearsed;
  const lines = causeLines(result);
  const room = Math.max(1, Math.min(MAX_ABOVE, rows) - 3);
  const kept = lines.length > room ? lines.slice(0, room - 1) : lines;
  return [
    labeledLine("rehearsed", shown(title), span(`  ${plural(result.requests, "request")} of the last hour`, "dim")),
    ...kept,
    ...(lines.length > kept.length ? [labeledLine("", span(`and ${lines.length - kept.length} more`, "dim"))] : []),
    BLANK,
  ];
}

function pane(id: string, context: Context): readonly Line[] {
  const row = named(context, id);
  if (row === undefined) return [];
  const { outcome, cause, caller, time, node } = row;
  return [
    labeledLine(
      "would",
      span(OUTCOMES[outcome].word, OUTCOMES[outcome].tone),
      shown(`  ${SENTENCES[outcome]} ${cause}`),
    ),
    labeledLine("caller", shown(caller)),
    labeledLine("request", shown(row.id), shown(`  at ${clock(Date.parse(time), context.now)} on ${node}`, "dim")),
  ];
}

function empty({ rehearsed }: Context): { readonly sentence: string; readonly next: string } {
  if (rehearsed === undefined) {
    return {
      sentence: "No change was rehearsed yet.",
      next: "The dialog that writes a source, a pack or a threshold rehearses it; Enter there opens its requests here",
    };
  }
  return rehearsed.result.examples === null
    ? {
        sentence: "Your policy does not permit you to list requests.",
        next: "Ask an administrator to permit `list_requests`",
      }
    : { sentence: "No request would have another outcome.", next: "Esc goes back to the dialog" };
}

const explainIntent = (id: string): Intent => ({
  kind: "load",
  title: `explain ${escapeControls(id)}`,
  load: { kind: "explanation", id },
});

export const rehearsalView: View = {
  id: "rehearsal",
  aliases: ["rehearsed"],
  title: "Rehearsal",
  about: "requests of the last hour that would have another outcome after the change, and why",
  needs: () => [],
  body: {
    kind: "table",
    table,
    sort: { column: "time", isDescending: true },
    above: (context, { rows }) => above(context, rows),
    aboveRows: MAX_ABOVE,
    pane,
    empty,
    open: (id, context) => explainIntent(named(context, id)?.id ?? ""),
  },
  offers: [],
};
