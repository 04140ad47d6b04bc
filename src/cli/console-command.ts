/**
 * Runs a program for the console with exactly these arguments: no shell, no input, no terminal. Variables that the
 * verbs read contain the address of the current gateway. Output is kept up to a limit. The program is stopped on
 * timeout and when the console exits.
 */

import { spawn } from "node:child_process";
import type { AdminAddress } from "../admin-api/index.ts";
import { escapeControls } from "../base/index.ts";
import type { Io } from "./process-io.ts";

const TIME_LIMIT_MS = 60_000;
/** Maximum bytes of stdout and stderr together. */
const MAX_OUTPUT_BYTES = 1 << 20;
/** Time between the request to end and the kill, in milliseconds. */
const GRACE_MS = 2_000;

interface RunOptions {
  readonly io: Io;
  readonly address: AdminAddress;
  readonly signal: AbortSignal;
  readonly timeLimitMs?: number;
}

interface CommandResult {
  readonly message: string;
  readonly lines: readonly (readonly { readonly text: string }[])[];
}

/** Runs the program. Rejects if it cannot be started, or if the signal aborts. */
export async function runCommand(
  [program = "", ...args]: readonly string[],
  { io, address, signal, timeLimitMs = TIME_LIMIT_MS }: RunOptions,
): Promise<CommandResult> {
  signal.throwIfAborted();
  const { GATEWAY_ADMIN_SOCKET: _, GATEWAY_ADMIN_URL: __, ...env } = io.env;
  const at = address.kind === "socket" ? { GATEWAY_ADMIN_SOCKET: address.path } : { GATEWAY_ADMIN_URL: address.url };
  return await new Promise<CommandResult>((resolve, reject) => {
    // The child gets its own process group, so that its descendants are killed with it.
    const child = spawn(program, args, {
      cwd: io.cwd,
      env: { ...env, ...at },
      stdio: ["ignore", "pipe", "pipe"],
      detached: process.platform !== "win32",
    });
    const output: Buffer[] = [];
    let size = 0;
    let endReason: string | undefined;
    let killTimer: NodeJS.Timeout | undefined;
    const end = (reason: string): void => {
      if (endReason !== undefined) return;
      endReason = reason;
      kill(child.pid, "SIGTERM");
      killTimer = setTimeout(() => kill(child.pid, "SIGKILL"), GRACE_MS);
    };
    const timeout = setTimeout(() => end(`ended after ${timeLimitMs / 1_000} s`), timeLimitMs);
    const onAbort = (): void => end("ended");
    signal.addEventListener("abort", onAbort, { once: true });
    const keepOutput = (chunk: Buffer): void => {
      const remainingBytes = MAX_OUTPUT_BYTES - size;
      if (remainingBytes > 0) output.push(chunk.subarray(0, remainingBytes));
      size += chunk.length;
      if (size > MAX_OUTPUT_BYTES) end("ended: its output exceeded 1 MiB");
    };
    child.stdout.on("data", keepOutput);
    child.stderr.on("data", keepOutput);
    const cleanUp = (): void => {
      clearTimeout(timeout);
      clearTimeout(killTimer);
      signal.removeEventListener("abort", onAbort);
    };
    child.once("error", (error: NodeJS.ErrnoException) => {
      cleanUp();
      reject(
        new Error(`${program} cannot be run: ${error.code === "ENOENT" ? "there is no such program" : error.code}`),
      );
    });
    child.once("close", (status, by) => {
      cleanUp();
      if (signal.aborted) return reject(signal.reason);
      const message = endReason ?? (status === null ? `ended by ${by}` : `status ${status}`);
      const text = Buffer.concat(output).toString("utf8").replace(/\n$/, "");
      const lines =
        text === ""
          ? [[{ text: "it printed nothing" }]]
          : text.split("\n").map((one) => [{ text: escapeControls(one.replaceAll("\t", "    ")) }]);
      resolve({ message, lines });
    });
  });
}

function kill(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // The process has ended in the meantime.
  }
}
