/**
 * File of evaluation data. It is read twice: to check and count the cases, and to score them. A pipe, which can be read
 * only once, is kept in memory.
 */

import { setImmediate as turn } from "node:timers/promises";
import { readAll, stdinOf, untilAborted } from "../copy-streams.ts";
import { readInput } from "../file-input.ts";
import { UsageError } from "../parse-flags.ts";
import type { Io } from "../process-io.ts";
import { sentencesOf } from "./conll-cases.ts";
import type { EvalCase } from "./evaluation-case.ts";
import { caseOf, type Warn } from "./json-line-cases.ts";
import { type Line, linesOf } from "./split-lines.ts";

/** Maximum size of a pipe's content, in bytes. */
const MAX_PIPE_BYTES = 256 << 20;

const HEAD_BYTES = 4096;

const PIECE_BYTES = 1 << 20;

export interface DataFile {
  /** Path as the operator wrote it. */
  readonly name: string;
  readonly isJsonLines: boolean;
  /** Returns the lines from the beginning, each time it is called. */
  readonly lines: () => AsyncGenerator<Line>;
}

/** Opens the files; `-` is stdin. Throws `UsageError`. */
export async function openData(io: Io, names: readonly string[]): Promise<readonly DataFile[]> {
  if (names.filter((name) => name === "-").length > 1) throw new UsageError("stdin ('-') is given more than once");
  const files: DataFile[] = [];
  for (const name of names) files.push(await openOne(io, name));
  return files;
}

async function openOne(io: Io, name: string): Promise<DataFile> {
  const input = name === "-" ? undefined : await readInput(io, name);
  if (input?.isRegular) {
    const open = (): AsyncIterable<Uint8Array> => untilAborted(input.open(), io.signal);
    const isNamed = /\.jsonl$/i.test(name);
    if (!isNamed && (await startsWithObject(open()))) {
      throw new UsageError(`'${name}' contains JSON, but is read as CoNLL unless its name ends in .jsonl`);
    }
    return { name, isJsonLines: isNamed, lines: () => linesOf(open(), name) };
  }
  const stream = input?.open() ?? stdinOf(io, "data");
  const bytes = await readAll(stream, MAX_PIPE_BYTES, `the data from ${name === "-" ? "stdin" : name}`, io.signal);
  const isJsonLines = /\.jsonl$/i.test(name) || (await startsWithObject([bytes]));
  return { name, isJsonLines, lines: () => linesOf(pieces(bytes), name) };
}

/** Yields to the event loop before each piece, so that an interrupt is noticed. */
async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    await turn();
    yield bytes.subarray(at, at + PIECE_BYTES);
  }
}

/** Returns whether the data begins with a line that is a complete JSON object. A token may begin with a brace too. */
async function startsWithObject(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<boolean> {
  let head = "";
  for await (const chunk of chunks) {
    head += Buffer.from(chunk.subarray(0, HEAD_BYTES)).toString("utf8");
    if (head.length >= HEAD_BYTES || head.trimStart().includes("\n")) break;
  }
  return /^\ufeff?\s*\{\s*"(text|spans|labels|tags|kind|system|id)"\s*:/.test(head);
}

/** Yields the cases of every file in turn, at most `limit` of each; 0 means all. Throws `DataError`. */
export async function* casesOf(files: readonly DataFile[], limit: number, warn: Warn): AsyncGenerator<EvalCase> {
  for (const file of files) {
    let count = 0;
    const cases = file.isJsonLines ? jsonCases(file, warn) : sentencesOf(file.lines(), file.name, warn);
    for await (const one of cases) {
      yield one;
      count += 1;
      if (count === limit) break;
    }
  }
}

async function* jsonCases({ lines, name }: DataFile, warn: Warn): AsyncGenerator<EvalCase> {
  for await (const line of lines()) {
    const one = caseOf(line, name, warn);
    if (one !== undefined) yield one;
  }
}
