/**
 * `gateway completion bash|zsh|fish`: prints a script that completes verbs, flags, flag values with fixed choices,
 * methods and paths of the admin API, and file names. It is generated from the verb table.
 */

import { bash } from "../completion/bash-script.ts";
import { type Place, places } from "../completion/completion-places.ts";
import { fish } from "../completion/fish-script.ts";
import { zsh } from "../completion/zsh-script.ts";
import { type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { completionFlags } from "../verb-flags.ts";
import { SHELLS } from "../verb-table.ts";

export async function run(
  { names }: FlagsOf<typeof completionFlags>,
  words: readonly string[],
  io: Io,
): Promise<ExitStatus> {
  if (names !== undefined) return await (await import("../operate/completion-names.ts")).printNames(names, io);
  if (words.length === 0) throw new UsageError(`missing argument: ${SHELLS.join("|")}`);
  const shell = SHELLS.find((name) => name === words[0]);
  if (shell === undefined) throw new UsageError(`no completion for '${words[0]}', only for ${SHELLS.join(", ")}`);
  io.stdout.write(SCRIPTS[shell](places()));
  return 0;
}

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (all: readonly Place[]) => string>> = { bash, zsh, fish };
