/** Loads packs from disk: those that come with the program, and directories of the operator. */

import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { closestName } from "../../base/index.ts";
import { MAX_DOCUMENT_BYTES } from "../../server/core/config/index.ts";
import { type BaseOf, checkPack, PACK_FILES, type Pack, readPack } from "../../server/core/packs/index.ts";
import { BUILT_IN_PACKS, builtInPackIds } from "../../server/node/index.ts";
import { readRegular, whyUnreadable } from "../file-input.ts";
import { clipArgument, UsageError } from "../parse-flags.ts";
import { type Io, resolvePath } from "../process-io.ts";

interface Packs {
  /** Packs in the order of their names on the command line. */
  readonly named: readonly Pack[];
  /** Finds a base pack among the named ones and those that come with the program. */
  readonly baseOf: BaseOf;
}

/** Returns whether a name is a path: it begins with a dot or contains a separator. */
export const isDirectory = (name: string): boolean => /^\.|[/\\]/.test(name);

interface LoadedPacks {
  /** Loaded packs, in the order in which they were named. */
  readonly loaded: readonly { readonly name: string; readonly pack: Pack }[];
  readonly baseOf: BaseOf;
  /** Reasons why packs could not be loaded, by name. */
  readonly faults: ReadonlyMap<string, string>;
}

/** Loads the packs and all that they build on, and checks them. Throws `UsageError` if one cannot be loaded. */
export async function loadPacks(names: readonly string[], io: Io): Promise<Packs> {
  const { loaded, baseOf, faults } = await tryLoadPacks(names, io);
  if (faults.size > 0) throw new UsageError([...new Set(faults.values())].join("\n"));
  return { named: loaded.map(({ pack }) => pack), baseOf };
}

/** Loads packs like `loadPacks`, but reports packs that cannot be loaded in `faults`. */
export async function tryLoadPacks(names: readonly string[], io: Io): Promise<LoadedPacks> {
  const ids = await builtInPackIds();
  const found = new Map<string, Pack>();
  const loaded: { readonly name: string; readonly pack: Pack }[] = [];
  const faults = new Map<string, string>();
  for (const name of names) {
    try {
      if (!isDirectory(name) && !ids.includes(name)) throw new UsageError(await unknownPackText(name, ids, io));
      const pack = await readPackFolder(isDirectory(name) ? resolvePath(io, name) : join(BUILT_IN_PACKS, name), name);
      if (isDirectory(name) && ids.includes(pack.id)) {
        throw new UsageError(
          `'${clipArgument(name)}' has the name of the built-in pack \`${pack.id}\`: change \`id\` in its pack.yaml`,
        );
      }
      if (loaded.some((one) => one.pack.id === pack.id)) throw new UsageError(`the pack \`${pack.id}\` is named twice`);
      loaded.push({ name, pack });
      found.set(pack.id, pack);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      faults.set(name, error.message);
    }
  }
  const pending = loaded.flatMap(({ pack }) => pack.buildsOn);
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    if (found.has(id) || !ids.includes(id)) continue;
    const base = await readPackFolder(join(BUILT_IN_PACKS, id), id);
    found.set(id, base);
    pending.push(...base.buildsOn);
  }
  const baseOf: BaseOf = (id) => found.get(id);
  const nameOf = new Map(loaded.map(({ name, pack }) => [pack, name]));
  for (const pack of found.values()) {
    const problems = checkPack(pack, baseOf);
    if (problems.length > 0) faults.set(nameOf.get(pack) ?? pack.id, problems.join("\n"));
  }
  return { loaded: loaded.filter(({ name }) => !faults.has(name)), baseOf, faults };
}

async function unknownPackText(name: string, ids: readonly string[], io: Io): Promise<string> {
  const guess = closestName(name, ids);
  const hint = guess === undefined ? "" : ` (did you mean '${guess}'?)`;
  const exists = await stat(resolvePath(io, name))
    .then((it) => it.isDirectory())
    .catch(() => false);
  if (exists)
    return `there is no built-in pack '${clipArgument(name)}'; the directory of this name is './${clipArgument(name)}'`;
  return `there is no built-in pack '${clipArgument(name)}'${hint}; 'gateway pack list' lists them, and a directory is written as a path: './${clipArgument(name)}'`;
}

async function readPackFolder(path: string, name: string): Promise<Pack> {
  const read = readPack({
    pack: await readPackFile(path, name, PACK_FILES.pack),
    fragment: await readPackFile(path, name, PACK_FILES.fragment),
    readme: (await readPackFile(path, name, PACK_FILES.readme)).text,
    tests: await readPackFile(path, name, PACK_FILES.tests, true),
    trial: await readPackFile(path, name, PACK_FILES.trial, true),
  });
  if (read.kind === "refused")
    throw new UsageError(`the pack '${clipArgument(name)}' is refused:\n${read.problems.join("\n")}`);
  const { pack } = read;
  if (!isDirectory(name) && pack.id !== basename(path))
    throw new UsageError(`the pack '${name}' calls itself '${pack.id}'`);
  return pack;
}

interface Text {
  readonly name: string;
  readonly text: string;
}

async function readPackFile(path: string, name: string, file: string): Promise<Text>;
async function readPackFile(path: string, name: string, file: string, isOptional: true): Promise<Text | undefined>;
async function readPackFile(path: string, name: string, file: string, mayMiss = false): Promise<Text | undefined> {
  const absolute = join(path, file);
  const shown = join(name, file);
  try {
    const bytes = await readRegular(absolute, shown, MAX_DOCUMENT_BYTES);
    return { name: shown, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (mayMiss && (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const reason = error instanceof TypeError ? "it is not valid UTF-8" : whyUnreadable(error);
    throw new UsageError(`'${clipArgument(shown)}' cannot be read: ${reason}`);
  }
}
