/**
 * Checks of `gateway check` for files that contain keys or access rules: who else on this machine may read or change
 * them. Source: chmod(1); design decisions, section 5.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { NodeFile } from "../../server/core/config/index.ts";
import { resolveBeside } from "../../server/node/index.ts";
import type { Answer } from "./probe.ts";

/** Maximum number of files in a secrets folder that are checked. */
const MAX_FILES = 1_000;

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o022;
const NOT_OWNER = 0o077;

interface PermissionCheck {
  readonly subject: string;
  readonly path: string;
  /** Permission bits that nobody else should have. */
  readonly forbiddenBits: number;
  readonly remedy: string;
}

/** Checks the files. Returns nothing if only the owner has access. `path`: of the node file. */
export async function permissionAnswers(nodeFile: NodeFile, path: string): Promise<readonly Answer[]> {
  if (process.platform === "win32") return [];
  const { admin, cluster, secrets_dir: secrets, tls } = nodeFile;
  const at = (file: string): string => resolveBeside(path, file);
  const secretFiles = [
    ...(secrets === undefined ? [] : (await namesIn(at(secrets))).map((name) => join(at(secrets), name))),
    ...[cluster.kek_file, tls?.key_file].filter((it) => it !== undefined).map(at),
  ];
  const configurationFiles = [
    path,
    ...[nodeFile.deployment, admin?.policy_file].filter((it) => it !== undefined).map(at),
  ];
  const checks: PermissionCheck[] = [
    ...secretFiles.map((file) => ({
      subject: "secret file",
      path: file,
      forbiddenBits: OTHERS_READ,
      remedy: "chmod o-r",
    })),
    ...configurationFiles.map((file) => ({
      subject: "configuration",
      path: file,
      forbiddenBits: OTHERS_WRITE,
      remedy: "chmod go-w",
    })),
    ...(cluster.data_dir === undefined
      ? []
      : [{ subject: "cluster.data_dir", path: at(cluster.data_dir), forbiddenBits: NOT_OWNER, remedy: "chmod 700" }]),
    ...(admin?.local_socket === undefined
      ? []
      : [
          {
            subject: "admin.local_socket",
            path: at(admin.local_socket),
            forbiddenBits: NOT_OWNER,
            remedy: "chmod 600",
          },
        ]),
  ];
  return (await Promise.all(checks.map(answerOf))).filter((it) => it !== undefined);
}

async function answerOf({ subject, path, forbiddenBits, remedy }: PermissionCheck): Promise<Answer | undefined> {
  // A missing or hidden file is reported where it is needed.
  const mode = await stat(path).then(
    (it) => it.mode & 0o777,
    () => 0,
  );
  if ((mode & forbiddenBits) === 0) return undefined;
  const may = (mode & forbiddenBits & 0o022) === 0 ? "read" : "change";
  const message = `other users of this machine can ${may} ${path} (mode ${mode.toString(8).padStart(4, "0")}): run \`${remedy} ${path}\``;
  return { verdict: "note", subject, message };
}

async function namesIn(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((it) => !it.isDirectory())
    .slice(0, MAX_FILES)
    .map(({ name }) => name);
}
