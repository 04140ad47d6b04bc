/** Runs one program of a recipe to its end, and ends every process that it started. */

import { spawn } from "node:child_process";

/** Bytes kept of its output, for the reason of a failure. */
const MAX_OUTPUT = 4_096;

/** Rejects with its last line of output, or with what prevented its start. */
export function runStep([program, ...args]: readonly string[], cwd: string, signal: AbortSignal): Promise<void> {
  return new Promise((done, failed) => {
    // It has its own process group: npm and apt work in child processes, which would survive a signal to the parent
    // alone.
    const child = spawn(program ?? "", args, { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const read = (text: string): void => {
      output = (output + text).slice(-MAX_OUTPUT);
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    const kill = (): void => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has already ended.
      }
    };
    signal.addEventListener("abort", kill, { once: true });
    if (signal.aborted) kill();
    const settle = (error: Error | undefined): void => {
      signal.removeEventListener("abort", kill);
      if (error === undefined) done();
      else failed(error);
    };
    child.once("error", (error) => settle(error));
    child.once("close", (status) => {
      if (signal.aborted) return settle(new Error(`${program} had no more time`));
      if (status === 0) return settle(undefined);
      settle(new Error(`${program} ended with ${status}: ${tellingLine(output)}`));
    });
  });
}

/**
 * The first line that mentions an error, because npm ends with advice and the name of a log; otherwise the last line.
 */
function tellingLine(output: string): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return (lines.find((line) => /\berror\b/i.test(line)) ?? lines.at(-1) ?? "").trim();
}
