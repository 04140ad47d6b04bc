/** Packs of a folder of this machine: the folder itself, or those in it. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { PACK_FILES } from "../../server/core/packs/index.ts";
import { whyUnreadable } from "../file-input.ts";
import { clip, UsageError } from "../flags.ts";
import { type Io, resolvePath } from "../io.ts";

/** A folder of more is no folder of packs. */
const MOST = 200;

/**
 * `./ours`, or `./ours/a` and `./ours/b` where these have a `pack.yaml` and it has none. The path itself where it holds
 * neither: what reads it says what is wrong. Throws `UsageError` where it cannot be looked.
 */
export async function packsIn(path: string, io: Io): Promise<readonly string[]> {
  const shown = path.replace(/\/+$/, "") || path;
  const whole = resolvePath(io, shown);
  if (await isThere(join(whole, PACK_FILES.pack))) return [shown];
  const folders = await readdir(whole, { withFileTypes: true }).catch((error: unknown) => {
    throw new UsageError(`'${clip(path)}' cannot be read: ${whyUnreadable(error)}`);
  });
  if (folders.length > MOST) throw new UsageError(`'${clip(path)}' holds over ${MOST} files: name a folder of packs`);
  const names = folders.map(({ name }) => name).sort();
  const packs = await Promise.all(names.map((name) => isThere(join(whole, name, PACK_FILES.pack))));
  const found = names.filter((_, at) => packs[at]);
  if (found.length === 0) {
    throw new UsageError(`'${clip(path)}' is no pack, and no folder in it is one: a pack has a ${PACK_FILES.pack}`);
  }
  return found.map((name) => `${shown}/${name}`);
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    (it) => it.isFile(),
    () => false,
  );
