/**
 * `gateway pack add PACK...`: adds packs to a deployment document. If the result compiles, it is printed, or written to
 * the file with `-write`. Prints one line per added object on stderr. Source: specification document 1, "gateway pack".
 */

import { escapeControls } from "../../base/index.ts";
import { type AddedObject, LISTS } from "../../server/core/packs/index.ts";
import type { FlagsOf } from "../flags.ts";
import type { ExitStatus, Io } from "../io.ts";
import { compileWith } from "../packs/compile.ts";
import { openDeployment } from "../packs/document.ts";
import { loadPacks } from "../packs/load.ts";
import type { packAddFlags } from "../specs.ts";
import { joinLines, writeAll } from "../streams.ts";

type Options = FlagsOf<typeof packAddFlags>;

export async function run({ deployment, write }: Options, names: readonly string[], io: Io): Promise<ExitStatus> {
  const { named, baseOf } = await loadPacks(names, io);
  const file = await openDeployment(deployment, write, io);
  const added = await compileWith(file.source, named, baseOf, io);
  const tell = (line: string): void => void io.stderr.write(`${escapeControls(line)}\n`);
  if (added.kind === "refused") {
    for (const problem of added.problems) tell(problem);
    tell("gateway: nothing was added");
    return 1;
  }
  const { text, objects } = added;
  if (!write) await writeAll(io.stdout, joinLines([file.withByteOrderMark(text)]), io.signal);
  else if (text !== file.source.text) await file.write(text);
  for (const object of objects) tell(lineOf(object));
  if (write && text === file.source.text) tell(`${deployment} already contains everything; nothing was written`);
  return 0;
}

const WORDS = { added: "added", present: "there already", controls: "controls added" } as const;

function lineOf({ pack, list, name, change, controls }: AddedObject): string {
  const got = change === "controls" ? `: ${controls.join(", ")}` : "";
  return `${pack}: ${LISTS[list].join(".")} ${JSON.stringify(name)} ${WORDS[change]}${got}`;
}
