/**
 * The query worker: a separate thread, so that a statement can be stopped. It gets no environment, no arguments, and nothing of
 * the node except the rows that the statement reads.
 */

import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { GatewayError, threadCaller } from "../../../base/index.ts";
import { formatAnswer, openPlanExecutor, type Row, StatementError } from "./machine/index.ts";
import { neededRowsOf } from "./needed-rows.ts";
import type { Plan } from "./plan.ts";
import { planStatement } from "./plan-statement.ts";
import type { FromWorker, ToWorker } from "./query-protocol.ts";
import { countsAmong, openUnpacker, type Unpacker } from "./unpack.ts";

/** Priority in the scale of `nice`; 19 is the lowest. */
const LOW_PRIORITY = 15;

const { onMessage, post } = threadCaller<ToWorker, FromWorker>();

const machine = await openPlanExecutor();
lowerPriority();
removeGlobals();

let plan: Plan | undefined;
let tables: Row[][] = [];
/** Unpackers of the tables that are sent packed. */
let unpackers = new Map<number, Unpacker>();
let parts: Iterator<string> | undefined;

onMessage((message) => {
  try {
    handleMessage(message);
  } catch (error) {
    post(resetAfterFailure(error));
  }
});
post({ kind: "ready" });

/** Lowers the thread's priority, so that requests come first. Only Linux has priorities of threads. */
function lowerPriority(): void {
  try {
    const [, thread] = /\/task\/(\d+)$/.exec(readlinkSync("/proc/thread-self")) ?? [];
    if (thread !== undefined) setPriority(Number(thread), LOW_PRIORITY);
  } catch {
    // Without /proc, it keeps the priority of the process.
  }
}

function handleMessage(message: ToWorker): void {
  switch (message.kind) {
    case "plan":
      parts = undefined;
      plan = planStatement(message.sql, message.parameters, message.tables);
      post({ kind: "planned", tables: plan.tables });
      return;
    case "begin":
      tables = plan?.tables.map(() => []) ?? [];
      unpackers = new Map();
      return;
    case "rows":
      addRows(message.table, message.text);
      return;
    case "labels":
      sendWanted(message);
      return;
    case "part":
      unpackerOf(message.table, "")?.add(message.label, message.texts);
      return;
    case "run":
      run(message.now);
      return;
    case "more":
      sendPart();
      return;
    default:
      message satisfies never;
  }
}

function addRows(table: number, text: string): void {
  const rows = JSON.parse(text) as readonly (readonly unknown[])[];
  const loaded = tables[table];
  const names = plan?.tables[table]?.columns.map((_, column) => `c${column}`) ?? [];
  for (const values of rows) {
    // Properties are always set in the same order, so that V8 gives all rows one hidden class, which the engine reads fast.
    const row: Record<string, unknown> = {};
    for (const [column, name] of names.entries()) row[name] = values[column];
    loaded?.push(row);
  }
}

/** Returns the unpacker of a table; `undefined` if the statement was refused, whose remaining messages are ignored. */
function unpackerOf(table: number, now: string): Unpacker | undefined {
  const read = plan?.tables[table];
  if (plan === undefined || read === undefined) return undefined;
  let unpacker = unpackers.get(table);
  if (unpacker === undefined) {
    const { columns } = read;
    unpacker = openUnpacker(columns, neededRowsOf(plan, table, countsAmong(columns)), machine.openRowFilter(now));
    unpackers.set(table, unpacker);
  }
  return unpacker;
}

function sendWanted({ table, labels, now }: Extract<ToWorker, { kind: "labels" }>): void {
  const unpacker = unpackerOf(table, now);
  if (unpacker !== undefined) post({ kind: "wanted", wanted: labels.map(unpacker.isWanted) });
}

function run(now: string): void {
  if (plan === undefined) return;
  const { outputs } = plan;
  for (const [table, unpacker] of unpackers) tables[table] = unpacker.rows();
  const answer = formatAnswer(machine.run(plan, tables, now), outputs);
  // The rows of the answer are complete, so the tables are no longer needed.
  tables = [];
  unpackers = new Map();
  plan = undefined;
  parts = answer.parts;
  post({ kind: "done", columns: answer.columns });
}

function sendPart(): void {
  const part = parts?.next();
  const text = part?.done === true ? undefined : part?.value;
  if (text === undefined) parts = undefined;
  post({ kind: "part", text });
}

function resetAfterFailure(error: unknown): FromWorker {
  plan = undefined;
  tables = [];
  unpackers = new Map();
  parts = undefined;
  if (error instanceof GatewayError && error.code === "invalid") {
    return { kind: "refused", message: error.message, reason: undefined };
  }
  if (error instanceof StatementError) return { kind: "refused", message: error.message, reason: error.reason };
  return { kind: "fault", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

/**
 * Removes globals that a statement could use after breaking out of the engine. The actual defenses are the parser and the check
 * of the engine's tree; this is one more layer.
 */
function removeGlobals(): void {
  for (const name of [
    "process",
    "require",
    "module",
    "fetch",
    "WebSocket",
    "EventSource",
    "Buffer",
    "XMLHttpRequest",
  ]) {
    Reflect.deleteProperty(globalThis, name);
  }
}
