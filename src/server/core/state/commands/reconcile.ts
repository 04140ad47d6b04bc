/**
 * The ledger of usage that is reconciled with what providers report: rows `rec/<day>/<id>`, each replaced as a whole.
 * The fields belong to who reconciles; here they are a flat map of words and numbers.
 */

import { define } from "../command.ts";
import { flag, integer, label, listOf, Malformed, mapOf, object, type Parser, prose, text } from "../fields.ts";
import { ok } from "../refusals.ts";
import { keyPart, rowFormat } from "../row-format.ts";

/** `2026-11-20`: compared as text, which is the order of the days. */
const day = text(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/, 10);

type Field = string | number | boolean | null;
const field: Parser<Field> = (value) => {
  if (value === null) return null;
  if (typeof value === "boolean") return flag(value);
  if (typeof value === "string") return prose(1_024)(value);
  if (typeof value === "number" && Number.isFinite(value) && !Object.is(value, -0)) return value;
  throw new Malformed("a field is no word and no number");
};

const ledgerFields = { day, id: label(256), fields: mapOf(label(), field, 32) };
const given = object(ledgerFields);
const ledgerRow = object({ ...ledgerFields, at: integer() });
export type LedgerRow = ReturnType<typeof ledgerRow>;
export const ledgerRows = rowFormat(ledgerRow);
export const ledgerRowKey = (of: Pick<LedgerRow, "day" | "id">): string => `rec/${of.day}/${keyPart(of.id)}`;

export const reconcilePut = define(
  "reconcile.put",
  object({ rows: listOf(given, 500, 1) }),
  ({ rows }, { draft, now }) => {
    for (const row of rows) draft.put(ledgerRowKey(row), ledgerRows.write({ ...row, at: now }));
    return ok({ rows: rows.length });
  },
);

/** Rows dropped by one command; a caller repeats it while `more` is answered. */
const MAX_DROPPED = 2_000;

/** Drops the days before `before`, oldest first. */
export const reconcileDrop = define("reconcile.drop", object({ before: day }), ({ before }, { draft }) => {
  let dropped = 0;
  for (const [key] of draft.scan("rec/")) {
    if (key >= `rec/${before}`) break;
    if (dropped === MAX_DROPPED) return ok({ dropped, more: true });
    draft.delete(key);
    dropped += 1;
  }
  return ok({ dropped, more: false });
});
