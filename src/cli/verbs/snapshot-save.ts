/**
 * `gateway snapshot save FILE`: saves an archive of the cluster's state to a file, or to stdout (`-`). Source:
 * specification document 1, "gateway snapshot save".
 *
 * A file is complete or does not appear. An archive of that name is replaced, which is reported; another file is kept. On stdout, only the exit status shows whether the archive is complete.
 */

import { stat } from "node:fs/promises";
import {
  type AdminAddress,
  type AdminAnswer,
  AdminError,
  ARCHIVE_TYPE,
  BASE_PATH,
  openTransport,
  throwIfRefused,
} from "../../admin-api/index.ts";
import { canBeArchive } from "../archive-head.ts";
import { chooseAddress } from "../choose-address.ts";
import { writeAll } from "../copy-streams.ts";
import { readInput } from "../file-input.ts";
import { clipArgument, type FlagsOf, UsageError } from "../parse-flags.ts";
import { type ExitStatus, type Io, resolvePath } from "../process-io.ts";
import { countBytes, type Progress, progressOf, sizeText } from "../progress-line.ts";
import { reportFailure } from "../report-failure.ts";
import type { snapshotSaveFlags } from "../verb-flags.ts";
import { fileTarget, writeWhole } from "../write-atomically.ts";

type Options = FlagsOf<typeof snapshotSaveFlags>;

/** Timeout until the archive begins, in milliseconds. The node first takes a snapshot of its state. */
const TIME_LIMIT_MS = 300_000;
/** Error codes of a node that is not the leader, and of a cluster without a leader. */
const LEADERLESS: ReadonlySet<string> = new Set(["conflict", "no_leader"]);

export async function run(options: Options, [name = ""]: readonly string[], io: Io): Promise<ExitStatus> {
  if (name === "") throw new UsageError("the name of the file is empty");
  if (name === "-" && io.isTerminal("stdout")) {
    throw new UsageError("an archive cannot be printed to a terminal: give a file name, or redirect stdout");
  }
  const target = name === "-" ? undefined : await fileTarget(resolvePath(io, name));
  const replaced = target?.kind === "regular" ? await replacedArchive(name, io) : "";
  const address = chooseAddress(options, io);
  const progress = progressOf(io, "saved");
  const write = async (parts: AsyncIterable<Uint8Array>): Promise<void> => {
    if (target === undefined) await writeAll(io.stdout, parts, io.signal);
    else await writeWhole(target, parts);
  };
  try {
    const saved = await saveArchive(address, { isStale: options.stale, signal: io.signal, progress, write });
    progress.clear();
    io.stderr.write(`saved ${target === undefined ? "an archive" : name}: ${saved}${replaced}\n`);
    return 0;
  } catch (error) {
    progress.clear();
    const status = reportFailure("snapshot save", error, address, io);
    if (!options.stale && error instanceof AdminError && LEADERLESS.has(error.code)) {
      io.stderr.write("try: -stale, for the state of this node, which may lack the newest writes\n");
    }
    return status;
  }
}

/**
 * Describes the archive that will be replaced; empty if there is none. Throws `UsageError` for a file that is not an archive,
 * which was probably named by mistake. An empty file, as `mktemp` makes one, is replaced.
 */
async function replacedArchive(name: string, io: Io): Promise<string> {
  const exists = await stat(resolvePath(io, name)).then(
    () => true,
    () => false,
  );
  if (!exists) return "";
  const { size, head, modifiedAt } = await readInput(io, name);
  if (size === 0) return "";
  if (!canBeArchive(head)) {
    throw new UsageError(`'${clipArgument(name)}' exists and is not a snapshot archive; name another file`);
  }
  return `; it replaced the archive of ${modifiedAt.toISOString().slice(0, 19)}Z`;
}

export interface SaveOptions {
  /** True to allow an archive from a node that is not the leader. */
  readonly isStale: boolean;
  readonly signal: AbortSignal;
  readonly progress: Pick<Progress, "add">;
  write(parts: AsyncIterable<Uint8Array>): Promise<void>;
}

/** Saves the archive and returns a description of it. */
export async function saveArchive(address: AdminAddress, options: SaveOptions): Promise<string> {
  const { isStale, signal, progress, write } = options;
  const transport = openTransport(address);
  try {
    const request = { method: "GET", path: `${BASE_PATH}/snapshot${isStale ? "?stale=true" : ""}` };
    const archive = await transport.exchange(request, archiveOf, { signal, timeLimitMs: TIME_LIMIT_MS });
    let size = 0;
    const add = (bytes: number): void => {
      size += bytes;
      progress.add(bytes);
    };
    await write(countBytes(archive.parts, { add }));
    return `index ${archive.index}, term ${archive.term}, ${sizeText(size)}`;
  } finally {
    transport.close();
  }
}

interface Archive {
  readonly index: string;
  readonly term: string;
  readonly parts: AsyncIterable<Uint8Array>;
}

async function archiveOf(answer: AdminAnswer): Promise<Archive> {
  await throwIfRefused(answer);
  const { "content-type": type, "x-gateway-index": index, "x-gateway-term": term } = answer.headers;
  // Refuses other content, such as an error page of a proxy. If it were saved as an archive, nobody would notice until
  // the archive is needed.
  if (type !== ARCHIVE_TYPE || !isNumber(index) || !isNumber(term)) {
    throw new AdminError(answer.status, "unintelligible", `The answer (${answer.status}) is not an archive.`);
  }
  return { index, term, parts: answer.body };
}

/** Returns whether the text is a number. It is printed, so control characters must not pass. */
function isNumber(text: string | string[] | undefined): text is string {
  return typeof text === "string" && /^\d{1,16}$/.test(text);
}
