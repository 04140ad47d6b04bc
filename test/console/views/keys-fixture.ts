/** A gateway with a few keys, as the console has read it; a test overrides the rest. */

import type {
  AuditRecord,
  BudgetRecord,
  KeyRecord,
  ProfileRecord,
  SuspensionRecord,
} from "../../../src/admin-api/index.ts";
import type { Context } from "../../../src/console/model/context.ts";
import type { Data, Readable, ReadableId, Reading } from "../../../src/console/model/data.ts";
import type { Dialog } from "../../../src/console/model/dialog.ts";
import type { VerbId } from "../../../src/console/model/key-bindings.ts";
import type { Table } from "../../../src/console/model/table.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import type { Intent, Offer, TableBody, View } from "../../../src/console/model/view.ts";

export const NOW = Date.parse("2026-11-20T14:02:07.000Z");

type Answers = { readonly [Id in ReadableId]?: Readable[Id] };

export function dataOf(answers: Answers): Data {
  const readings = new Map<string, unknown>(
    Object.entries(answers).map(([id, value]) => [id, { value, freshAt: NOW, requestedAt: NOW, failure: undefined }]),
  );
  return {
    get<Id extends ReadableId>({ id }: { readonly id: Id }) {
      return readings.get(id) as Reading<Readable[Id]> | undefined;
    },
  };
}

export const contextOf = (answers: Answers, others: Partial<Context> = {}): Context => ({
  data: dataOf(answers),
  now: NOW,
  subject: undefined,
  isReadOnly: false,
  isAscii: true,
  endpointFlags: "-socket /run/gateway.sock",
  tail: undefined,
  verification: undefined,
  ...others,
});

export const key = (others: Partial<KeyRecord> = {}): KeyRecord => ({
  id: "abcd1234",
  name: "ci-main",
  profile: null,
  metadata: {},
  created_at: "2026-08-02T10:00:00.000Z",
  expires_at: null,
  last_used_at: null,
  status: "active",
  ...others,
});

export const profile = (others: Partial<ProfileRecord> = {}): ProfileRecord => ({
  name: "standard",
  budget: "day-5m",
  allowed_models: ["acme-*", "pool-*"],
  require_caps: ["tools"],
  access_rules: 2,
  detectors: null,
  keys: 7,
  ...others,
});

export const bucket = (others: Partial<BudgetRecord> = {}): BudgetRecord => ({
  budget: "day-5m",
  bucket: "shared",
  key: null,
  limit: 5_000_000,
  used: 2_050_000,
  unaccounted: 0,
  reserved: 0,
  granted: 10_000,
  remaining: 2_950_000,
  window: "24h",
  resets_at: "2026-11-21T00:00:00.000Z",
  status: "ok",
  refused_per_minute: 0,
  holders: [],
  node: "n1",
  ...others,
});

export const suspension = (others: Partial<SuspensionRecord> = {}): SuspensionRecord => ({
  kind: "key",
  name: "ci-main",
  reason: "leaked",
  by: "alice@example",
  created_at: "2026-11-20T13:00:00.000Z",
  until: null,
  status: "active",
  ...others,
});

export const record = (others: Partial<AuditRecord> = {}): AuditRecord => ({
  audit: 1,
  node: "n1",
  kid: "K".repeat(43),
  seq: 10_442,
  prev: "P".repeat(43),
  ts: "2026-11-20T14:02:05.123Z",
  event: "admin.write",
  controls: [],
  data: {},
  hash: "H".repeat(43),
  sig: "S".repeat(86),
  ...others,
});

export function bodyOf({ body }: View): TableBody {
  if (body.kind !== "table") throw new Error("it is a view with a table");
  return body;
}

export const tableOfView = (view: View, context: Context): Table => bodyOf(view).table(context);

/** Returns the text of the cell under `head`. */
export function cellAt(table: Table, at: number, id: string, now = NOW): string {
  return table.cell(at, columnAt(table, id), now).text;
}

export function columnAt(table: Table, id: string): number {
  const at = table.columns.findIndex((column) => column.id === id);
  if (at < 0) throw new Error(`there is no column ${id}`);
  return at;
}

export function offerOf({ offers }: View, verb: VerbId): Offer {
  const found = offers.find((offer) => offer.verb === verb);
  if (found === undefined) throw new Error(`there is no ${verb}`);
  return found;
}

export const whyOf = (view: View, verb: VerbId, ids: readonly string[], context: Context): string | undefined =>
  offerOf(view, verb).disabledReason?.({ ids }, context);

export const startOf = (view: View, verb: VerbId, ids: readonly string[], context: Context): Intent =>
  offerOf(view, verb).start({ ids }, context);

export function dialogOf(intent: Intent): Dialog {
  if (intent.kind !== "dialog") throw new Error(`a dialog was wanted, not ${intent.kind}`);
  return intent.dialog;
}

/** Returns a dialog's initial values with the operator's changes. */
export const valuesOf = ({ fields }: Dialog, changed: Readonly<Record<string, string>> = {}) => ({
  ...Object.fromEntries(fields.map(({ id, initial }) => [id, initial])),
  ...changed,
});

/** Returns `Label: text`, one line each. */
export const wordsOf = (dialog: Dialog, context: Context, changed: Readonly<Record<string, string>> = {}) =>
  dialog.lines(valuesOf(dialog, changed), context).map(([label, line]) => `${label}: ${textOfLine(line)}`);

export function actionsOf(dialog: Dialog, context: Context, changed: Readonly<Record<string, string>> = {}) {
  const task = dialog.task(valuesOf(dialog, changed), context);
  if (task.kind !== "actions") throw new Error(`actions were wanted, not ${task.kind}`);
  return task.actions;
}

export const textsOf = (lines: readonly (readonly { readonly text: string }[])[]): readonly string[] =>
  lines.map(textOfLine);
