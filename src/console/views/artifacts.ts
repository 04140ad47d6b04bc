/** View of the model files on this node: present, downloading or unused, with size, digest and users. */

import type { ArtifactRecord } from "../../admin-api/index.ts";
import { textColumn } from "../format/column-kinds.ts";
import { describedAs, labeledLine, shown } from "../format/labeled-lines.ts";
import { count, percent, plural, short } from "../format/numbers.ts";
import { bar } from "../format/sparkline.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { BLANK, type Line, span, type Tone } from "../model/text.ts";
import type { Selection, View } from "../model/view.ts";
import { guardrailId } from "./guardrails-row.ts";

const STATES: Readonly<
  Record<ArtifactRecord["state"], { readonly mark: string; readonly tone: Tone; readonly rank: number }>
> = {
  failed: { mark: "!", tone: "fail", rank: 0 },
  fetching: { mark: "~", tone: "warn", rank: 1 },
  partial: { mark: "~", tone: "warn", rank: 2 },
  ready: { mark: " ", tone: "plain", rank: 3 },
  unused: { mark: " ", tone: "dim", rank: 4 },
};
const stateOf = (state: ArtifactRecord["state"]) => STATES[state] ?? { mark: "~", tone: "warn", rank: 2 };

const BAR_CELLS = 40;
/** Width of a digest in the table; the pane shows all of it. */
const DIGEST_CELLS = 19;

const idOf = ({ model, file, node }: ArtifactRecord): string => JSON.stringify([node, model, file]);
const bytes = (size: number | null): string => (size === null ? "-" : `${short(size)}B`);

const COLUMNS: readonly Column<ArtifactRecord>[] = [
  textColumn(
    { head: "MODEL", letter: "m", width: { least: 12, flex: 2 }, priority: 1, cut: "middle" },
    ({ model }) => model,
  ),
  textColumn(
    { head: "FILE", letter: "f", width: { least: 16, flex: 3 }, priority: 1, cut: "middle" },
    ({ file }) => file || null,
  ),
  textColumn({ head: "ROLE", letter: "r", width: 13, priority: 4 }, ({ role }) => role),
  {
    id: "state",
    head: "STATE",
    letter: "s",
    width: 10,
    align: "left",
    priority: 1,
    cell: ({ state }) => span(`${stateOf(state).mark}${state}`, stateOf(state).tone),
    sortKey: ({ state }) => stateOf(state).rank,
  },
  {
    id: "size",
    head: "SIZE",
    letter: "z",
    width: 7,
    align: "right",
    priority: 1,
    cell: ({ size }) => span(bytes(size), size === null ? "dim" : "plain"),
    sortKey: ({ size }) => size,
  },
  textColumn({ head: "DIGEST", letter: "d", width: DIGEST_CELLS, priority: 3 }, ({ digest }) => digest),
  textColumn({ head: "USED BY", letter: "u", width: { least: 10, flex: 2 }, priority: 2 }, ({ detectors }) =>
    detectors.length === 0 ? null : detectors.join(", "),
  ),
  textColumn({ head: "NODE", letter: "n", width: 8, priority: 5, cut: "middle" }, ({ node }) => node),
];

const rowById = (data: Data, id: string): ArtifactRecord | undefined =>
  rowsOf(data, "artifacts").find((row) => idOf(row) === id);

const table = ({ data }: Pick<Context, "data">): Table =>
  tableOf<ArtifactRecord>(
    {
      columns: COLUMNS,
      idOf,
      nameOf: ({ model, file }) => [model, file].filter((it) => it !== null && it !== "").join("/"),
      haystack: (it) =>
        [it.model, it.file, it.role, it.state, it.digest, it.source, it.message, ...it.detectors].join(" "),
      isBad: ({ state }) => state === "failed" || state === "fetching",
      jsonOf: (it) => it,
    },
    rowsOf(data, "artifacts"),
  );

const sizeOf = (rows: readonly ArtifactRecord[]): number => rows.reduce((sum, { size }) => sum + (size ?? 0), 0);

/** Returns the usage of the cache: one bar each for files in use, downloads and removable files. */
function above({ data, isAscii }: Context): readonly Line[] {
  const rows = rowsOf(data, "artifacts");
  if (rows.length === 0) return [];
  const of = (...states: readonly ArtifactRecord["state"][]) => rows.filter(({ state }) => states.includes(state));
  const whole = Math.max(1, sizeOf(rows));
  const sumLine = (label: string, part: readonly ArtifactRecord[], tone: Tone): Line =>
    labeledLine(
      label,
      span(bar(sizeOf(part) / whole, BAR_CELLS, isAscii), tone),
      span(`  ${bytes(sizeOf(part))} in ${plural(part.length, "file")}`),
    );
  const [coming, left] = [of("fetching", "failed"), of("unused", "partial")];
  return [
    sumLine("in use", of("ready"), "plain"),
    sumLine("not fetched", coming, coming.length === 0 ? "dim" : "warn"),
    sumLine("unused", left, "dim"),
    BLANK,
  ];
}

function pane(id: string, { data, isAscii }: Context): readonly Line[] {
  const row = rowById(data, id);
  if (row === undefined) return [];
  const { model, file, role, digest, size, state, fetched, message, source, detectors, node } = row;
  const others = rowsOf(data, "artifacts").filter((it) => it.model === model && it.node === node);
  const whole = sizeOf(others);
  return [
    labeledLine("file", shown(file || "not known yet"), shown(role === null ? "" : `  ${role}`, "dim")),
    labeledLine("digest", shown(digest ?? "not known")),
    labeledLine("size", span(size === null ? "not known" : `${count(size)} bytes`), shown(`  on ${node}`, "dim")),
    labeledLine(
      "state",
      span(state, stateOf(state).tone),
      ...(message === null ? [] : [shown(`: ${message}`, "fail")]),
    ),
    ...(fetched === null || model === null
      ? []
      : [
          labeledLine(
            "fetched",
            span(bar(whole === 0 ? 0 : fetched / whole, BAR_CELLS, isAscii)),
            span(
              `  ${bytes(fetched)} of ${whole === 0 ? "an unknown size" : `${bytes(whole)}, ${percent(fetched / whole, 0)} %`}`,
            ),
          ),
        ]),
    ...(source === null ? [] : [labeledLine("from", shown(source))]),
    labeledLine("used by", shown(detectors.length === 0 ? "no detector in force" : detectors.join(", "))),
    ...(state === "unused" || state === "partial"
      ? [
          labeledLine(
            "do",
            span(
              "`gateway models prune -config node.yaml` on that node lists what can go, `-confirm` removes it",
              "dim",
            ),
          ),
        ]
      : []),
    ...(state === "failed"
      ? [
          labeledLine(
            "do",
            span(
              "it is retried automatically; check that the node reaches the hub, and that `cache_dir` has room",
              "dim",
            ),
          ),
        ]
      : []),
  ];
}

const selectedRow = ({ ids: [id = ""] }: Selection, { data }: Pick<Context, "data">): ArtifactRecord | undefined =>
  rowById(data, id);

export const artifactsView: View = {
  id: "artifacts",
  aliases: ["cache"],
  title: "Artifacts",
  about: "model files on this node: digest, size, state, and the detectors that use them",
  needs: () => [{ id: "list_artifacts" }],
  body: {
    kind: "table",
    table,
    sort: { column: "state", isDescending: false },
    above,
    aboveRows: 4,
    pane,
    describe: (id, context) => describedAs(pane(id, context), rowById(context.data, id)),
    empty: () => ({
      sentence: "No detector needs a model, and the cache of this node is empty.",
      next: "Models are declared in the deployment document (`models:`); `gateway models pin` prints an entry",
    }),
    query: {
      table: "artifacts",
      columns: ["node", "model", "file", "state", "size", "digest", "detectors"],
      key: ["node", "model", "file"],
      order: "size DESC",
    },
  },
  offers: [
    {
      verb: "follow",
      label: "detector",
      needsRow: true,
      disabledReason: (of, context) =>
        selectedRow(of, context)?.detectors[0] === undefined ? "no detector uses it" : undefined,
      start(of, context) {
        const [detector = ""] = selectedRow(of, context)?.detectors ?? [];
        return { kind: "go", place: { view: "guardrails" }, row: guardrailId({ kind: "detector", name: detector }) };
      },
    },
  ],
};
