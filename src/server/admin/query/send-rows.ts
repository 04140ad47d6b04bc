/**
 * Sends the rows that a statement reads as JSON text in parts, all of one moment: if a list changes before the last of them is
 * written, all are read again. The thread is blocked for a few milliseconds at a time.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import type { TableName } from "../../../admin-api/index.ts";
import type { StoredPart } from "../lists.ts";
import { refusal } from "../refusal.ts";
import type { ReadTable, ToWorker } from "./query-protocol.ts";
import type { QuerySource } from "./types.ts";

/** Maximum time on the thread without a break, in milliseconds. */
const TURN_MS = 1;
/** Number of rows between two checks of the clock. */
const ROWS_PER_CHECK = 16;
/** Maximum number of reads that changes may interrupt; the last one blocks the thread while it writes. */
const MAX_READS = 6;
/** Length of one message, in UTF-16 units. */
const PART_LENGTH = 64 * 1024;
/** Maximum length of all rows together, limited by the worker's memory. */
const MAX_LENGTH = 48 * 1024 * 1024;
/** Maximum length of all packed rows together, which the worker unpacks as they arrive. */
const MAX_PACKED_LENGTH = 80 * 1024 * 1024;
/** Maximum length of packed rows in transit. */
const MAX_AHEAD_LENGTH = 4 * 1024 * 1024;

export interface RowPorts {
  readonly sources: ReadonlyMap<TableName, QuerySource>;
  readonly index: () => number;
  readonly now: () => number;
  readonly send: (message: ToWorker) => void;
  /** Asks which parts the worker needs; rejects if it refuses the statement. */
  readonly ask: (message: Extract<ToWorker, { kind: "labels" }>) => Promise<readonly boolean[]>;
  readonly signal: AbortSignal;
}

/** Index and time at which the rows were read. */
export interface ReadMoment {
  readonly index: number;
  /** Time in milliseconds since 1970. */
  readonly now: number;
}

export async function sendRows(tables: readonly ReadTable[], ports: RowPorts): Promise<ReadMoment> {
  const sources = tables.map(({ name }) => ports.sources.get(name));
  const version = (): number => sources.reduce((sum, source) => sum + (source?.version() ?? 0), 0);
  for (let read = 1; read <= MAX_READS; read++) {
    ports.signal.throwIfAborted();
    const began = version();
    ports.send({ kind: "begin" });
    const isSame = (): boolean => version() === began;
    const moment = await sendOnce(tables, sources, ports, { isSame, yields: read < MAX_READS });
    if (moment !== undefined) return moment;
  }
  throw refusal("busy", "The lists changed each time they were read; run the statement again.");
}

interface ReadAttempt {
  readonly isSame: () => boolean;
  readonly yields: boolean;
}

/** Sends all rows once. Resolves with `undefined` if they changed meanwhile. */
async function sendOnce(
  tables: readonly ReadTable[],
  sources: readonly (QuerySource | undefined)[],
  ports: RowPorts,
  reading: ReadAttempt,
): Promise<ReadMoment | undefined> {
  const taken = [];
  const packed = [];
  for (const source of sources) {
    packed.push(await source?.parts?.());
    taken.push(source?.parts === undefined ? await source?.take() : undefined);
  }
  if (!reading.isSame()) return undefined;
  const moment: ReadMoment = { index: ports.index(), now: ports.now() };
  // The packed rows are of one moment, and unaffected by later changes.
  for (const [table, parts] of packed.entries()) if (parts !== undefined) await sendParts(table, parts, moment, ports);
  const sender = openSender(ports.send);
  let turn = performance.now();
  let count = 0;
  for (const [table, { columns }] of tables.entries()) {
    for (const row of taken[table]?.(moment.now) ?? []) {
      sender.add(table, cellsOf(row, columns));
      count += 1;
      if (!reading.yields || count % ROWS_PER_CHECK !== 0 || performance.now() - turn < TURN_MS) continue;
      await nextTurn();
      ports.signal.throwIfAborted();
      if (!reading.isSame()) return undefined;
      turn = performance.now();
    }
    sender.flush();
  }
  return packed.every((parts) => parts !== undefined) || reading.isSame() ? moment : undefined;
}

async function sendParts(
  table: number,
  parts: readonly StoredPart[],
  { now }: ReadMoment,
  ports: RowPorts,
): Promise<void> {
  const ask = (labels: readonly string[]): Promise<readonly boolean[]> =>
    ports.ask({ kind: "labels", table, labels, now: new Date(now).toISOString() });
  const wanted = await ask(parts.map(({ label }) => label));
  let total = 0;
  let ahead = 0;
  let turn = performance.now();
  for (const { label, texts } of parts.filter((_, at) => wanted[at] === true)) {
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    total += length;
    ahead += length;
    if (total > MAX_PACKED_LENGTH) {
      const message = "The statement reads too many rows of `usage`: restrict `hour`.";
      throw refusal("invalid", message, { reason: "rows" });
    }
    ports.send({ kind: "part", table, label, texts });
    if (ahead > MAX_AHEAD_LENGTH) {
      await ask([]);
      ahead = 0;
    } else if (performance.now() - turn > TURN_MS) await nextTurn();
    else continue;
    ports.signal.throwIfAborted();
    turn = performance.now();
  }
}

function openSender(send: RowPorts["send"]): {
  readonly add: (table: number, cells: readonly unknown[]) => void;
  readonly flush: () => void;
} {
  let rows: string[] = [];
  let table = 0;
  let length = 0;
  let total = 0;
  const flush = (): void => {
    if (rows.length > 0) send({ kind: "rows", table, text: `[${rows.join(",")}]` });
    rows = [];
    length = 0;
  };
  return {
    add(of, cells) {
      table = of;
      const text = JSON.stringify(cells);
      rows.push(text);
      length += text.length;
      total += text.length;
      if (total > MAX_LENGTH) {
        const message = "The columns that the statement reads contain more than 48 MiB: select fewer columns.";
        throw refusal("invalid", message, { reason: "memory" });
      }
      if (length >= PART_LENGTH) flush();
    },
    flush,
  };
}

function cellsOf(row: unknown, columns: readonly string[]): readonly unknown[] {
  const values = row as Readonly<Record<string, unknown>>;
  return columns.map((column) => {
    const value = values[column];
    return typeof value === "object" && value !== null ? JSON.stringify(value) : (value ?? null);
  });
}
