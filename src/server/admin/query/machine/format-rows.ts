/** Formats the rows of an answer as JSON text, part by part, and its columns. */

import type { Plan, SqlType } from "../plan.ts";
import { StatementError } from "./budget.ts";
import type { Row } from "./engine.ts";

const MAX_ROWS = 100_000;
/** Maximum length of the whole answer, in UTF-16 units. */
const MAX_LENGTH = 64 * 1024 * 1024;
/** Length of one part, which the other thread receives and sends at once. */
const PART_LENGTH = 128 * 1024;

interface Answer {
  readonly columns: Plan["outputs"];
  /** Rows as JSON text, one per line, with separators. The iterator throws if the answer exceeds `MAX_LENGTH`. */
  readonly parts: Iterator<string>;
}

export function formatAnswer(rows: readonly Row[], outputs: Plan["outputs"]): Answer {
  if (rows.length > MAX_ROWS) {
    throw new StatementError(`The answer has more than ${MAX_ROWS} rows: add a WHERE or a LIMIT.`, "rows");
  }
  return {
    columns: outputs.map(({ name, type }, column) => ({ name, type: typeOf(type, rows, `c${column}`) })),
    parts: partsOf(rows, outputs.length),
  };
}

function* partsOf(rows: readonly Row[], width: number): Generator<string> {
  let part = "";
  let separator = "\n";
  let length = 0;
  const columns = Array.from({ length: width }, (_, column) => `c${column}`);
  for (const row of rows) {
    part += separator + JSON.stringify(columns.map((column) => row[column] ?? null));
    separator = ",\n";
    if (part.length < PART_LENGTH) continue;
    length += part.length;
    if (length > MAX_LENGTH) {
      throw new StatementError("The answer is larger than 64 MiB: select fewer columns or rows.", "memory");
    }
    yield part;
    part = "";
  }
  if (part !== "") yield part;
}

/** Returns the declared type, or the one that follows from an operation; if neither is known, the common type of the values. */
function typeOf(known: SqlType, rows: readonly Row[], column: string): SqlType {
  if (known !== "unknown") return known;
  const types = new Set(rows.map((row) => valueType(row[column])).filter((type) => type !== "unknown"));
  const [first = "unknown"] = types;
  if (types.size <= 1) return first;
  return types.size === 2 && types.has("integer") && types.has("real") ? "real" : "unknown";
}

function valueType(value: unknown): SqlType {
  switch (typeof value) {
    case "string":
      return "text";
    case "boolean":
      return "boolean";
    case "number":
      return Number.isInteger(value) ? "integer" : "real";
    default:
      return "unknown";
  }
}
