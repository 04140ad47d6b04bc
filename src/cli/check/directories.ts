/**
 * Checks of `gateway check` for places where the gateway stores something; nothing is written.
 *
 * A place that this user cannot write is a note, since the gateway may run as another user; one that no user could use is a
 * failure. Source: specification document 2 (`cluster`, `admin`, `audit`).
 */
import { constants, type Stats } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { NodeFile } from "../../server/core/config/index.ts";
import { beside } from "../../server/node/index.ts";
import { readKekFile } from "../../server/secrets/index.ts";
import type { Answer } from "./probe.ts";

/** `path`: of the node file. */
export async function placeAnswers(nodeFile: NodeFile, path: string): Promise<readonly Answer[]> {
  const { cluster, admin } = nodeFile;
  const dataDir = cluster.data_dir === undefined ? undefined : resolve(beside(path, cluster.data_dir));
  const auditDir = auditDirOf(nodeFile, path);
  const answers: Answer[] = [];
  if (dataDir !== undefined) answers.push(await directory("cluster.data_dir", dataDir));
  if (auditDir !== undefined && auditDir !== dataDir) answers.push(await directory("audit.dir", auditDir));
  if (admin?.local_socket !== undefined) answers.push(await socketPlace(beside(path, admin.local_socket)));
  if (cluster.kek_file !== undefined) answers.push(...kekFile(beside(path, cluster.kek_file)));
  return answers;
}

/** Returns the absolute paths whose disks need room, each once. */
export function diskPlaces(nodeFile: NodeFile, path: string): readonly (readonly [subject: string, path: string])[] {
  const { data_dir: data } = nodeFile.cluster;
  const dataDir = data === undefined ? undefined : resolve(beside(path, data));
  const auditDir = auditDirOf(nodeFile, path);
  return [
    ...(dataDir === undefined ? [] : [["cluster.data_dir", dataDir] as const]),
    ...(auditDir === undefined || auditDir === dataDir ? [] : [["audit.dir", auditDir] as const]),
  ];
}

/** Absolute. Left out, the audit trail is kept with the state of the node; undefined: with neither it is kept nowhere. */
export function auditDirOf({ audit, cluster }: NodeFile, path: string): string | undefined {
  const dir = audit?.dir ?? cluster.data_dir;
  return dir === undefined ? undefined : resolve(beside(path, dir));
}

/** The gateway makes a directory that is missing, and those above it. */
async function directory(subject: string, path: string): Promise<Answer> {
  const there = await look(path);
  if (there.kind === "unknown") return hidden(subject, path, there.code);
  if (there.kind === "there" && !there.stats.isDirectory()) {
    return { verdict: "fail", subject, words: `${path} exists and is no directory; name another` };
  }
  const upper = there.kind === "there" ? path : await nearest(path);
  if (upper === undefined || !(await mayWrite(upper))) {
    const which = upper === path ? path : `${path}: it is not there, and its parent`;
    return { verdict: "note", subject, words: `${which} may not be written by the user of this check` };
  }
  const state = there.kind === "there" ? "is there and can be written" : "is not there; the gateway makes it";
  return { verdict: "ok", subject, words: `${path} ${state}` };
}

/** The gateway makes the socket, and replaces one that a crash left; its directory it does not make. */
async function socketPlace(path: string): Promise<Answer> {
  const subject = "admin.local_socket";
  const there = await look(path);
  if (there.kind === "there" && !there.stats.isSocket()) {
    return { verdict: "fail", subject, words: `${path} exists and is no socket; remove it, or name another` };
  }
  if (there.kind === "unknown") return hidden(subject, path, there.code);
  const parent = await look(dirname(path));
  if (parent.kind === "missing") {
    const words = `${dirname(path)} is not there; make it before the gateway starts`;
    return { verdict: "note", subject, words };
  }
  if (!(await mayWrite(dirname(path)))) {
    return { verdict: "note", subject, words: `${dirname(path)} may not be written by the user of this check` };
  }
  return { verdict: "ok", subject, words: `${path} can be made` };
}

function hidden(subject: string, path: string, code: string): Answer {
  return code === "ENOTDIR"
    ? { verdict: "fail", subject, words: `${path} lies below what is no directory; name another` }
    : { verdict: "note", subject, words: `${path} cannot be looked at by the user of this check: ${code}` };
}

/** An unreadable file is a failure among the files that a start reads. */
function kekFile(path: string): readonly Answer[] {
  const subject = "cluster.kek_file";
  const read = readKekFile(path);
  return read.kind === "problem" ? [] : [{ verdict: "ok", subject, words: `${path} can be read` }];
}

type Look =
  | { readonly kind: "there"; readonly stats: Stats }
  | { readonly kind: "missing" }
  | { readonly kind: "unknown"; readonly code: string };

async function look(path: string): Promise<Look> {
  try {
    return { kind: "there", stats: await stat(path) };
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    return code === "ENOENT" ? { kind: "missing" } : { kind: "unknown", code };
  }
}

/** The lowest directory above `path` that is there. */
async function nearest(path: string): Promise<string | undefined> {
  for (let at = dirname(path); ; at = dirname(at)) {
    const there = await look(at);
    if (there.kind === "there") return there.stats.isDirectory() ? at : undefined;
    if (there.kind === "unknown" || at === dirname(at)) return undefined;
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
