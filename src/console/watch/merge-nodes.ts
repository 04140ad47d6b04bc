/**
 * Merging of rows that every node measures for itself into one row for the cluster: counts are summed, the state is the worst.
 * The first row of each, from the connected node, provides the values that are the same everywhere. Lists with independent
 * rows, such as requests or providers, stay as they are.
 */

import type { BudgetRecord, ControlRecord, GuardrailRecord, TableName } from "../../admin-api/index.ts";
import type { Row } from "./read-rules.ts";

type Fold = (rows: readonly Row[]) => readonly Row[];

const FOLDS: ReadonlyMap<TableName, Fold> = new Map<TableName, Fold>([
  ["budgets", folding<BudgetRecord>(({ budget, bucket }) => [budget, bucket], budgetOf)],
  ["guardrails", folding<GuardrailRecord>(({ kind, name }) => [kind, name], guardrailOf)],
  ["controls", folding<ControlRecord>(({ control }) => [control], controlOf)],
]);

/** Returns one row per object for the cluster. Rows of lists that are not merged stay as they are. */
export function foldedNodes(table: TableName, rows: readonly Row[]): readonly Row[] {
  return FOLDS.get(table)?.(rows) ?? rows;
}

/**
 * Returns a function that merges rows of the same identity. `T` is checked after merging; a row that does not match stays
 * unchanged.
 */
function folding<T extends { readonly node: string }>(
  identityOf: (row: T) => readonly unknown[],
  fold: (parts: readonly [T, ...T[]]) => T,
): Fold {
  return (rows) => {
    const groups = new Map<string, [T, ...T[]]>();
    for (const row of rows as unknown as readonly T[]) {
      const identity = JSON.stringify(identityOf(row));
      const group = groups.get(identity);
      if (group === undefined) groups.set(identity, [row]);
      else group.push(row);
    }
    if (groups.size === rows.length) return rows;
    return [...groups.values()].map((parts) => {
      const node = parts.map((part) => part.node).join(", ");
      return { ...fold(parts), node } as unknown as Row;
    });
  };
}

const sumOf = <T>(parts: readonly T[], of: (part: T) => number): number =>
  parts.reduce((sum, part) => sum + of(part), 0);

/** Returns the sum of the known numbers; null if no part has a number. */
function sumOrNull<T>(parts: readonly T[], of: (part: T) => number | null): number | null {
  const known = parts.flatMap((part) => of(part) ?? []);
  return known.length === 0 ? null : sumOf(known, (it) => it);
}

/** Statuses of a budget, the worst last. */
const STATUSES: readonly BudgetRecord["status"][] = ["ok", "low", "exhausted", "refusing"];

function budgetOf(parts: readonly [BudgetRecord, ...BudgetRecord[]]): BudgetRecord {
  const [first] = parts;
  const worst = parts.reduce((a, b) => (STATUSES.indexOf(b.status) > STATUSES.indexOf(a.status) ? b : a));
  return {
    ...first,
    // Charges are replicated, so the largest value comes from the most current node.
    used: Math.max(...parts.map(({ used }) => used)),
    remaining: Math.min(...parts.map(({ remaining }) => remaining)),
    reserved: sumOf(parts, ({ reserved }) => reserved),
    refused_per_minute: sumOf(parts, ({ refused_per_minute: refused }) => refused),
    status: worst.status,
  };
}

function guardrailOf(parts: readonly [GuardrailRecord, ...GuardrailRecord[]]): GuardrailRecord {
  return {
    ...parts[0],
    decisions: sumOrNull(parts, ({ decisions }) => decisions),
    errors: sumOf(parts, ({ errors }) => errors),
    texts_read: sumOrNull(parts, ({ texts_read: read }) => read),
    texts_remembered: sumOrNull(parts, ({ texts_remembered: remembered }) => remembered),
  };
}

function controlOf(parts: readonly [ControlRecord, ...ControlRecord[]]): ControlRecord {
  return { ...parts[0], decisions: sumOf(parts, ({ decisions }) => decisions) };
}
