/**
 * `gateway models list`: prints the models of a configuration and the content of its cache. Source: design decisions,
 * section 12.
 */

import { escapeControls } from "../../base/index.ts";
import { inventoryOf } from "../models/node-cache.ts";
import type { FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { sizeText } from "../progress-line.ts";
import { tableLines } from "../table-text.ts";
import type { modelsListFlags } from "../verb-flags.ts";

export async function run(
  { config }: FlagsOf<typeof modelsListFlags>,
  _: readonly string[],
  io: Io,
): Promise<ExitStatus> {
  const inventory = await inventoryOf(config, io);
  if (inventory === undefined) return 1;
  const { models, unused, directory, isKnown } = inventory;
  const rows = models.map(({ name, size, isCached }): readonly string[] => [
    name,
    isCached ? "cached" : "absent",
    size === undefined ? "" : sizeText(size),
  ]);
  const columns = ["model", "state", "size"].map((name) => ({ name, isNumeric: false }));
  for (const line of tableLines(columns, rows, io.columns())) io.stdout.write(line);
  const bytes = unused.reduce((sum, { size }) => sum + size, 0);
  io.stderr.write(
    `${escapeControls(directory)}: ${sizeText(bytes)} in ${unused.length} places that these do not use\n`,
  );
  if (!isKnown) io.stderr.write("The deployment comes from the admin API, so its models are not known here.\n");
  return 0;
}
