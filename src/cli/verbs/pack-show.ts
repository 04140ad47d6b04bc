/**
 * `gateway pack show PACK`: prints the description and all objects of a pack. Source: specification document 1,
 * "gateway pack".
 */

import { escapeControls } from "../../base/index.ts";
import type { Pack } from "../../server/core/packs/index.ts";
import { isDirectory, loadPacks } from "../packs/load-packs.ts";
import { compileTrial } from "../packs/pack-cases.ts";
import { clipArgument, type FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { noFlags } from "../verb-flags.ts";

export async function run(_: FlagsOf<typeof noFlags>, names: readonly string[], io: Io): Promise<ExitStatus> {
  const { named, baseOf } = await loadPacks(names, io);
  for (const pack of named) io.stdout.write(`${textOf(pack).split("\n").map(escapeControls).join("\n")}\n`);
  let refused = 0;
  for (const [at, pack] of named.entries()) {
    // Built-in packs are known to compile; a pack from a directory may not.
    const name = names[at] ?? pack.id;
    const compiled = isDirectory(name) ? await compileTrial(pack, baseOf, io) : undefined;
    if (compiled?.kind !== "refused") continue;
    refused += 1;
    for (const problem of compiled.problems) io.stderr.write(`${escapeControls(problem)}\n`);
    io.stderr.write(`gateway: the pack '${clipArgument(name)}' does not compile\n`);
  }
  return refused === 0 ? 0 : 1;
}

function textOf({ id, version, buildsOn, controls, attaches, mechanisms, files }: Pack): string {
  const citations = controls.map((control) => `  ${control.id}  ${control.title}\n    ${control.citation}`);
  const attached = attaches.map(
    (it) => `  ${it.pack}: ${it.rule}\n${it.controls.map((one) => `    ${one}`).join("\n")}`,
  );
  const mapped = mechanisms.map(({ control, mechanism, note }) => `  ${control}  ${mechanism}\n    ${note}`);
  return [
    files.readme.trimEnd(),
    `Pack ${id} ${version}${buildsOn.length === 0 ? "" : `, builds on ${buildsOn.join(", ")}`}`,
    section("Controls", citations),
    section("Controls that it attaches to rules of other packs", attached),
    section("Controls that something else carries out", mapped),
    `Fragment\n\n${files.fragment.text.replaceAll("\r\n", "\n").trimEnd()}`,
  ].join("\n\n");
}

const section = (title: string, lines: readonly string[]): string =>
  `${title}\n\n${lines.length === 0 ? "  none" : lines.join("\n")}`;
