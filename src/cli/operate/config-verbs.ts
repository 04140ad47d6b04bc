/**
 * `gateway config show, diff, apply, history, rollback, edit` and `reload`: show and change the configuration sources
 * of a running cluster. The differences are those that the console shows.
 */

import { AdminError } from "../../admin-api/index.ts";
import { escapeControls, escapeControlsOfLines } from "../../base/index.ts";
import type { Context, Line, Need, PageRequest } from "../../console/index.ts";
import { readAll, stdinOf } from "../copy-streams.ts";
import { editText } from "../edit-text.ts";
import { readInput } from "../file-input.ts";
import { clipArgument, type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { tableLines } from "../table-text.ts";
import { effectLine } from "../verbs/rehearse.ts";
import type { configApplyFlags, configDiffFlags, configRollbackFlags, plainFlags } from "./operate-flags.ts";
import { type ConsoleModule, contextOf, loadConsole, runChange } from "./run-change.ts";
import { askToConfirm } from "./terminal-prompt.ts";
import { unknownName } from "./unknown-name.ts";
import { type GatewayConnection, withGateway } from "./with-gateway.ts";

const NEEDS: readonly Need[] = [{ id: "list_sources" }, { id: "get_config" }, { id: "list_cluster_members" }];

/** Maximum size of a document; the gateway accepts no larger one. */
const MAX_DOCUMENT_BYTES = 4 << 20;

/** Name of the source that the first document creates. */
const FIRST_SOURCE = "default";

interface OpenDocuments {
  readonly called: GatewayConnection;
  readonly context: Context;
  readonly console: ConsoleModule;
}

function openDocuments(
  verb: string,
  options: FlagsOf<typeof plainFlags>,
  io: Io,
  work: (opened: OpenDocuments) => Promise<ExitStatus>,
): Promise<ExitStatus> {
  return withGateway(verb, options, io, async (called) => {
    const console = await loadConsole();
    return await work({ called, console, context: await contextOf(called, NEEDS, io, console) });
  });
}

const sourcesOf = ({ context, console }: OpenDocuments) => console.rowsOf(context.data, "sources");

/**
 * Returns the name of the source: the given one, otherwise the only one, otherwise `default`. Throws `UsageError` if
 * there are several.
 */
function sourceOf(named: string | undefined, opened: OpenDocuments): string {
  if (named !== undefined) return named;
  const names = sourcesOf(opened).map(({ name }) => name);
  if (names.length > 1)
    throw new UsageError(`which source? Give -source NAME: ${names.map(escapeControls).join(", ")}`);
  return names[0] ?? FIRST_SOURCE;
}

function missingSource(verb: string, name: string, opened: OpenDocuments, io: Io): boolean {
  const names = sourcesOf(opened).map((row) => row.name);
  if (names.includes(name)) return false;
  io.stderr.write(`gateway ${verb}: ${unknownName("source", name, names)}\n`);
  return true;
}

/** With a name, prints the document as it was written; without, lists the sources of the configuration and the state of the file. */
export const show = {
  run: (options: FlagsOf<typeof plainFlags>, [name]: readonly string[], io: Io): Promise<ExitStatus> =>
    openDocuments("config show", options, io, async (opened) => {
      const { called, context } = opened;
      if (name !== undefined) {
        if (missingSource("config show", name, opened, io)) return 1;
        const { document } = await called.client.call("get_source", { params: { name } }, { signal: io.signal });
        const text = document.endsWith("\n") ? document : `${document}\n`;
        io.stdout.write(io.isTerminal("stdout") ? escapeControlsOfLines(text) : text);
        return 0;
      }
      const columns = ["source", "revision", "writer", "updated_at", "by", "state", "message"];
      const rows = sourcesOf(opened).map((row) => [
        row.name,
        row.revision,
        row.writer,
        row.updated_at,
        row.by,
        row.state,
        row.message,
      ]);
      const shown = columns.map((column) => ({ name: column, isNumeric: column === "revision" }));
      if (rows.length === 0) io.stderr.write("No configuration source yet: gateway config apply FILE\n");
      else for (const line of tableLines(shown, rows, io.columns())) io.stdout.write(line);
      const [first] = sourcesOf(opened);
      // A redirected list is probably a mistake: the caller wants the document.
      if (first !== undefined && !io.isTerminal("stdout"))
        io.stderr.write(`This is the list of sources; 'gateway config show ${first.name}' prints the document.\n`);
      const file = context.data.get({ id: "get_config" })?.value?.file_status;
      if (file !== undefined) {
        io.stderr.write(
          `file: ${escapeControls(file.message)}${file.remedy === "" ? "" : `; ${escapeControls(file.remedy)}`}\n`,
        );
      }
      return 0;
    }),
};

async function documentIn(file: string, io: Io): Promise<string> {
  const stream = file === "-" ? stdinOf(io, "the document") : (await readInput(io, file)).open();
  return (await readAll(stream, MAX_DOCUMENT_BYTES, "the document", io.signal)).toString("utf8");
}

interface Preview {
  readonly page: readonly Line[];
  readonly isChanged: boolean;
  /** True if the gateway would refuse the document; the page has the reason. */
  readonly isRefused: boolean;
}

/** Returns what a document or an earlier revision would change, as a page. Writes nothing. */
async function previewOf(
  opened: OpenDocuments,
  source: string,
  from: { readonly document: string; readonly file: string } | { readonly revision: number },
  io: Io,
): Promise<Preview> {
  const { client } = opened.called;
  const params = { name: source };
  const query = { dry_run: true };
  const limits = { signal: io.signal };
  let isChanged = true;
  let isRefused = false;
  try {
    ({ changed: isChanged } =
      "revision" in from
        ? await client.call("rollback_source", { params, query, body: { revision: from.revision } }, limits)
        : await client.call("put_source", { params, query, body: from.document }, limits));
  } catch (error) {
    if (!(error instanceof AdminError) || error.code !== "refused") throw error;
    isRefused = true;
  }
  const request: PageRequest = { kind: "preview", source, from: "revision" in from ? from : { file: from.file } };
  const ports = { readDocument: () => Promise.resolve("document" in from ? from.document : "") };
  return { page: await opened.console.loadPage(request, { client, ports, signal: io.signal }), isChanged, isRefused };
}

export const diff = {
  async run(options: FlagsOf<typeof configDiffFlags>, [file = ""]: readonly string[], io: Io): Promise<ExitStatus> {
    const document = await documentIn(file, io);
    return await openDocuments("config diff", options, io, async (opened) => {
      const source = sourceOf(options.source, opened);
      const { page, isChanged, isRefused } = await previewOf(opened, source, { document, file }, io);
      for (const line of page) io.stdout.write(`${opened.console.textOfLine(line)}\n`);
      if (isChanged && !isRefused) await writeEffect(opened, source, document, io.stdout, io);
      return isChanged || isRefused ? 1 : 0;
    });
  },
};

/** Writes one line about the effect that the document would have had on the last hour, if that is known. */
async function writeEffect(
  { called }: OpenDocuments,
  source: string,
  document: string,
  out: Io["stdout"],
  io: Io,
): Promise<void> {
  const line = await effectLine(called, source, document, io);
  if (line !== undefined) out.write(`${escapeControls(line)}\n`);
}

interface Applied {
  readonly verb: string;
  readonly source: string;
  readonly document: string;
  readonly file: string;
  readonly isDryRun: boolean;
  readonly isAgreed: boolean;
}

async function applyDocument(opened: OpenDocuments, applied: Applied, io: Io): Promise<ExitStatus> {
  const { console, context, called } = opened;
  const { verb, source, document, file, isDryRun, isAgreed } = applied;
  const { page, isChanged, isRefused } = await previewOf(opened, source, { document, file }, io);
  const isShown = isRefused || isDryRun;
  if (isShown) for (const line of page) (isDryRun ? io.stdout : io.stderr).write(`${console.textOfLine(line)}\n`);
  if (isRefused) return 1;
  if (isChanged) await writeEffect(opened, source, document, isDryRun ? io.stdout : io.stderr, io);
  if (isDryRun) return 0;
  if (!isChanged) {
    io.stderr.write(`${clipArgument(source)}: the document is the stored one; nothing was changed.\n`);
    return 0;
  }
  const dialog = console.putDocumentDialog(source, file === "-" ? "stdin" : file, context);
  const change = {
    verb,
    dialog,
    values: { source },
    context,
    consent: isAgreed ? "yes" : "ask",
    page,
    document,
  } as const;
  return await runChange(change, called, io, console);
}

export const apply = {
  async run(options: FlagsOf<typeof configApplyFlags>, [file = ""]: readonly string[], io: Io): Promise<ExitStatus> {
    const document = await documentIn(file, io);
    return await openDocuments("config apply", options, io, (opened) =>
      applyDocument(
        opened,
        {
          verb: "config apply",
          source: sourceOf(options.source, opened),
          document,
          file,
          isDryRun: options.dryRun,
          isAgreed: options.yes,
        },
        io,
      ),
    );
  },
};

export const history = {
  run: (options: FlagsOf<typeof configDiffFlags>, _: readonly string[], io: Io): Promise<ExitStatus> =>
    openDocuments("config history", options, io, async (opened) => {
      const source = sourceOf(options.source, opened);
      if (missingSource("config history", source, opened, io)) return 1;
      const { items } = await opened.called.client.call(
        "list_source_revisions",
        { params: { name: source } },
        { signal: io.signal },
      );
      const columns = ["revision", "updated_at", "by", "bytes"].map((name) => ({
        name,
        isNumeric: name === "revision" || name === "bytes",
      }));
      const rows = items.map((row) => [row.revision, row.updated_at, row.by, row.bytes]);
      for (const line of tableLines(columns, rows, io.columns())) io.stdout.write(line);
      return 0;
    }),
};

export const rollback = {
  run: (options: FlagsOf<typeof configRollbackFlags>, [text = ""]: readonly string[], io: Io): Promise<ExitStatus> => {
    const revision = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    if (revision < 1)
      throw new UsageError(`'${clipArgument(text)}' is not a revision: 'gateway config history' lists them`);
    return openDocuments("config rollback", options, io, async (opened) => {
      const { console, context, called } = opened;
      const source = sourceOf(options.source, opened);
      if (missingSource("config rollback", source, opened, io)) return 1;
      const dialog = console.rollbackDialog(source, revision, context);
      const blockedReason = dialog.blockedReason?.({}, context);
      if (blockedReason !== undefined) {
        io.stderr.write(`gateway config rollback: ${blockedReason}\n`);
        return 1;
      }
      const { page, isRefused } = await previewOf(opened, source, { revision }, io);
      if (isRefused) {
        for (const line of page) io.stderr.write(`${console.textOfLine(line)}\n`);
        return 1;
      }
      const consent = options.yes ? "yes" : "ask";
      return await runChange(
        { verb: "config rollback", dialog, values: {}, context, consent, page },
        called,
        io,
        console,
      );
    });
  },
};

export const reload = {
  run: (options: FlagsOf<typeof configRollbackFlags>, _: readonly string[], io: Io): Promise<ExitStatus> =>
    openDocuments("config reload", options, io, async ({ console, context, called }) => {
      const dialog = console.reloadDialog(context);
      const consent = options.yes ? "yes" : "ask";
      return await runChange({ verb: "config reload", dialog, values: {}, context, consent }, called, io, console);
    }),
};

export const edit = {
  run: (options: FlagsOf<typeof plainFlags>, [named]: readonly string[], io: Io): Promise<ExitStatus> => {
    if (!io.isTerminal("stdin")) throw new UsageError("stdin is not a terminal: use gateway config apply FILE");
    return openDocuments("config edit", options, io, async (opened) => {
      const source = sourceOf(named, opened);
      if (missingSource("config edit", source, opened, io)) return 1;
      const blockedReason = opened.console.whyNotWritable(opened.context);
      if (blockedReason !== undefined) {
        io.stderr.write(`gateway config edit: ${blockedReason}\n`);
        return 1;
      }
      const { document } = await opened.called.client.call(
        "get_source",
        { params: { name: source } },
        { signal: io.signal },
      );
      return await editDocument(opened, source, document, io);
    });
  },
};

/** Opens the editor until the document is applied or the operator gives up. A refused document is edited again. */
async function editDocument(opened: OpenDocuments, source: string, document: string, io: Io): Promise<ExitStatus> {
  let edited = document;
  for (;;) {
    edited = await editText(edited, source, io);
    if (edited === document) {
      io.stderr.write("Nothing was edited, and nothing was changed.\n");
      return 0;
    }
    const named = { verb: "config edit", source, file: "the edited document" };
    const applied = { ...named, document: edited, isDryRun: false, isAgreed: false };
    const status = await applyDocument(opened, applied, io);
    if (status === 0) return 0;
    const again = { prompt: "Edit it again? [Y/n] ", isYes: (answer: string) => !/^n/i.test(answer.trim()) };
    if (!(await askToConfirm(again, io))) return 1;
  }
}
