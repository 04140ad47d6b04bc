/** One bash that runs blocks of a page in turn, as the terminal of a reader does: variables and background jobs last. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

/** Maximum duration of one block, in milliseconds. */
const BLOCK_MS = 120_000;

export interface ShellSession {
  /** Runs a block and returns what it printed on stdout and stderr. */
  readonly run: (block: string) => Promise<string>;
  /** Ends the shell and everything that it started. */
  readonly close: () => Promise<void>;
}

export function startShell(folder: string, env: Readonly<Record<string, string>>): ShellSession {
  // A process group of its own, so that background jobs of the page end with it.
  const bash: ChildProcessByStdio<Writable, Readable, null> = spawn("bash", ["--noprofile", "--norc"], {
    cwd: folder,
    env,
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(bash, "exit");
  let printed = "";
  let onOutput = (): void => {};
  bash.stdout.setEncoding("utf8").on("data", (more: string) => {
    printed += more;
    onOutput();
  });
  bash.stdin.write("exec 2>&1\n");
  let blocks = 0;

  async function run(block: string): Promise<string> {
    blocks += 1;
    const end = `end of block ${randomUUID()}`;
    const file = join(folder, `.block-${blocks}.sh`);
    await writeFile(file, `${block}\n`);
    printed = "";
    // Commands do not read the session's own input.
    bash.stdin.write(`. ${file} < /dev/null\nprintf '\\n%s\\n' '${end}'\n`);
    await new Promise<void>((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`still running: ${block}\n${printed}`)), BLOCK_MS);
      onOutput = () => {
        if (!printed.includes(end)) return;
        clearTimeout(timer);
        done();
      };
      onOutput();
    });
    return printed.slice(0, printed.indexOf(end)).trimEnd();
  }

  async function close(): Promise<void> {
    if (bash.pid === undefined) return;
    try {
      process.kill(-bash.pid, "SIGTERM");
    } catch (error) {
      // Nothing of the group is left.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
    await ended;
  }

  return { run, close };
}
