/**
 * `gateway audit verify`: verifies an exported audit trail offline, chain by chain. Source: specification document 1,
 * "audit verify".
 *
 * stdout gets one line per chain, the findings, and a total; with -q only the findings. -controls adds one line per
 * control that decisions served. Status 0: every chain verified; 1: there are findings; 2: a file or a flag cannot be
 * read.
 */

import { createReadStream, readFileSync } from "node:fs";
import {
  type ChainReport,
  type Finding,
  parseChainKey,
  parseHeads,
  type TrailInput,
  type TrailReport,
  verifyTrail,
  type WitnessedHead,
} from "../../server/audit/index.ts";
import { stdinOf, untilAborted } from "../copy-streams.ts";
import { whyUnreadable } from "../file-input.ts";
import { foreignForm } from "../foreign-form.ts";
import { clipArgument, type FlagsOf, UsageError } from "../parse-flags.ts";
import { type ExitStatus, Interrupted, type Io, resolvePath } from "../process-io.ts";
import type { auditVerifyFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof auditVerifyFlags>;

const READ_BYTES = 256 * 1024;

export async function run(options: Options, files: readonly string[], io: Io): Promise<ExitStatus> {
  if (files.length === 0) throw new UsageError("missing argument: FILE...");
  if (files.filter((file) => file === "-").length > 1) throw new UsageError("stdin ('-') is given more than once");
  const keys = new Map(options.key.map(readKey));
  const heads = options.heads === undefined ? [] : readHeads(io, options.heads);
  const progress = createProgress(io);
  let report: TrailReport;
  try {
    const inputs = files.map((file) => inputOf(io, file));
    report = await verifyTrail(inputs, { keys, heads, signal: io.signal, onProgress: progress.show });
  } finally {
    progress.clear();
  }
  for (const line of reportLines(report, options.q)) io.stdout.write(`${line}\n`);
  if (options.controls) for (const line of controlLines(report)) io.stdout.write(`${line}\n`);
  return report.findings.length === 0 ? 0 : 1;
}

function readKey(text: string): readonly [string, Uint8Array] {
  try {
    const { kid, raw } = parseChainKey(text);
    return [kid, raw];
  } catch (error) {
    throw new UsageError(`flag '-key': ${messageOf(error)}`);
  }
}

function readHeads(io: Io, file: string): readonly WitnessedHead[] {
  try {
    return parseHeads(readFileSync(resolvePath(io, file), "utf8"));
  } catch (error) {
    throw new UsageError(`flag '-heads': ${clipArgument(file)}: ${reasonOf(error)}`);
  }
}

/** Reads stdin for `-`, otherwise the named file. */
export function inputOf(io: Io, file: string): TrailInput {
  if (file === "-") return { name: "stdin", chunks: named("stdin", untilAborted(stdinOf(io, "the trail"), io.signal)) };
  const name = printable(file);
  const stream = (): AsyncIterable<Uint8Array> =>
    createReadStream(resolvePath(io, file), { highWaterMark: READ_BYTES, signal: io.signal });
  return { name, chunks: openNamed(name, stream) };
}

/** Opens each file only when it is read, so that the number of files is not limited by open descriptors. */
async function* openNamed(name: string, open: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array | string> {
  yield* named(name, open());
}

async function* named(name: string, chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array | string> {
  try {
    yield* textOnly(name, chunks);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof Error && (error instanceof Interrupted || error.name === "AbortError")) throw error;
    throw new UsageError(`${name} cannot be read: ${reasonOf(error)}`);
  }
}

/**
 * Yields the chunks. Throws `UsageError` if the first one shows that the file is not a text, since a compressed file would only be
 * reported as one without records.
 */
async function* textOnly(
  name: string,
  chunks: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array | string> {
  let isFirst = true;
  for await (const chunk of chunks) {
    const form = isFirst && typeof chunk !== "string" ? foreignForm(chunk) : undefined;
    if (form !== undefined) {
      const source = name === "stdin" ? "" : ` ${/^[\w@%+=:,./-]+$/.test(name) ? name : "FILE"}`;
      throw new UsageError(`${name} is ${form.what}: ${form.reader}${source} | gateway audit verify -`);
    }
    isFirst = false;
    yield chunk;
  }
}

/** Yields the lines of a report; with `isQuiet` only the findings. */
export function* reportLines(
  { chains, findings, unlisted, cutShort }: TrailReport,
  isQuiet = false,
): Generator<string> {
  if (!isQuiet) for (const chain of chains) yield chainLine(chain);
  for (const finding of findings) yield findingLine(finding);
  if (unlisted > 0) yield `and ${count(unlisted, "more finding")}, of kinds and chains named above`;
  if (isQuiet) return;
  if (cutShort > 0) yield `${count(cutShort, "line")} cut short, as a crash leaves them: not counted`;
  if (chains.some(({ copies, misplaced }) => copies + misplaced > 0)) yield NOT_JUDGED;
  const distinct = chains.reduce((sum, { records }) => sum + records, 0);
  const found = findings.length + unlisted;
  const result = found === 0 ? "verified" : count(found, "finding");
  yield `${count(chains.length, "chain")}, ${count(distinct, "record")}: ${result}`;
}

/** Yields the number of decisions that served each control, sorted by control identifier. */
function* controlLines({ controls, uncounted, findings }: TrailReport): Generator<string> {
  yield "";
  if (controls.size === 0) yield "no decision in the input served a control";
  else {
    const rows = [...controls]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([control, n]) => [printable(control), n] as const);
    const width = Math.max(...rows.map(([control]) => control.length));
    yield `${"control".padEnd(width)}  decisions`;
    for (const [control, decisions] of rows) yield `${control.padEnd(width)}  ${decisions.toLocaleString("en-US")}`;
  }
  if (uncounted > 0) yield `and ${count(uncounted, "decision")} with further controls`;
  if (findings.length > 0) yield "the trail has findings, and missing records are not counted";
}

/**
 * Note on repeated and misplaced records. Crashes repeat records, and collectors repeat and reorder them, but their
 * numbers and links still show the true order.
 */
const NOT_JUDGED =
  "repeated and misplaced records are counted and are not faults: the order of a chain follows its signed numbers";

function chainLine(chain: ChainReport): string {
  const { node, kid, first, last, records, copies, misplaced, firstMisplaced, ephemeral, isVerified } = chain;
  const placeText = firstMisplaced && ` (the first at ${firstMisplaced.file}:${firstMisplaced.line})`;
  const notes = [
    count(records, "record"),
    ...(copies > 0 ? [`${count(copies, "repeated copy", "repeated copies")}`] : []),
    ...(misplaced > 0 ? [`${count(misplaced, "record")} behind a later one${placeText ?? ""}`] : []),
    ...(ephemeral ? ["ephemeral key"] : []),
  ];
  return `${isVerified ? "ok  " : "FAIL"} ${printable(node)} ${kid} ${first}..${last}, ${notes.join(", ")}`;
}

function findingLine({ node, kid, seq, place, message }: Finding): string {
  const placeText = [
    ...(node === undefined ? [] : [printable(node)]),
    ...(kid === undefined ? [] : [printable(kid)]),
    ...(seq === undefined ? [] : [`seq ${seq}`]),
    ...(place === undefined ? [] : [`${place.file}:${place.line}`]),
  ];
  return `${["finding", ...placeText].join(" ")}: ${message}`;
}

interface Progress {
  show(progress: { readonly records: number; readonly bytes: number }): void;
  clear(): void;
}

const PROGRESS_MS = 200;

/** Creates a progress line, which is shown only in a terminal. */
function createProgress(io: Io): Progress {
  if (!io.isTerminal("stderr")) return { show() {}, clear() {} };
  let shownAt = io.now();
  let isShown = false;
  return {
    show({ records, bytes }) {
      if (io.now() - shownAt < PROGRESS_MS) return;
      shownAt = io.now();
      isShown = true;
      io.stderr.write(`\r\u001b[K${count(records, "record")}, ${Math.round(bytes / 1e6)} MB`);
    },
    clear() {
      if (isShown) io.stderr.write("\r\u001b[K");
    },
  };
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en-US")} ${number === 1 ? one : many}`;
}

/** Replaces characters by which a hostile trail or file name could control a terminal. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e\u00a0-\u{10ffff}]/gu, "?").slice(0, 300);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns only the code of a failed system call, since the path is named already. */
function reasonOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? whyUnreadable(error)
    : messageOf(error);
}
