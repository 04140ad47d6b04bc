/** Small JSON files of the cache: written atomically, and not trusted when read. */
import { randomBytes } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import { fileStats, isOnlyOursToChange } from "./trust.ts";

const MAX_BYTES = 4 << 20;

/** Reads a JSON file. Returns `undefined` if it does not exist or another user wrote it. */
export async function readJsonFile(path: string): Promise<unknown> {
  const stats = await fileStats(path);
  if (stats === undefined || stats.size > MAX_BYTES || !isOnlyOursToChange(stats)) return undefined;
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
}

export async function writeJsonFile(path: string, value: unknown): Promise<void> {
  const temporaryPath = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const file = await open(temporaryPath, "wx", 0o644);
    try {
      await file.writeFile(JSON.stringify(value));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporaryPath, path);
  } catch (error) {
    await rm(temporaryPath, { force: true });
    throw error;
  }
}
