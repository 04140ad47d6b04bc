/**
 * Rows of the audit tail: the node's last records, or lines of the audit file. A line that is not a record is still
 * shown as a row. Lines are parsed on demand.
 */

import type { AuditRecord } from "../../admin-api/index.ts";

export interface TailRow {
  readonly id: string;
  /** Position in the source, from 0, the newest last. */
  readonly position: number;
  /** Text that a filter searches. */
  readonly text: string;
  /** Parses the line. Returns `undefined` if it is not a record. */
  record(): AuditRecord | undefined;
}

/** Maximum number of rows: twice what a node keeps, since a stream may contain several nodes. */
export const MAX_TAIL_ROWS = 2_000;
/** Maximum length of a line in UTF-16 units; a record has at most 4 KiB. */
const MAX_LINE_LENGTH = 65_536;

export const rowsOfRecords = (records: readonly AuditRecord[]): readonly TailRow[] =>
  unique(
    records.slice(-MAX_TAIL_ROWS),
    ({ kid, seq }) => `${kid}:${seq}`,
    (record, id, position) => {
      let text: string | undefined;
      return {
        id,
        position,
        get text() {
          text ??= JSON.stringify(record);
          return text;
        },
        record: () => record,
      };
    },
  );

export const rowsOfLines = (lines: readonly string[]): readonly TailRow[] =>
  unique(
    lines.slice(-MAX_TAIL_ROWS),
    (text) => text,
    (text, id, position) => {
      let read: { readonly record: AuditRecord | undefined } | undefined;
      return {
        id,
        position,
        text,
        record() {
          read ??= { record: parseRecord(text) };
          return read.record;
        },
      };
    },
  );

/** Gives equal rows different ids by counting them: after a crash a node writes some records again. */
function unique<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
  make: (item: T, id: string, position: number) => TailRow,
): readonly TailRow[] {
  const seen = new Map<string, number>();
  return items.map((item, position) => {
    const name = nameOf(item);
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return make(item, times === 1 ? name : `${name} (${times})`, position);
  });
}

/** Parses an audit record without checking its signature, which `V` does. Returns `undefined` if the text is not a record. */
export function parseRecord(text: string): AuditRecord | undefined {
  if (text.length > MAX_LINE_LENGTH || !text.startsWith("{")) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isRecord(value) ? value : undefined;
}

const TEXTS = ["node", "kid", "prev", "ts", "event", "hash", "sig"] as const;

function isRecord(value: unknown): value is AuditRecord {
  if (typeof value !== "object" || value === null) return false;
  const fields = new Map<string, unknown>(Object.entries(value));
  const controls = fields.get("controls");
  return (
    fields.get("audit") === 1 &&
    fields.has("data") &&
    Number.isSafeInteger(fields.get("seq")) &&
    TEXTS.every((name) => typeof fields.get(name) === "string") &&
    Array.isArray(controls) &&
    controls.every((control) => typeof control === "string")
  );
}
