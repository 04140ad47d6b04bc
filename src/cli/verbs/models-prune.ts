/**
 * `gateway models prune`: removes from the cache what a configuration does not use. Source: design decisions, section
 * 12.
 *
 * stdout gets one line per removed item; without `-confirm` nothing is removed. Status 1: the configuration cannot be
 * read or is not known here, or a download is in progress.
 */

import { escapeControls } from "../../base/index.ts";
import { ModelError, removeUnused } from "../../server/models/index.ts";
import { inventoryOf } from "../models/node-cache.ts";
import type { FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { sizeText } from "../progress-line.ts";
import type { modelsPruneFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof modelsPruneFlags>;

export async function run({ config, confirm }: Options, _: readonly string[], io: Io): Promise<ExitStatus> {
  const inventory = await inventoryOf(config, io);
  if (inventory === undefined) return 1;
  const { unused, directory, isKnown } = inventory;
  const printLine = (line: string): void => void io.stderr.write(`${escapeControls(line)}\n`);
  if (!isKnown) {
    printLine(
      "the deployment comes from the admin API, so this machine does not know what it uses; nothing was removed",
    );
    return 1;
  }
  for (const { path, size } of unused) io.stdout.write(`${escapeControls(path)}\t${size}\n`);
  const bytes = sizeText(unused.reduce((sum, { size }) => sum + size, 0));
  if (unused.length === 0) printLine(`${directory}: there is nothing to remove`);
  else if (!confirm) printLine(`${directory}: ${bytes} would be removed; with -confirm they are`);
  else {
    try {
      await removeUnused(directory, unused, io.now());
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      printLine(error.message);
      return 1;
    }
    printLine(`${directory}: ${bytes} removed`);
  }
  return 0;
}
