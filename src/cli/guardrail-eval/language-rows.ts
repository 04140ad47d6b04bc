/**
 * Reads rows with the same text in several languages: a `.jsonl` line whose `text` is a map by language, with `spans`
 * by language or `labels` for the row; or TSV and CSV with a header of languages. Source: guardrails reference, 7.
 */

import { didYouMean } from "../parse-flags.ts";
import type { DataFile } from "./data-file.ts";
import { DataError, type EvalCase } from "./evaluation-case.ts";
import { type Fail, isObject, marksOf, objectOf, textsOf, type Warn } from "./json-line-cases.ts";
import type { Line } from "./split-lines.ts";

export interface Row {
  readonly file: string;
  readonly line: number;
  /** Cases by language. */
  readonly cases: ReadonlyMap<string, EvalCase>;
}

const KEYS = ["id", "text", "spans", "labels", "tags"];

/** Yields the rows. Throws `DataError`. */
export async function* rowsOf(files: readonly DataFile[], limit: number, warn: Warn): AsyncGenerator<Row> {
  for (const file of files) {
    let count = 0;
    for await (const row of file.isJsonLines ? jsonRows(file, warn) : tableRows(file)) {
      yield row;
      count += 1;
      if (count === limit) break;
    }
  }
}

async function* jsonRows({ name, lines }: DataFile, warn: Warn): AsyncGenerator<Row> {
  for await (const line of lines()) if (line.text.trim() !== "") yield jsonRow(line, name, warn);
}

function jsonRow({ number, text: written }: Line, file: string, warn: Warn): Row {
  const fail: Fail = (message) => {
    throw new DataError(file, number, message);
  };
  const row = objectOf(written, fail);
  for (const key of Object.keys(row)) {
    if (!KEYS.includes(key))
      warn(key, `${file}:${number}: the key ${JSON.stringify(key)} is not read${didYouMean(key, KEYS)}`);
  }
  const { text, spans, labels, tags } = row;
  if (!isObject(text)) return fail('"text" is not a map from languages to texts');
  if (spans !== undefined && !isObject(spans)) return fail('"spans" is not a map from languages to lists');
  const cases = Object.entries(text).map(([language, own]): [string, EvalCase] => {
    if (typeof own !== "string") return fail(`"text" of ${JSON.stringify(language)} is not a string`);
    const marked = spans !== undefined && Object.hasOwn(spans, language) ? spans[language] : undefined;
    const one: EvalCase = {
      file,
      line: number,
      text: own,
      spans: marked === undefined ? undefined : marksOf(marked, own, fail, `spans.${language}`),
      labels: labels === undefined ? undefined : textsOf(labels, "labels", fail),
      tags: tags === undefined ? [] : textsOf(tags, "tags", fail),
      kind: undefined,
      system: "",
    };
    return [language, one];
  });
  return { file, line: number, cases: new Map(cases) };
}

const LANGUAGE = /^[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*$/;

async function* tableRows({ name, lines }: DataFile): AsyncGenerator<Row> {
  let header: readonly string[] | undefined;
  let separator = "\t";
  for await (const { number, text } of lines()) {
    if (text.trim() === "") continue;
    if (header === undefined) {
      separator = text.includes("\t") ? "\t" : ",";
      header = cellsOf(text, separator, name, number).map((cell) => cell.trim());
      const unknownColumn = header.find((cell) => cell.toLowerCase() !== "id" && !LANGUAGE.test(cell));
      if (unknownColumn !== undefined) {
        const message = `the header is languages such as en or pt-BR, and may have id, not ${JSON.stringify(unknownColumn.slice(0, 40))}`;
        throw new DataError(name, number, message);
      }
      continue;
    }
    const cells = cellsOf(text, separator, name, number);
    if (cells.length > header.length) {
      throw new DataError(name, number, `the line has ${cells.length} cells, and the header ${header.length}`);
    }
    const cases = header.flatMap((language, at): [string, EvalCase][] => {
      const own = cells[at] ?? "";
      if (language.toLowerCase() === "id" || own === "") return [];
      const emptyRow = { spans: undefined, labels: undefined, tags: [], kind: undefined, system: "" };
      return [[language, { file: name, line: number, text: own, ...emptyRow }]];
    });
    yield { file: name, line: number, cases: new Map(cases) };
  }
}

/** Splits a line of CSV (RFC 4180) or TSV, which has no quotes. A cell that spans several lines is refused. */
function cellsOf(line: string, separator: string, file: string, number: number): readonly string[] {
  if (separator === "\t") return line.split("\t");
  const cells: string[] = [];
  let at = 0;
  while (at <= line.length) {
    if (line[at] !== '"') {
      const end = line.indexOf(",", at);
      cells.push(line.slice(at, end < 0 ? line.length : end));
      if (end < 0) break;
      at = end + 1;
      continue;
    }
    const quoted = /"((?:[^"]|"")*)"(,|$)/y;
    quoted.lastIndex = at;
    const found = quoted.exec(line);
    if (found === null) throw new DataError(file, number, "a quote is not closed, or not at the end of its cell");
    cells.push((found[1] ?? "").replaceAll('""', '"'));
    if (found[2] === "") break;
    at = quoted.lastIndex;
  }
  return cells;
}
