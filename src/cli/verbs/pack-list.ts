/** `gateway pack list`: lists the packs that come with the program. Source: specification document 1, "gateway pack". */

import { builtInPackIds } from "../../server/node/index.ts";
import { loadPacks } from "../packs/load-packs.ts";
import type { FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { tableLines } from "../table-text.ts";
import type { noFlags } from "../verb-flags.ts";

const COLUMNS = ["pack", "version", "rules", "controls", "title"].map((name) => ({
  name,
  isNumeric: name === "rules" || name === "controls",
}));

export async function run(_: FlagsOf<typeof noFlags>, __: readonly string[], io: Io): Promise<ExitStatus> {
  const { named } = await loadPacks(await builtInPackIds(), io);
  const rows = named.map(({ id, version, title, objects, controls }) => {
    const rules = objects.filter(({ list }) => list !== "detector").length;
    return [id, version, String(rules), String(controls.length), title];
  });
  for (const line of tableLines(COLUMNS, rows, io.columns())) io.stdout.write(line);
  return 0;
}
