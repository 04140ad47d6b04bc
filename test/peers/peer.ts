/**
 * Finds a pinned peer in the cache or installs it within a time limit. If that fails, the tests that need it are
 * skipped with the reason; a suite never fails for a missing peer. Peers that take minutes are installed by `npm run
 * peers` only.
 *
 * The cache is `gateway-test-peers` in the user's cache folder, or the folder named by GATEWAY_TEST_PEERS; the value
 * `none` means no peers. Entries of the cache are complete: a peer is installed next to its final folder and then
 * moved. After a failed installation no process tries again for some minutes.
 */

import { createHash } from "node:crypto";
import { access, constants, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { alone } from "./lock.ts";
import type { Recipe } from "./recipes.ts";
import { runStep } from "./run-step.ts";
import { PEERS, type PeerName } from "./table.ts";

/** Limit for one installation, or for waiting on another process's installation. A test file may take twice as long. */
const LIMIT_MS = 110_000;
const TRIED_AGAIN_AFTER_MS = 600_000;

export interface Peer {
  /** For a test's `{ skip: peer.missing }`; `false` when the peer is available. */
  readonly missing: string | false;
  /** Path of its executable. Throws when the peer is missing. */
  readonly path: string;
}

interface PeerOptions {
  /** Folder of the cache, or `none`. */
  readonly cache?: string | undefined;
  readonly limitMs?: number;
  /** Also installs peers that take minutes. */
  readonly isPatient?: true;
}

const asked = new Map<PeerName, Promise<Peer>>();

/** Use `await peer("node-24")` at the top of a test file, then `{ skip: it.missing }` and `it.path`. */
export function peer(name: PeerName): Promise<Peer> {
  const known = asked.get(name);
  if (known !== undefined) return known;
  const found = findOrInstall(name, PEERS[name]);
  asked.set(name, found);
  return found;
}

export async function findOrInstall(name: string, recipe: Recipe, options: PeerOptions = {}): Promise<Peer> {
  const cache = options.cache ?? process.env["GATEWAY_TEST_PEERS"] ?? defaultCache();
  if (cache === "none") return missing(name, "GATEWAY_TEST_PEERS is none");
  if (process.platform === "win32") return missing(name, "no recipe for Windows");
  const digest = createHash("sha256")
    .update(JSON.stringify([{ file: recipe.file, steps: recipe.steps }, process.platform, process.arch]))
    .digest("hex");
  const place = join(resolve(cache), `${name}-${digest.slice(0, 12)}`);
  const path = join(place, recipe.file);
  const found: Peer = { missing: false, path };
  if (await isExecutable(path)) return found;
  if (recipe.takesMinutes && !options.isPatient) return missing(name, "it takes minutes to install: `npm run peers`");
  const signal = AbortSignal.timeout(options.limitMs ?? LIMIT_MS);
  try {
    await mkdir(cache, { recursive: true });
    const failure = await alone(`${place}.lock`, signal, async () => {
      if (await isExecutable(path)) return undefined;
      return (await failedBefore(place)) ?? (await install(recipe, place, signal));
    });
    return failure === undefined ? found : missing(name, failure);
  } catch (error) {
    return missing(name, reasonOf(error));
  }
}

function missing(name: string, message: string): Peer {
  const reason = `no ${name}: ${message}`;
  return {
    missing: reason,
    get path(): string {
      throw new Error(reason);
    },
  };
}

/** Returns why the installation failed, if it did. */
async function install(recipe: Recipe, place: string, signal: AbortSignal): Promise<string | undefined> {
  const folder = await mkdtemp(`${place}.part-`);
  try {
    for (const step of recipe.steps) await runStep(step, folder, signal);
    await access(join(folder, recipe.file), constants.X_OK);
    // Removes an installation that no longer runs, for example because its Python was removed.
    await rm(place, { recursive: true, force: true });
    await rename(folder, place);
    await rm(failureOf(place), { force: true });
    return undefined;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    const reason = reasonOf(error);
    await writeFile(failureOf(place), JSON.stringify({ at: Date.now(), reason }));
    return reason;
  }
}

function failureOf(place: string): string {
  return `${place}.failed`;
}

async function failedBefore(place: string): Promise<string | undefined> {
  try {
    const { at, reason } = JSON.parse(await readFile(failureOf(place), "utf8")) as { at: number; reason: string };
    if (Date.now() - at < TRIED_AGAIN_AFTER_MS) return `${reason} (tried again later; remove ${failureOf(place)})`;
  } catch {
    // No reason was written, or only part of one.
  }
  return undefined;
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError")) {
    return "another process installs it, and has not ended in time";
  }
  return error instanceof Error ? error.message : String(error);
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function defaultCache(): string {
  return join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "gateway-test-peers");
}
