/** View of the active detectors and rules, in the order in which they act, with the counts of each. */

import type { GuardrailRecord } from "../../admin-api/index.ts";
import { countColumn, textColumn } from "../format/column-kinds.ts";
import { describedAs, labeledLine, shown } from "../format/labeled-lines.ts";
import { count, milliseconds, plural } from "../format/numbers.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { smallest, summed } from "../model/rows-query.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Line, span } from "../model/text.ts";
import type { Selection, View } from "../model/view.ts";
import { activityLines, GUARDRAIL_HISTORY, guardrailBands, healthLine } from "./guardrails-charts.ts";
import { causeOf, guardrailId } from "./guardrails-row.ts";
import { guardrailFilter } from "./keys-filters.ts";
import { requestsOffer } from "./requests.ts";

interface Row {
  readonly record: GuardrailRecord;
  /** Position in the document, from 1; detectors come first. */
  readonly order: number;
}

const rowById = (data: Data, id: string): GuardrailRecord | undefined =>
  rowsOf(data, "guardrails").find((record) => guardrailId(record) === id);

/** Returns `redact mask`, `pii confirm`. */
const typeText = ({ type, operator, role }: GuardrailRecord): string =>
  [type, ...(operator === null ? [] : [operator]), ...(role === "confirm" ? [role] : [])].join(" ");

const namesOr = (names: readonly string[] | null, otherwise: string): string =>
  names === null || names.length === 0 ? otherwise : names.join(", ");

/** Returns the kinds of text that a detector reads or a rule redacts; null for other rules. */
const kindsOf = ({ kind, type, kinds }: GuardrailRecord): string | null =>
  kind === "rule" && type !== "redact" ? null : namesOr(kinds, "all");

const hasFailed = ({ errors }: GuardrailRecord): boolean => errors > 0;

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "#",
    head: "#",
    letter: "o",
    width: 4,
    align: "right",
    priority: 4,
    cell: ({ order }) => span(String(order), "dim"),
    sortKey: ({ order }) => order,
  },
  textColumn({ head: "KIND", letter: "k", width: 8, priority: 1 }, ({ record }) => record.kind),
  textColumn(
    { head: "NAME", letter: "n", width: { least: 14, flex: 3 }, priority: 1, cut: "middle" },
    ({ record }) => record.name,
  ),
  textColumn({ head: "TYPE", letter: "t", width: { least: 10, flex: 1 }, priority: 1 }, ({ record }) =>
    typeText(record),
  ),
  {
    id: "mode",
    head: "MODE",
    letter: "m",
    width: 7,
    align: "left",
    priority: 2,
    // A rule in shadow mode has no effect, which must be noticeable.
    cell: ({ record: { mode } }) =>
      mode === null ? span("-", "dim") : mode === "shadow" ? span("~SHADOW", "off") : shown(` ${mode}`),
    sortKey: ({ record }) => record.mode,
  },
  textColumn({ head: "SCHEDULE", letter: "s", width: 8, priority: 4 }, ({ record }) => record.schedule),
  textColumn({ head: "TEXTS", letter: "x", width: { least: 8, flex: 2 }, priority: 5 }, ({ record }) =>
    kindsOf(record),
  ),
  textColumn({ head: "ON ERROR", letter: "f", width: 11, priority: 3 }, ({ record }) => record.on_error),
  countColumn({ head: "READ", letter: "r", width: 9, priority: 3 }, ({ record }) => record.texts_read),
  countColumn({ head: "ACTED", letter: "a", width: 9, priority: 1 }, ({ record }) => record.decisions),
  {
    ...countColumn<Row>({ head: "ERRORS", letter: "e", width: 8, priority: 1 }, ({ record }) => record.errors),
    // Failing open lets unchecked texts through; failing closed refuses them.
    cell: ({ record }) =>
      span(count(record.errors), !hasFailed(record) ? "dim" : record.on_error === "fail_closed" ? "fail" : "warn"),
  },
];

const table = ({ data }: Pick<Context, "data">): Table =>
  tableOf<Row>(
    {
      columns: COLUMNS,
      idOf: ({ record }) => guardrailId(record),
      nameOf: ({ record }) => record.name,
      haystack: ({ record }) =>
        [
          ...[record.kind, record.name, typeText(record), record.mode, record.schedule, record.on_error],
          ...[record.entities, record.recognizers, record.requires, record.controls, record.exempt].flatMap(
            (names) => names ?? [],
          ),
        ]
          .filter((text) => text !== null)
          .join(" "),
      isBad: ({ record }) => hasFailed(record),
      jsonOf: ({ record }) => record,
    },
    rowsOf(data, "guardrails").map((record, at) => ({ record, order: at + 1 })),
  );

function pane(id: string, context: Context): readonly Line[] {
  const record = rowById(context.data, id);
  if (record === undefined) return [];
  const { kind, on_error: onError, errors, exempt, node } = record;
  return [
    ...(kind === "rule" ? ruleLines(record) : detectorLines(record)),
    labeledLine(
      "counted",
      span(kind === "rule" ? `acted on ${plural(record.decisions ?? 0, "request")}; ` : readCountText(record)),
      span(plural(errors, "error"), errors === 0 ? "plain" : onError === "fail_closed" ? "fail" : "warn"),
      shown(`  on ${node}, since its process started`, "dim"),
    ),
    ...(kind === "detector" ? [healthLine(record)] : []),
    ...activityLines(record, context),
    ...(exempt.length === 0 ? [] : [labeledLine("not for", shown(`callers with ${exempt.join(", ")}`))]),
  ];
}

const readCountText = ({ texts_read: read, texts_remembered: remembered }: GuardrailRecord): string =>
  `${plural(read ?? 0, "text")} read, ${count(remembered ?? 0)} remembered; `;

function ruleLines(record: GuardrailRecord): readonly Line[] {
  return [
    labeledLine("rule", shown(typeText(record), "strong"), shown(`  ${record.on_error}`, "dim")),
    labeledLine("needs", shown(namesOr(record.requires, "all detectors"))),
    ...(record.type === "redact" ? [labeledLine("rewrites", shown(`texts of kind ${kindsOf(record)}`))] : []),
    ...(record.controls.length === 0 ? [] : [labeledLine("controls", shown(record.controls.join(", ")))]),
  ];
}

function detectorLines(record: GuardrailRecord): readonly Line[] {
  const { mode, schedule, timeout_ms: timeout, threshold, recognizers, entities } = record;
  const has = [
    ...(timeout === null ? [] : [`at most ${milliseconds(timeout)}`]),
    ...(threshold === null || threshold === 0 ? [] : [`threshold ${threshold}`]),
  ];
  return [
    labeledLine(
      "detector",
      shown(typeText(record), "strong"),
      mode === "shadow" ? span("  SHADOW: rules do not see what it finds", "off") : shown(`  ${mode}`),
      shown(`  ${[schedule, ...has, record.on_error].join(", ")}`, "dim"),
    ),
    labeledLine("reads", shown(`texts of kind ${namesOr(record.kinds, "none")}`)),
    labeledLine("finds", shown(namesOr(entities, "all types"))),
    ...(recognizers.length === 0 ? [] : [labeledLine("added", shown(recognizers.join(", ")))]),
  ];
}

const selectedRow = ({ ids: [id = ""] }: Selection, { data }: Pick<Context, "data">): GuardrailRecord | undefined =>
  rowById(data, id);

export const guardrailsView: View = {
  id: "guardrails",
  aliases: ["guards", "detectors", "rules"],
  title: "Guardrails",
  about: "detectors and rules in force, in evaluation order, with their counts on this node",
  needs: () => [{ id: "list_guardrails" }, GUARDRAIL_HISTORY],
  body: {
    kind: "table",
    table,
    sort: { column: "#", isDescending: false },
    above: guardrailBands,
    aboveRows: 7,
    pane,
    describe: (id, context) => describedAs(pane(id, context), rowById(context.data, id)),
    empty: () => ({
      sentence: "No guardrails are configured: no text is inspected.",
      next: "Detectors and rules are written in the deployment document (`guardrails:`); try them first with `gateway guardrails inspect -config FILE TEXT`",
    }),
    query: {
      table: "guardrails",
      columns: [
        "kind",
        "name",
        "type",
        smallest("mode"),
        smallest("schedule"),
        smallest("on_error"),
        summed("texts_read"),
        summed("decisions"),
        summed("errors"),
      ],
      key: ["kind", "name"],
      group: ["kind", "name", "type"],
    },
  },
  offers: [
    requestsOffer((id, { data }) => rowById(data, id)?.name),
    {
      verb: "follow",
      label: "refusals",
      needsRow: true,
      disabledReason: (of, context) => (selectedRow(of, context) === undefined ? "it no longer exists" : undefined),
      start(of, context) {
        const record = selectedRow(of, context);
        return record === undefined
          ? { kind: "flash", message: "it no longer exists", tone: "warn" }
          : { kind: "go", place: { view: "refusals" }, filter: guardrailFilter(causeOf(record)) };
      },
    },
  ],
};
