/** Columns of a sweep, whose rows are thresholds. */

import { countColumn } from "../format/column-kinds.ts";
import { count } from "../format/numbers.ts";
import type { SweepFigures, SweepStep } from "../model/sweep.ts";
import type { Column } from "../model/table.ts";
import { type Span, span } from "../model/text.ts";
import type { ChangedCases } from "./changed-cases.ts";
import { figureText, thresholdText } from "./sweeps-plot.ts";

export interface Row {
  readonly step: SweepStep;
  readonly figures: SweepFigures | null;
  readonly remark: Span;
  /** Number of wrong cases. */
  readonly wrong: number;
  /** Difference from the previous threshold. */
  readonly changedCount: Pick<ChangedCases, "right" | "wrong"> | undefined;
}

const figureColumn = (head: string, letter: string, of: keyof SweepFigures): Column<Row> => ({
  id: head.toLowerCase(),
  head,
  letter,
  width: 9,
  align: "right",
  priority: 1,
  cell: ({ figures }) => span(figureText(figures?.[of] ?? null)),
  sortKey: ({ figures }) => figures?.[of] ?? null,
});

export const COLUMNS: readonly Column<Row>[] = [
  {
    id: "threshold",
    head: "THRESHOLD",
    letter: "t",
    width: 9,
    align: "right",
    priority: 1,
    cell: ({ step }) => span(thresholdText(step.threshold)),
    sortKey: ({ step }) => step.threshold,
  },
  {
    id: "mark",
    head: "MARK",
    letter: "m",
    width: { least: 8, flex: 1 },
    align: "left",
    priority: 1,
    cell: ({ remark }) => remark,
    sortKey: ({ remark: cell }) => cell.text || null,
  },
  figureColumn("PRECISION", "p", "precision"),
  figureColumn("RECALL", "r", "recall"),
  figureColumn("F1", "f", "f1"),
  countColumn({ head: "TP", letter: "o", width: 8, priority: 3 }, ({ figures }) => figures?.tp ?? null),
  countColumn({ head: "FP", letter: "x", width: 8, priority: 2 }, ({ figures }) => figures?.fp ?? null),
  countColumn({ head: "FN", letter: "n", width: 8, priority: 2 }, ({ figures }) => figures?.fn ?? null),
  countColumn({ head: "WRONG", letter: "w", width: 8, priority: 2 }, ({ wrong }) => wrong),
  {
    id: "turn",
    head: "TURN",
    letter: "u",
    width: 11,
    align: "right",
    priority: 1,
    cell: ({ changedCount }) =>
      changedCount === undefined || changedCount.right + changedCount.wrong === 0
        ? span("-", "dim")
        : span(`+${count(changedCount.right)} -${count(changedCount.wrong)}`),
    sortKey: ({ changedCount }) => (changedCount === undefined ? null : changedCount.right + changedCount.wrong),
  },
];
