/** Parsing of answers into the values that the console keeps. Unchanged parts keep their identity. */

import { setImmediate as turn } from "node:timers/promises";
import type { TableName } from "../../admin-api/index.ts";
import type { Gaps } from "../model/data.ts";
import { fits } from "./matches-schema.ts";
import { foldedNodes } from "./merge-nodes.ts";
import { itemsAsNow, rowsAsNow } from "./older-answers.ts";
import { answerSchemaOf, PLAIN, type PlainId, type Row, rowIdOf, rowSchemaOf } from "./read-rules.ts";
import { isSame, withKnownRows } from "./reuse-unchanged.ts";

interface ListAnswer {
  readonly rows: readonly Row[];
  readonly index: number;
  readonly gaps: Gaps | undefined;
}

interface PlainAnswer {
  readonly value: unknown;
  readonly gaps: Gaps | undefined;
}

/** Number of rows from which parsing takes several milliseconds. */
const MANY_ROWS = 1_000;

/**
 * Returns a parser for one list, which returns `undefined` for any other answer. `previous` returns the rows of the last parse,
 * if any. Many rows are parsed in one turn of the event loop and compared in another, so that a key waits for only one of them.
 */
export function listParser(
  table: TableName,
): (text: string, previous: () => unknown) => Promise<ListAnswer | undefined> {
  const schema = rowSchemaOf(table);
  const idOf = rowIdOf(table);
  return async (text, before) => {
    const { items, index, ...others } = jsonObjectIn(text) ?? {};
    if (Array.isArray(items) && items.length >= MANY_ROWS) await turn();
    const previous = before();
    if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0 || !Array.isArray(items))
      return undefined;
    if (!items.every(isRow)) return undefined;
    const known = Array.isArray(previous) ? (previous as readonly Row[]) : [];
    const { rows, fresh } = withKnownRows(known, foldedNodes(table, rowsAsNow(table, items)), idOf);
    return fresh.every((row) => fits(schema, row)) ? { rows, index, gaps: gapsIn(others) } : undefined;
  };
}

/** Returns a parser for one operation, which returns `undefined` for any other answer; `previous` is the value before, if any. */
export function plainParser(id: PlainId): (text: string, previous: unknown) => PlainAnswer | undefined {
  const schema = answerSchemaOf(id) ?? {};
  const { isList = false } = PLAIN[id];
  return (text, previous) => {
    const answer = withCurrentColumns(id, jsonObjectIn(text));
    if (answer === undefined || !fits(schema, answer)) return undefined;
    const value = isList ? answer["items"] : answer;
    return { value: isSame(previous, value) ? previous : value, gaps: isList ? gapsIn(answer) : undefined };
  };
}

function withCurrentColumns(id: PlainId, answer: Row | undefined): Row | undefined {
  const items = answer?.["items"];
  if (!Array.isArray(items) || !items.every(isRow)) return answer;
  const now = itemsAsNow(id, items);
  return now === items ? answer : { ...answer, items: now };
}

function gapsIn({ unanswered, cut }: Row): Gaps | undefined {
  const gaps: Gaps = { unanswered: idsIn(unanswered), cut: idsIn(cut) };
  return gaps.unanswered.length + gaps.cut.length === 0 ? undefined : gaps;
}

const idsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((id) => typeof id === "string") : [];

function jsonObjectIn(text: string): Row | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRow(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null && !Array.isArray(value);
