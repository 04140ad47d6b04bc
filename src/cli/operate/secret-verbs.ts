/**
 * `gateway secrets put` and `delete`. A value is read from stdin or typed without echo, so it never appears in an
 * argument or in output.
 */

import type { Need } from "../../console/index.ts";
import { readAll } from "../copy-streams.ts";
import { clipArgument, type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { getFlags, plainFlags, removeFlags } from "./operate-flags.ts";
import { contextOf, loadConsole, runChange } from "./run-change.ts";
import { promptHidden } from "./terminal-prompt.ts";
import { unknownName } from "./unknown-name.ts";
import { withGateway } from "./with-gateway.ts";

const NEEDS: readonly Need[] = [{ id: "list_secrets" }, { id: "list_cluster_members" }];

/** Maximum size of a value from stdin, in bytes; more than the gateway accepts. */
const MAX_VALUE_BYTES = 256 << 10;

export const put = {
  async run(options: FlagsOf<typeof plainFlags>, [name = ""]: readonly string[], io: Io): Promise<ExitStatus> {
    const value = await secretValue(name, io);
    return await withGateway("secrets put", options, io, async (called) => {
      const console = await loadConsole();
      const context = await contextOf(called, NEEDS, io, console);
      const exists = console.rowsOf(context.data, "secrets").some((row) => row.name === name);
      const change = {
        verb: "secrets put",
        dialog: console.putSecretDialog(exists ? name : undefined),
        values: { ...(!exists && { name }), value },
        context,
        consent: "none",
      } as const;
      return await runChange(change, called, io, console);
    });
  },
};

/** Prints the list `secrets`, which contains names but no values. */
export const list = {
  run: async (options: FlagsOf<typeof getFlags>, _: readonly string[], io: Io): Promise<ExitStatus> =>
    await (await import("../verbs/get.ts")).run(options, ["secrets"], io),
};

/** Reads the value from the terminal, or from stdin without the last line end. Throws `UsageError` if it is empty. */
async function secretValue(name: string, io: Io): Promise<string> {
  const typed = io.isTerminal("stdin")
    ? await promptHidden(`Value of ${clipArgument(name)} (not shown): `, io)
    : (await readAll(io.stdin, MAX_VALUE_BYTES, "the value", io.signal)).toString("utf8").replace(/\r?\n$/, "");
  if (typed === "") throw new UsageError("the value is empty: nothing was sealed");
  return typed;
}

export const remove = {
  run: (options: FlagsOf<typeof removeFlags>, [name = ""]: readonly string[], io: Io): Promise<ExitStatus> =>
    withGateway("secrets delete", options, io, async (called) => {
      const console = await loadConsole();
      const context = await contextOf(called, NEEDS, io, console);
      const known = context.data.get({ id: "list_secrets" })?.value?.map((row) => row.name);
      if (known !== undefined && !known.includes(name)) {
        const note = options.ifExists
          ? `there is no secret '${clipArgument(name)}'; nothing to delete.`
          : `gateway secrets delete: ${unknownName("secret", name, known)}`;
        io.stderr.write(`${note}\n`);
        return options.ifExists ? 0 : 1;
      }
      const limits = { client: called.client, ports: { readDocument: () => Promise.resolve("") }, signal: io.signal };
      const change = {
        verb: "secrets delete",
        dialog: console.secretsRemovalDialog([name]),
        values: {},
        context,
        consent: options.yes ? "yes" : "ask",
        page: await console.loadPage({ kind: "secret_uses", names: [name] }, limits),
      } as const;
      return await runChange(change, called, io, console);
    }),
};
