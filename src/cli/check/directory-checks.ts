/**
 * Checks of `gateway check` for directories and files where the gateway stores something; nothing is written.
 *
 * A path that this user cannot write is a note, since the gateway may run as another user; one that no user could use
 * is a failure. Source: specification document 2 (`cluster`, `admin`, `audit`).
 */
import { constants, type Stats } from "node:fs";
import { access, lstat, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { NodeFile } from "../../server/core/config/index.ts";
import { resolveBeside } from "../../server/node/index.ts";
import { readKekFile } from "../../server/secrets/index.ts";
import type { Answer } from "./probe.ts";

/** Checks the paths. `path`: of the node file. */
export async function directoryAnswers(nodeFile: NodeFile, path: string): Promise<readonly Answer[]> {
  const { cluster, admin } = nodeFile;
  const dataDir = cluster.data_dir === undefined ? undefined : resolve(resolveBeside(path, cluster.data_dir));
  const auditDir = auditDirOf(nodeFile, path);
  const answers: Answer[] = [];
  if (dataDir !== undefined) answers.push(await directoryAnswer("cluster.data_dir", dataDir));
  if (auditDir !== undefined && auditDir !== dataDir) answers.push(await directoryAnswer("audit.dir", auditDir));
  if (admin?.local_socket !== undefined) answers.push(await socketAnswer(resolveBeside(path, admin.local_socket)));
  if (cluster.kek_file !== undefined) answers.push(...kekFileAnswers(resolveBeside(path, cluster.kek_file)));
  return answers;
}

/** Returns the absolute paths whose disks need free space, each once. */
export function diskDirectories(
  nodeFile: NodeFile,
  path: string,
): readonly (readonly [subject: string, path: string])[] {
  const { data_dir: data } = nodeFile.cluster;
  const dataDir = data === undefined ? undefined : resolve(resolveBeside(path, data));
  const auditDir = auditDirOf(nodeFile, path);
  return [
    ...(dataDir === undefined ? [] : [["cluster.data_dir", dataDir] as const]),
    ...(auditDir === undefined || auditDir === dataDir ? [] : [["audit.dir", auditDir] as const]),
  ];
}

/**
 * Returns the absolute path of the audit directory: `audit.dir`, otherwise `cluster.data_dir`. Returns `undefined`
 * without either: then the trail is not stored.
 */
export function auditDirOf({ audit, cluster }: NodeFile, path: string): string | undefined {
  const dir = audit?.dir ?? cluster.data_dir;
  return dir === undefined ? undefined : resolve(resolveBeside(path, dir));
}

/** Checks a directory. The gateway creates it and its parents if they are missing. */
async function directoryAnswer(subject: string, path: string): Promise<Answer> {
  const found = await statPath(path);
  if (found.kind === "unknown") return inaccessiblePath(subject, path, found.code);
  if (found.kind === "there" && !found.stats.isDirectory()) {
    return { verdict: "fail", subject, message: `${path} is not a directory: name another path` };
  }
  const link = found.kind === "there" ? undefined : await brokenLink(path);
  if (link !== undefined) {
    const message = `${link} is a symbolic link to something that does not exist: create its target, or mount it`;
    return { verdict: "fail", subject, message };
  }
  const existingDirectory = found.kind === "there" ? path : await nearestDirectory(path);
  if (existingDirectory === undefined || !(await mayWrite(existingDirectory))) {
    const subjectText = existingDirectory === path ? path : `${path} does not exist, and its parent directory`;
    return { verdict: "note", subject, message: `${subjectText} is not writable for the user who runs this check` };
  }
  const state = found.kind === "there" ? "exists and is writable" : "does not exist; the gateway creates it";
  return { verdict: "ok", subject, message: `${path} ${state}` };
}

/**
 * Checks the admin socket. The gateway creates the socket and replaces one that a crash left, but does not create its
 * directory.
 */
async function socketAnswer(path: string): Promise<Answer> {
  const subject = "admin.local_socket";
  const found = await statPath(path);
  if (found.kind === "there" && !found.stats.isSocket()) {
    return { verdict: "fail", subject, message: `${path} is not a socket: remove it, or name another path` };
  }
  if (found.kind === "unknown") return inaccessiblePath(subject, path, found.code);
  const parent = await statPath(dirname(path));
  if (parent.kind === "missing") {
    const message = `${dirname(path)} does not exist: create it before the gateway starts`;
    return { verdict: "note", subject, message };
  }
  if (!(await mayWrite(dirname(path)))) {
    return { verdict: "note", subject, message: `${dirname(path)} is not writable for the user who runs this check` };
  }
  return { verdict: "ok", subject, message: `${path} can be created` };
}

function inaccessiblePath(subject: string, path: string, code: string): Answer {
  return code === "ENOTDIR"
    ? { verdict: "fail", subject, message: `a parent of ${path} is not a directory: name another path` }
    : { verdict: "note", subject, message: `the user who runs this check has no access to ${path}: ${code}` };
}

/** Reports a key file that can be read. Another check reports one that cannot. */
function kekFileAnswers(path: string): readonly Answer[] {
  const subject = "cluster.kek_file";
  const read = readKekFile(path);
  return read.kind === "problem" ? [] : [{ verdict: "ok", subject, message: `${path} is readable` }];
}

type PathState =
  | { readonly kind: "there"; readonly stats: Stats }
  | { readonly kind: "missing" }
  | { readonly kind: "unknown"; readonly code: string };

async function statPath(path: string): Promise<PathState> {
  try {
    return { kind: "there", stats: await stat(path) };
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    return code === "ENOENT" ? { kind: "missing" } : { kind: "unknown", code };
  }
}

/** Returns the nearest existing directory above `path`. */
async function nearestDirectory(path: string): Promise<string | undefined> {
  for (let at = dirname(path); ; at = dirname(at)) {
    const found = await statPath(at);
    if (found.kind === "there") return found.stats.isDirectory() ? at : undefined;
    if (found.kind === "unknown" || at === dirname(at)) return undefined;
  }
}

/** Returns the nearest existing entry at or above a missing path if it is a link; its target is then missing. */
async function brokenLink(path: string): Promise<string | undefined> {
  for (let at = path; ; at = dirname(at)) {
    const found = await lstat(at).catch(() => undefined);
    if (found !== undefined) return found.isSymbolicLink() && (await statPath(at)).kind === "missing" ? at : undefined;
    if (at === dirname(at)) return undefined;
  }
}

async function mayWrite(path: string): Promise<boolean> {
  try {
    await access(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
