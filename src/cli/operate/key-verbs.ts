/** `gateway keys mint, rotate, revoke` and `find`. The text of a key goes to stdout alone, everything else to stderr. */

import { formatDuration } from "../../base/index.ts";
import type { Context, Need } from "../../console/index.ts";
import { readAll, stdinOf } from "../copy-streams.ts";
import { clipArgument, type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { mintFlags, plainFlags, removeFlags, rotateFlags } from "./operate-flags.ts";
import { columnsOf, listNamed } from "./printable-lists.ts";
import { recordLines } from "./rows-text.ts";
import { type ConsoleModule, contextOf, loadConsole, runChange } from "./run-change.ts";
import { unknownName } from "./unknown-name.ts";
import { withGateway } from "./with-gateway.ts";

const NEEDS: readonly Need[] = [
  { id: "list_keys" },
  { id: "list_profiles" },
  { id: "list_budgets" },
  { id: "list_cluster_members" },
];

/** Maximum size of a pasted text, which may be a whole log. */
const MAX_LEAK_BYTES = 1 << 20;

export const mint = {
  run(options: FlagsOf<typeof mintFlags>, [name = ""]: readonly string[], io: Io): Promise<ExitStatus> {
    const metadata = metadataText(options.metadata);
    return withGateway("keys mint", options, io, async (called) => {
      const console = await loadConsole();
      const context = await contextOf(called, NEEDS, io, console);
      const { profile = "" } = options;
      const profiles = context.data.get({ id: "list_profiles" })?.value?.map((row) => row.name);
      if (profile !== "" && profiles !== undefined && !profiles.includes(profile)) {
        io.stderr.write(`gateway keys mint: ${unknownName("profile", profile, profiles)}\n`);
        return 1;
      }
      const end = options.expires === undefined ? "never" : formatDuration(options.expires);
      const change = {
        verb: "keys mint",
        dialog: console.mintDialog(context),
        values: { name, profile, end, metadata },
        context,
        consent: "none",
      } as const;
      return await runChange(change, called, io, console);
    });
  },
};

/** Converts `NAME=VALUE` flags to the JSON text that the dialog expects. Throws `UsageError`. */
function metadataText(pairs: readonly string[]): string {
  if (pairs.length === 0) return "";
  const entries = pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at <= 0) throw new UsageError(`-metadata '${clipArgument(pair)}' is not NAME=VALUE`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  const names = new Set(entries.map(([name]) => name));
  if (names.size < entries.length) throw new UsageError("-metadata gives the same name twice");
  return JSON.stringify(Object.fromEntries(entries));
}

export const rotate = {
  run: (options: FlagsOf<typeof rotateFlags>, [name = ""]: readonly string[], io: Io): Promise<ExitStatus> =>
    withGateway("keys rotate", options, io, async (called) => {
      const console = await loadConsole();
      const context = await contextOf(called, NEEDS, io, console);
      if (isMissing("keys rotate", name, context, console, io)) return 1;
      const change = {
        verb: "keys rotate",
        dialog: console.rotateDialog(name),
        values: {},
        context,
        consent: options.yes ? "yes" : "ask",
      } as const;
      return await runChange(change, called, io, console);
    }),
};

export const revoke = {
  run: (options: FlagsOf<typeof removeFlags>, names: readonly string[], io: Io): Promise<ExitStatus> =>
    withGateway("keys revoke", options, io, async (called) => {
      const console = await loadConsole();
      const context = await contextOf(called, NEEDS, io, console);
      const existingNames = new Set(console.rowsOf(context.data, "keys").map((row) => row.name));
      const missingNames = names.filter((name) => !existingNames.has(name));
      const left = [...new Set(names.filter((name) => existingNames.has(name)))];
      if (options.ifExists)
        for (const name of missingNames)
          io.stderr.write(`there is no key '${clipArgument(name)}'; nothing to revoke.\n`);
      else if (missingNames.map((name) => isMissing("keys revoke", name, context, console, io)).includes(true))
        return 1;
      if (left.length === 0) return 0;
      const change = {
        verb: "keys revoke",
        dialog: console.revokeDialog(left),
        values: {},
        context,
        consent: options.yes ? "yes" : "ask",
      } as const;
      return await runChange(change, called, io, console);
    }),
};

function isMissing(verb: string, name: string, { data }: Context, console: ConsoleModule, io: Io): boolean {
  if (data.get({ id: "list_keys" })?.value === undefined) return false;
  const known = console.rowsOf(data, "keys").map((row) => row.name);
  if (known.includes(name)) return false;
  io.stderr.write(`gateway ${verb}: ${unknownName("key", name, known)}\n`);
  return true;
}

/** Finds the key that a leaked text belongs to by its public id. The text itself is not sent. */
export const find = {
  async run(options: FlagsOf<typeof plainFlags>, [argument]: readonly string[], io: Io): Promise<ExitStatus> {
    const text =
      argument === undefined || argument === "-"
        ? (await readAll(stdinOf(io, "the leaked text"), MAX_LEAK_BYTES, "the text", io.signal)).toString("utf8")
        : argument;
    return await withGateway("keys find", options, io, async ({ client }) => {
      const console = await loadConsole();
      const { items } = await client.call("list_keys", {}, { signal: io.signal });
      const id = console.keyIdIn(text) ?? text.trim();
      const found = items.filter((row) => row.id === id || row.name === id);
      if (found.length === 0) {
        io.stderr.write(`gateway keys find: ${notFound(console.keyIdIn(text))}\n`);
        return 1;
      }
      const [row] = found;
      if (row === undefined) return 1;
      for (const text of recordLines(row, columnsOf(listNamed("keys")))) io.stdout.write(text);
      io.stderr.write(`To stop it now: gateway keys revoke ${row.name}\n`);
      return 0;
    });
  },
};

const notFound = (id: string | undefined): string =>
  id === undefined
    ? "the text contains no virtual key (gwk_...), and is not the name or id of one"
    : `no key has the id ${id}: it was revoked or rotated, or belongs to another cluster`;
