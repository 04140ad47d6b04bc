/** Runs a job in a child process that is killed when the caller aborts. */

import { type ChildProcess, fork, type StdioOptions } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { JobOptions } from "../../console/index.ts";
import { UsageError } from "../parse-flags.ts";
import type { Io } from "../process-io.ts";
import type { TrialCommand, TrialReply, TrialRequest, TrialResults } from "./protocol.ts";

/**
 * Maximum run time in milliseconds. The cases of the largest pack that comes with the program take a fraction of a
 * second.
 */
const LIMIT_MS = 300_000;
/** Maximum heap of the child in MiB, in addition to the console's own. */
const MAX_HEAP = 1_024;

/**
 * True in the build. From source it is undefined, and there is no child process: tests run the job in their own
 * process.
 */
declare const GATEWAY_IS_BUILT: true | undefined;

// The child must neither write to the terminal nor read its keys.
const STDIO: StdioOptions = ["ignore", "ignore", "ignore", "ipc"];

function forkChild(env: Io["env"]): ChildProcess {
  const child = fileURLToPath(new URL("./cli/console-trials/child.js", import.meta.url));
  const execArgv = [`--max-old-space-size=${MAX_HEAP}`, "--enable-source-maps"];
  return fork(child, { env: { ...env }, stdio: STDIO, serialization: "advanced", execArgv });
}

/**
 * Runs a request in a child process. Rejects with `UsageError` if it cannot be satisfied, with the signal's reason, or
 * with an `Error` about how the process ended.
 */
export function runInChild<Kind extends keyof TrialResults>(
  request: Extract<TrialRequest, { readonly kind: Kind }>,
  io: Io,
  options: JobOptions,
): Promise<TrialResults[Kind]> {
  if (typeof GATEWAY_IS_BUILT === "undefined")
    return runInThisProcess(request, io, options) as Promise<TrialResults[Kind]>;
  return runInFork(request, io, options) as Promise<TrialResults[Kind]>;
}

async function runInThisProcess(
  request: TrialRequest,
  io: Io,
  { signal, onProgress }: JobOptions,
): Promise<TrialResults[keyof TrialResults]> {
  signal.throwIfAborted();
  const { runTrial } = await import("./run-trial.ts");
  return await runTrial(request, { ...io, signal }, onProgress);
}

function runInFork(
  request: TrialRequest,
  { env, cwd }: Io,
  { signal, onProgress }: JobOptions,
): Promise<TrialResults[keyof TrialResults]> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const child = forkChild(env);
    const finish = (settle: () => void): void => {
      clearTimeout(limit);
      signal.removeEventListener("abort", onAbort);
      child.removeAllListeners("message");
      child.kill("SIGKILL");
      settle();
    };
    const fail = (error: unknown): void => finish(() => reject(error));
    const onAbort = (): void => fail(signal.reason);
    const limit = setTimeout(
      () => fail(new Error(`it was ended: it took longer than ${LIMIT_MS / 60_000} minutes`)),
      LIMIT_MS,
    );
    signal.addEventListener("abort", onAbort, { once: true });
    child.on("message", (message: TrialReply) => {
      switch (message.kind) {
        case "progress":
          return onProgress(message.message);
        case "done":
          return finish(() => resolve(message.answer));
        case "refused":
          return fail(new UsageError(message.message));
        case "failed":
          return fail(new Error(message.message));
      }
    });
    child.once("error", fail);
    child.once("exit", (status, name) =>
      fail(new Error(`the trial's process ended unexpectedly: ${name ?? `status ${status}`}`)),
    );
    const command: TrialCommand = { request, cwd };
    // Without a free descriptor, the process has no channel, and the error follows.
    if (child.connected) child.send(command, (error) => error !== null && fail(error));
  });
}
