/** Where a node keeps models. Source: specification document 2, `cache_dir`; design decisions, section 12. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { NodeFile } from "../core/config/index.ts";
import { beside } from "./files.ts";

const USUAL = "/gateway";

/** Absolute. `path`: of the node file. Looks, and makes nothing. */
export async function modelCacheOf({ cache_dir: named, cluster }: NodeFile, path: string): Promise<string> {
  if (named !== undefined) return resolve(beside(path, named));
  return (await usualCache()) ?? resolve(beside(path, cluster.data_dir), "cache");
}

/** The usual place; undefined where this user cannot write it. */
export async function usualCache(usual = USUAL): Promise<string | undefined> {
  const isThere = await stat(usual).then(
    (found) => found.isDirectory(),
    (error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? undefined : false),
  );
  if (isThere === false) return undefined;
  const below = isThere === true ? usual : dirname(usual);
  return access(below, constants.W_OK | constants.X_OK).then(
    () => join(usual),
    () => undefined,
  );
}
