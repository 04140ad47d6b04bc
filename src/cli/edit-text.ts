/** Lets the operator edit a text in `$VISUAL` or `$EDITOR`, for `gateway config edit` and the console. */

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clipArgument } from "./parse-flags.ts";
import type { Io } from "./process-io.ts";

/**
 * Resolves with the text as the editor left it; `name` names the temporary file, which only this user may read. Rejects when
 * the editor cannot be started or ends with a status other than 0.
 */
export async function editText(text: string, name: string, io: Pick<Io, "env" | "signal">): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-edit-"));
  try {
    const file = join(folder, `${name.replace(/[^A-Za-z0-9_.-]/g, "_")}.yaml`);
    await writeFile(file, text, { mode: 0o600 });
    await runEditor(file, io);
    return await readFile(file, "utf8");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runEditor(file: string, { env, signal }: Pick<Io, "env" | "signal">): Promise<void> {
  const editor = env["VISUAL"] || env["EDITOR"] || "vi";
  // An editor is a command line, such as `code --wait`; the file is its last argument.
  const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit", signal });
  const status = await new Promise<number | null>((done, failed) => {
    child.once("error", failed);
    child.once("exit", done);
  });
  if (status !== 0)
    throw new Error(`the editor '${clipArgument(editor)}' ended with status ${status}; nothing was changed`);
}
