/**
 * The ledger of usage that is reconciled with what providers report: rows `rec/<day>/<id>`, and `rec/round/<id>` for what
 * the last round of a provider came to. The fields belong to who reconciles; here they are a flat map of words and numbers.
 *
 * A row is replaced as a whole, and only by who has seen the one before: two leaders in one round, of which one has been
 * deposed, must not both find the same breach new.
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
/** `2026-11-20`: compared as text, which is the order of the days; `round` comes after them all. */
const section = text(/^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|round)$/, 10);

type Field = string | number | boolean | null;
const word = prose(1_024);
const field: Parser<Field> = shaped(
  (value) => {
    if (value === null) return null;
    if (typeof value === "boolean") return flag(value);
    if (typeof value === "string") return word(value);
    if (typeof value === "number" && Number.isFinite(value) && !Object.is(value, -0)) return value;
    throw new Malformed("a field is no word and no number");
  },
  () => ["null, a number or", shapeOf(flag), shapeOf(word)],
);

const ledgerFields = { day: section, id: label(256), fields: mapOf(label(), field, 48) };
/** `seen`: revision of the row to replace; 0 if there must be none. */
const given = object({ ...ledgerFields, seen: integer() });
/** `rev`: incremented with each change. `at`: time of the change, in milliseconds since 1970. */
const ledgerRow = object({ ...ledgerFields, rev: integer(1), at: integer() });
export type LedgerRow = ReturnType<typeof ledgerRow>;
export type LedgerPut = ReturnType<typeof given>;
export const ledgerRows = rowFormat(ledgerRow);
export const ledgerRowKey = (of: Pick<LedgerRow, "day" | "id">): string => `rec/${of.day}/${keyPart(of.id)}`;

/** Rows of one command. */
export const MAX_LEDGER_PUT = 500;

/** Answers the places of the rows that were left as they are, since they are not the ones that were seen. */
export const reconcilePut = define(
  "reconcile.put",
  object({ rows: listOf(given, MAX_LEDGER_PUT, 1) }),
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

/** Forgets what the last round of a provider came to; its days stay. */
export const reconcileForget = define(
  "reconcile.forget",
  object({ id: label(256) }),
  ({ id }, { draft }) => {
    draft.delete(ledgerRowKey({ day: "round", id }));
    return ok({});
  },
  { level: RECONCILE_LEVEL },
);
