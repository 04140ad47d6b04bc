/**
 * `gateway models prune`: removes from the cache what a configuration does not use. Source: design decisions, section
 * 12.
 *
 * stdout gets one line per removed item; without `-confirm` nothing is removed. Status 1: the configuration cannot be
 * read or is not known here, or a download is in progress.
 */

import { escapeControls } from "../../base/index.ts";
import { ModelError, removeUnused } from "../../server/models/index.ts";
import type { FlagsOf } from "../flags.ts";
import type { ExitStatus, Io } from "../io.ts";
import { stockOf } from "../models/cache-inventory.ts";
import { sizeText } from "../progress.ts";
import type { modelsPruneFlags } from "../specs.ts";

type Options = FlagsOf<typeof modelsPruneFlags>;

export async function run({ config, confirm }: Options, _: readonly string[], io: Io): Promise<ExitStatus> {
  const stock = await stockOf(config, io);
  if (stock === undefined) return 1;
  const { unused, directory, isKnown } = stock;
  const tell = (words: string): void => void io.stderr.write(`${escapeControls(words)}\n`);
  if (!isKnown) {
    tell("the deployment comes from the admin API, so this machine does not know what it uses; nothing was removed");
    return 1;
  }
  for (const { path, size } of unused) io.stdout.write(`${escapeControls(path)}\t${size}\n`);
  const bytes = sizeText(unused.reduce((sum, { size }) => sum + size, 0));
  if (unused.length === 0) tell(`${directory}: there is nothing to remove`);
  else if (!confirm) tell(`${directory}: ${bytes} would be removed; with -confirm they are`);
  else {
    try {
      await removeUnused(directory, unused, io.now());
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      tell(error.message);
      return 1;
    }
    tell(`${directory}: ${bytes} removed`);
  }
  return 0;
}
