/**
 * `gateway import SYSTEM FILE`: converts another gateway's configuration to a deployment document, and writes it to
 * stdout or a file if it compiles. Settings that are left out or changed are listed on stderr, by line of the source,
 * and in the report.
 */

import { escapeControls } from "../../base/index.ts";
import { formatProblem, MAX_DOCUMENT_BYTES, type Source } from "../../server/core/config/index.ts";
import { compileWithoutNode } from "../../server/node/index.ts";
import { joinLines, readAll, stdinOf, writeAll } from "../copy-streams.ts";
import { readInput } from "../file-input.ts";
import {
  type Imported,
  importConfiguration,
  isPreset,
  reportText,
  SYSTEMS,
  type System,
  titleOf,
} from "../import/index.ts";
import { clipArgument, type FlagsOf, UsageError } from "../parse-flags.ts";
import { type ExitStatus, type Io, resolvePath } from "../process-io.ts";
import type { importFlags } from "../verb-flags.ts";
import { fileTarget, writeWhole } from "../write-atomically.ts";

type Options = FlagsOf<typeof importFlags>;

export async function run(
  { o, preset, report }: Options,
  [systemName = "", path = ""]: readonly string[],
  io: Io,
): Promise<ExitStatus> {
  const system = systemOf(systemName);
  const presets = presetsOf(preset);
  if (o !== undefined && o === report) throw new UsageError("flags '-o' and '-report' name the same file");
  const target = o === undefined ? undefined : await freeTarget(o, io);
  const reportTarget = report === undefined ? undefined : await freeTarget(report, io);
  const source = await sourceAt(path, io);
  const printLine = (line: string): void => void io.stderr.write(`${escapeControls(line)}\n`);
  const imported = importConfiguration(system, source, presets);
  if (imported.kind === "refused") {
    for (const problem of imported.problems) printLine(problem);
    printLine("gateway: nothing was written");
    return 1;
  }
  for (const { line, path: key, message } of imported.notes)
    printLine(`${source.name}:${line}: ${key === "" ? "" : `${key}: `}${message}`);
  const errors = imported.providers === 0 ? [] : await errorsOf(imported, io);
  if (errors.length > 0) {
    for (const error of errors) printLine(error);
    printLine(
      "gateway: nothing was written, because the document does not compile; this is a defect of 'gateway import'",
    );
    return 1;
  }
  if (reportTarget !== undefined) {
    const named = { system, title: titleOf(system), source: source.name, document: o };
    await writeWhole(reportTarget, once(reportText(imported, named)));
  }
  if (imported.providers === 0) {
    printLine("gateway: no document was written, because no provider could be imported");
    return 1;
  }
  if (target === undefined) await writeAll(io.stdout, joinLines([imported.text]), io.signal);
  else await writeWhole(target, once(imported.text));
  printLine(summary(imported));
  return 0;
}

function systemOf(systemName: string): System {
  const found = SYSTEMS.find((name) => name === systemName);
  if (found === undefined) throw new UsageError(`'${clipArgument(systemName)}' is none of ${SYSTEMS.join(", ")}`);
  return found;
}

function presetsOf(systemName: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    systemName.map((pair) => {
      const at = pair.lastIndexOf("=");
      const [name, preset] = [pair.slice(0, Math.max(0, at)), pair.slice(at + 1)];
      if (name === "") throw new UsageError(`flag '-preset' is NAME=PRESET, not '${clipArgument(pair)}'`);
      if (!isPreset(preset)) throw new UsageError(`there is no preset '${clipArgument(preset)}' in the catalog`);
      return [name, preset];
    }),
  );
}

/** Returns the target of a file that does not exist yet; an existing one may have been edited by hand. */
async function freeTarget(path: string, io: Io) {
  const whole = resolvePath(io, path);
  const target = await fileTarget(whole);
  const exists =
    target.kind === "regular" &&
    (await readInput(io, path).then(
      () => true,
      () => false,
    ));
  if (exists) throw new UsageError(`'${clipArgument(path)}' exists already; name a new file, or remove it first`);
  return target;
}

async function sourceAt(path: string, io: Io): Promise<Source> {
  const shown = path === "-" ? "stdin" : `'${clipArgument(path)}'`;
  const stream = path === "-" ? stdinOf(io, "the configuration") : (await readInput(io, path)).open();
  const bytes = await readAll(stream, MAX_DOCUMENT_BYTES, shown, io.signal);
  return { name: path === "-" ? "stdin" : path, text: textIn(bytes, shown) };
}

/**
 * Decodes UTF-8. Throws `UsageError` for other encodings, such as UTF-16, which some editors and shells write and in
 * which every other byte of a configuration is 0.
 */
function textIn(bytes: Buffer, shown: string): string {
  if (bytes.subarray(0, 64).includes(0))
    throw new UsageError(`${shown} is UTF-16 or not a text; convert it first: iconv -f UTF-16 -t UTF-8`);
  const decode = (part: Buffer): string => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(part);
  try {
    return decode(bytes);
  } catch {
    throw new UsageError(
      `${shown} is not valid UTF-8 in line ${lineNotDecoded(bytes, decode)}; convert it first (iconv)`,
    );
  }
}

/** Returns the first line that is not UTF-8. No character of several bytes contains the byte of a line end. */
function lineNotDecoded(bytes: Buffer, decode: (part: Buffer) => string): number {
  let line = 1;
  for (let from = 0; ; line += 1) {
    const end = bytes.indexOf(0x0a, from);
    try {
      decode(bytes.subarray(from, end < 0 ? bytes.length : end));
    } catch {
      return line;
    }
    if (end < 0) return line;
    from = end + 1;
  }
}

/** Compiles the document as `check -offline` does, with stand-ins for its variables. */
async function errorsOf(
  { text, variables }: Extract<Imported, { kind: "imported" }>,
  io: Io,
): Promise<readonly string[]> {
  const placeholderVariables = [...variables].map(([name, role]) => [
    name,
    role === "address" ? "https://stand-in.example" : "stand-in",
  ]);
  const { compiled } = await compileWithoutNode(
    { name: "document", text },
    { ...io.env, ...Object.fromEntries(placeholderVariables) },
  );
  if (compiled.kind !== "refused") return [];
  return compiled.problems.filter(({ severity }) => severity === "error").map(formatProblem);
}

function summary({ providers, notes, variables }: Extract<Imported, { kind: "imported" }>): string {
  const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;
  const names = [...variables.keys()].sort();
  const set = names.length === 0 ? "" : `; set ${names.join(", ")}`;
  return `gateway: ${count(providers, "provider")}, ${count(notes.length, "note")}${set}; then 'gateway check -offline -config NODE_FILE'`;
}

async function* once(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}
