/**
 * The console's access to this machine: verbs that work on files, each with the verb's own code, and what it remembers between
 * runs, in `$XDG_STATE_HOME/gateway/console`.
 */

import { access, mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { anySignal, escapeControls } from "../base/index.ts";
import type { ConsolePorts, JobOptions } from "../console/index.ts";
import { completePath } from "./complete-path.ts";
import { runCommand } from "./console-command.ts";
import { createDocumentPorts } from "./console-documents.ts";
import { editText } from "./edit-text.ts";
import { follow } from "./follow.ts";
import { UsageError } from "./parse-flags.ts";
import { type Io, resolvePath } from "./process-io.ts";
import { sizeText } from "./progress-line.ts";
import { stateHome } from "./state-home.ts";
import { fileTarget, writeWhole } from "./write-atomically.ts";

/** Maximum size of a document; the gateway accepts no larger one. */
const MAX_DOCUMENT_BYTES = 4 << 20;
/** Maximum size of history or statements; a console writes no more. */
const MAX_MEMORY_BYTES = 1 << 20;
const MAX_PAGE_BYTES = 8 << 20;
const SCRAPE_LIMIT_MS = 5_000;

export function createPorts(io: Io): ConsolePorts {
  return {
    async verifyAudit(file, { signal, onProgress }) {
      const { inputOf, reportLines } = await import("./verbs/audit-verify.ts");
      const { verifyTrail } = await import("../server/audit/index.ts");
      const report = await verifyTrail([inputOf({ ...io, signal }, file)], {
        keys: new Map(),
        heads: [],
        signal,
        onProgress: ({ records, bytes }) =>
          onProgress(`${records.toLocaleString("en-US")} records, ${sizeText(bytes)}`),
      });
      const isGood = report.findings.length === 0;
      const lines = [...reportLines(report)].map((text) => [{ text: escapeControls(text) }]);
      return { isGood, lines };
    },
    async saveSnapshot(address, file, { isStale, signal, onProgress }) {
      const { saveArchive } = await import("./verbs/snapshot-save.ts");
      const target = await freshTarget(io, file);
      const saved = await saveArchive(address, {
        isStale,
        signal,
        progress: byteProgress("saved", onProgress),
        write: async (parts) => void (await writeWhole(target, parts)),
      });
      return `saved ${file}: ${saved}`;
    },
    async restoreSnapshot(address, file, { signal, onProgress }) {
      const { archiveIn, restoreArchive } = await import("./verbs/snapshot-restore.ts");
      const source = await archiveIn(file, { ...io, signal });
      const { summary } = await restoreArchive(address, source, {
        withoutSecrets: false,
        signal,
        progress: byteProgress("sent", onProgress),
        onSent: () => onProgress("sent; the cluster replaces its state"),
      });
      return `restored ${file}: ${summary}`;
    },
    async explainRequest(client, id, signal) {
      const { explanationOf } = await import("./verbs/explain.ts");
      return (await explanationOf(client, id, signal)).map((text) => [{ text: text.trimEnd() }]);
    },
    async secretIn(text) {
      const { secretIn } = await import("../server/detectors/index.ts");
      return secretIn(text);
    },
    readDocument: (file, signal) => readBounded(resolvePath(io, file), MAX_DOCUMENT_BYTES, signal),
    editText: (text, name, signal) => editText(text, name, { env: io.env, signal }),
    completePath: (text, signal) => completePath(io, text, signal),
    async saveText(file, text, { signal, replaces }) {
      signal.throwIfAborted();
      const path = resolvePath(io, fromHome(io, file));
      if (!replaces && (await isFile(path))) return { kind: "exists", path };
      await writeWhole(await fileTarget(path), bytesOf(text));
      return { kind: "saved", path };
    },
    memory: createMemory(io),
    follow: (file, fromEnd, signal, onWaiting) => follow(resolvePath(io, file), fromEnd, signal, onWaiting),
    documents: createDocumentPorts(io),
    runCommand: (argv, address, signal) => runCommand(argv, { io, address, signal }),
    scrape,
  };
}

/** Does not overwrite: a typing error must not cost an archive. */
async function freshTarget(io: Io, file: string): ReturnType<typeof fileTarget> {
  const path = resolvePath(io, file);
  if (await isFile(path)) throw new UsageError(`${file} exists already; name another file`);
  return await fileTarget(path);
}

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isFile() === true;

/** Replaces `~/` as a shell would. */
function fromHome({ env }: Io, file: string): string {
  const home = env["HOME"] ?? "";
  return home !== "" && file.startsWith("~/") ? join(home, file.slice(2)) : file;
}

function byteProgress(verb: string, onProgress: JobOptions["onProgress"]): { add(bytes: number): void } {
  let total = 0;
  return {
    add(bytes) {
      total += bytes;
      onProgress(`${verb} ${sizeText(total)}`);
    },
  };
}

function createMemory(io: Io): ConsolePorts["memory"] {
  let saving: Promise<void> = Promise.resolve();
  async function write(name: string, next: (stored: string) => string): Promise<void> {
    try {
      const file = memoryFile(io, name);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      // Not aborted when the console exits: an unfinished read would lose the stored lines.
      const stored = (await isAbsent(file)) ? "" : await readBounded(file, MAX_MEMORY_BYTES);
      await writeWhole(await fileTarget(file), bytesOf(next(stored)));
    } catch {
      // A write that fails is ignored: the value is still on the screen, and a read-only home is not the operator's fault.
    }
  }
  return {
    async load(name) {
      try {
        return await readBounded(memoryFile(io, name), MAX_MEMORY_BYTES, io.signal);
      } catch {
        return "";
      }
    },
    save(name, next) {
      // Sequential, since two concurrent writes would each extend the earlier content.
      saving = saving.then(() => write(name, next));
      return saving;
    },
  };
}

/** Returns whether the file does not exist. Other errors are left to the read that follows. */
async function isAbsent(file: string): Promise<boolean> {
  return await access(file).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT",
  );
}

function memoryFile(io: Io, name: string): string {
  const folder = stateHome(io);
  if (folder === undefined)
    throw new UsageError("there is no folder for files of the console: set HOME or XDG_STATE_HOME");
  return join(folder, "gateway", "console", name);
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text, "utf8");
}

async function readBounded(path: string, limit: number, signal?: AbortSignal): Promise<string> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read: ${error.code === "ENOENT" ? "there is no such file" : error.code}`);
  });
  if (!found.isFile()) throw new UsageError(`${path} is not a file`);
  if (found.size > limit) throw new UsageError(`${path} is over ${sizeText(limit)}`);
  return await readFile(path, { encoding: "utf8", ...(signal !== undefined && { signal }) });
}

async function scrape(url: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(url, { signal: anySignal([signal, AbortSignal.timeout(SCRAPE_LIMIT_MS)]) });
  if (!answer.ok || answer.body === null) {
    await answer.body?.cancel();
    throw new Error(`${url} answered ${answer.status}`);
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MAX_PAGE_BYTES) throw new Error(`${url} answers more than ${sizeText(MAX_PAGE_BYTES)}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
