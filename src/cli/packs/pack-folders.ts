/** Finds packs in a local folder: the folder itself, or its subfolders. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { PACK_FILES } from "../../server/core/packs/index.ts";
import { whyUnreadable } from "../file-input.ts";
import { clipArgument, UsageError } from "../parse-flags.ts";
import { type Io, resolvePath } from "../process-io.ts";

/** Maximum number of entries in a folder of packs. */
const MAX_ENTRIES = 200;

/**
 * Returns the path of the folder if it has a `pack.yaml`, such as `./ours`, otherwise the paths of its subfolders that
 * have one, such as `./ours/a`. Throws `UsageError` if there is none, or the folder cannot be read.
 */
export async function packsIn(path: string, io: Io): Promise<readonly string[]> {
  const shown = path.replace(/\/+$/, "") || path;
  const whole = resolvePath(io, shown);
  if (await exists(join(whole, PACK_FILES.pack))) return [shown];
  const folders = await readdir(whole, { withFileTypes: true }).catch((error: unknown) => {
    throw new UsageError(`'${clipArgument(path)}' cannot be read: ${whyUnreadable(error)}`);
  });
  if (folders.length > MAX_ENTRIES)
    throw new UsageError(`'${clipArgument(path)}' contains more than ${MAX_ENTRIES} files: name a folder of packs`);
  const names = folders.map(({ name }) => name).sort();
  const packs = await Promise.all(names.map((name) => exists(join(whole, name, PACK_FILES.pack))));
  const found = names.filter((_, at) => packs[at]);
  if (found.length === 0) {
    throw new UsageError(
      `'${clipArgument(path)}' is not a pack, and no folder in it is one: a pack has a ${PACK_FILES.pack}`,
    );
  }
  return found.map((name) => `${shown}/${name}`);
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    (it) => it.isFile(),
    () => false,
  );
