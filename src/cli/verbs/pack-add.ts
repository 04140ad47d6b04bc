/**
 * `gateway pack add PACK...`: adds packs to a deployment document. If the result compiles, it is printed, or written to
 * the file with `-write`. Prints one line per added object on stderr. Source: specification document 1, "gateway pack".
 */

import { escapeControls } from "../../base/index.ts";
import { type AddedObject, LISTS } from "../../server/core/packs/index.ts";
import { joinLines, writeAll } from "../copy-streams.ts";
import { compileWith } from "../packs/compile-packs.ts";
import { loadPacks } from "../packs/load-packs.ts";
import { openDeployment } from "../packs/pack-target-file.ts";
import type { FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { packAddFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof packAddFlags>;

export async function run({ deployment, write }: Options, names: readonly string[], io: Io): Promise<ExitStatus> {
  const { named, baseOf } = await loadPacks(names, io);
  const file = await openDeployment(deployment, write, io);
  const added = await compileWith(file.source, named, baseOf, io);
  const printLine = (line: string): void => void io.stderr.write(`${escapeControls(line)}\n`);
  if (added.kind === "refused") {
    for (const problem of added.problems) printLine(problem);
    printLine("gateway: nothing was added");
    return 1;
  }
  const { text, objects } = added;
  if (!write) await writeAll(io.stdout, joinLines([file.withByteOrderMark(text)]), io.signal);
  else if (text !== file.source.text) await file.write(text);
  for (const object of objects) printLine(lineOf(object));
  if (write && text === file.source.text) printLine(`${deployment} already contains everything; nothing was written`);
  return 0;
}

const CHANGE_TEXTS = { added: "added", present: "there already", controls: "controls added" } as const;

function lineOf({ pack, list, name, change, controls }: AddedObject): string {
  const controlsText = change === "controls" ? `: ${controls.join(", ")}` : "";
  return `${pack}: ${LISTS[list].join(".")} ${JSON.stringify(name)} ${CHANGE_TEXTS[change]}${controlsText}`;
}
