/**
 * Conditions of `gateway get -where`, such as `status=active`, `lag>100` or `expires_at<168h`, compiled to a predicate over
 * rows. Pure: the time is passed in.
 *
 * Operators: `=`, `!=`, `<`, `<=`, `>`, `>=` and `~` (contains, ignoring case). A column that is `null` equals the empty
 * text. A list equals a text if one of its items does. A time is compared with an RFC 3339 time or with a Go-style duration:
 * `last_used_at<24h` means less than 24 hours ago, `expires_at<24h` less than 24 hours from now.
 */

import { parseDuration } from "../../base/index.ts";
import { clipArgument, didYouMean, UsageError } from "../parse-flags.ts";
import type { ColumnSpec, Row } from "./printable-lists.ts";

export type Condition = (row: Row) => boolean;

const SYNTAX = /^([A-Za-z0-9_]+)\s*(!=|<=|>=|=|<|>|~)\s*(.*)$/s;

type Operator = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~";

/** Compiles conditions that all must be met. Throws `UsageError` for syntax, unknown columns and values of another type. */
export function conditionOf(texts: readonly string[], columns: readonly ColumnSpec[], now: number): Condition {
  const conditions = texts.map((text) => oneOf(text, columns, now));
  return (row) => conditions.every((condition) => condition(row));
}

function oneOf(text: string, columns: readonly ColumnSpec[], now: number): Condition {
  const [, name = "", operator = "", value = ""] = SYNTAX.exec(text) ?? [];
  if (operator === "") {
    throw new UsageError(
      `-where '${clipArgument(text)}' is not a condition: write COLUMN=VALUE, with one of = != < <= > >= ~`,
    );
  }
  const column = columnNamed(name, columns);
  if (operator === "~") {
    const part = value.toLowerCase();
    return (row) => textsOf(row[column.name]).some((it) => it.toLowerCase().includes(part));
  }
  if (operator === "=" || operator === "!=") {
    const isEqual = equality(column, value);
    return operator === "=" ? isEqual : (row) => !isEqual(row);
  }
  return ordering(column, operator as Operator, value, now);
}

/** Returns the column with this name. Throws `UsageError` that suggests the nearest name. */
export function columnNamed(name: string, columns: readonly ColumnSpec[]): ColumnSpec {
  const found = columns.find((column) => column.name === name.toLowerCase());
  if (found !== undefined) return found;
  const names = columns.map((column) => column.name);
  throw new UsageError(
    `there is no column '${clipArgument(name)}'${didYouMean(name, names)}; the list has ${names.join(", ")}`,
  );
}

function equality({ name, isNumeric }: ColumnSpec, value: string): Condition {
  if (isNumeric && value.trim() !== "") {
    const number = Number(value);
    return (row) => row[name] === number;
  }
  return (row) => {
    const rowValue = row[name];
    if (Array.isArray(rowValue)) return value === "" ? rowValue.length === 0 : textsOf(rowValue).includes(value);
    return textsOf(rowValue).includes(value);
  };
}

function ordering({ name, isNumeric, isTime }: ColumnSpec, operator: Operator, value: string, now: number): Condition {
  if (isTime) {
    const duration = parseDuration(value);
    const at = Date.parse(value);
    if (duration === undefined && Number.isNaN(at)) {
      throw new UsageError(
        `'${name}' is a time: compare it with 24h or 2026-01-31T00:00:00Z, not '${clipArgument(value)}'`,
      );
    }
    return (row) => {
      const rowValue = Date.parse(String(row[name] ?? ""));
      if (Number.isNaN(rowValue)) return false;
      return duration === undefined
        ? compare(rowValue, operator, at)
        : compare(Math.abs(rowValue - now), operator, duration);
    };
  }
  if (isNumeric) {
    const number = value.trim() === "" ? Number.NaN : Number(value);
    if (Number.isNaN(number)) throw new UsageError(`'${name}' is a number, but '${clipArgument(value)}' is not`);
    return (row) => typeof row[name] === "number" && compare(row[name], operator, number);
  }
  return (row) => row[name] !== null && row[name] !== undefined && compare(String(row[name]), operator, value);
}

function compare<T extends number | string>(rowValue: T, operator: Operator, other: T): boolean {
  switch (operator) {
    case "<":
      return rowValue < other;
    case "<=":
      return rowValue <= other;
    case ">":
      return rowValue > other;
    case ">=":
      return rowValue >= other;
    default:
      return rowValue === other;
  }
}

function textsOf(value: unknown): readonly string[] {
  if (value === null || value === undefined) return [""];
  if (Array.isArray(value)) return value.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  return [typeof value === "string" ? value : JSON.stringify(value)];
}
