/**
 * Ledger of usage that is reconciled with the reports of providers: rows `rec/<day>/<id>`, and `rec/round/<id>` for the result
 * of a provider's last round. The reconciler defines the fields; here they are a flat map of texts and numbers.
 *
 * A row is replaced completely, and only by a node that has seen the previous one: of two leaders in one round, of which one has
 * been deposed, only one may report a breach as new.
 */

import { define } from "../command.ts";
import { ok } from "../command-refusals.ts";
import {
  flag,
  integer,
  label,
  listOf,
  Malformed,
  mapOf,
  object,
  type Parser,
  prose,
  shaped,
  shapeOf,
  text,
} from "../fields.ts";
import { keyPart, rowFormat } from "../row-format.ts";
import { RECONCILE_LEVEL } from "./feature.ts";

const day = text(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/, 10);
/** Day such as `2026-11-20`, or `round`. Compared as text, days are in order and `round` is last. */
const section = text(/^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|round)$/, 10);

type Field = string | number | boolean | null;
const word = prose(1_024);
const field: Parser<Field> = shaped(
  (value) => {
    if (value === null) return null;
    if (typeof value === "boolean") return flag(value);
    if (typeof value === "string") return word(value);
    if (typeof value === "number" && Number.isFinite(value) && !Object.is(value, -0)) return value;
    throw new Malformed("a field is neither a word nor a number");
  },
  () => ["null, a number or", shapeOf(flag), shapeOf(word)],
);

const ledgerFields = { day: section, id: label(256), fields: mapOf(label(), field, 48) };
/** Fields of a put. `seen` is the revision of the row to replace; 0 if there must be none. */
const putFields = object({ ...ledgerFields, seen: integer() });
/** Fields of a row. `rev` grows with each change; `at` is the time of the change, in milliseconds since 1970. */
const ledgerRow = object({ ...ledgerFields, rev: integer(1), at: integer() });
type LedgerRow = ReturnType<typeof ledgerRow>;
export const ledgerRows = rowFormat(ledgerRow);
export const ledgerRowKey = (of: Pick<LedgerRow, "day" | "id">): string => `rec/${of.day}/${keyPart(of.id)}`;

/** Maximum number of rows of one command. */
const MAX_LEDGER_PUT = 500;

/** Replaces rows. Returns the positions of rows that were left unchanged because their revision differs from `seen`. */
export const reconcilePut = define(
  "reconcile.put",
  object({ rows: listOf(putFields, MAX_LEDGER_PUT, 1) }),
  ({ rows }, { draft, now }) => {
    const stale: number[] = [];
    for (const [place, { seen, ...row }] of rows.entries()) {
      const key = ledgerRowKey(row);
      const stored = draft.get(key);
      const rev = stored === undefined ? 0 : ledgerRows.read(stored).rev;
      if (rev === seen) draft.put(key, ledgerRows.write({ ...row, rev: rev + 1, at: now }));
      else stale.push(place);
    }
    return ok({ rows: rows.length - stale.length, stale });
  },
  { version: 2, level: RECONCILE_LEVEL },
);

/** Maximum number of rows dropped by one command; the caller repeats it while the answer has `more`. */
const MAX_DROPPED = 2_000;

/** Drops rows of days before `before`, oldest first. */
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

/** Removes the result of a provider's last round; its days stay. */
export const reconcileForget = define(
  "reconcile.forget",
  object({ id: label(256) }),
  ({ id }, { draft }) => {
    draft.delete(ledgerRowKey({ day: "round", id }));
    return ok({});
  },
  { level: RECONCILE_LEVEL },
);
