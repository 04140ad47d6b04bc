/** Runs a job in a child process that is killed when the caller aborts. */

import { type ChildProcess, fork, type StdioOptions } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { JobOptions } from "../../console/index.ts";
import { UsageError } from "../flags.ts";
import type { Io } from "../io.ts";
import type { Answers, Asked, FromTrial, ToTrial } from "./protocol.ts";

/**
 * Maximum run time in milliseconds. The cases of the largest pack that comes with the program take a fraction of a
 * second.
 */
const LIMIT_MS = 300_000;
/** Maximum heap of the child in MiB, in addition to the console's own. */
const MOST_HEAP = 1_024;

/**
 * True in the build. From source it is undefined, and there is no child process: tests run the job in their own
 * process.
 */
declare const GATEWAY_IS_BUILT: true | undefined;

// The child must neither write to the terminal nor read its keys.
const STDIO: StdioOptions = ["ignore", "ignore", "ignore", "ipc"];

function start(env: Io["env"]): ChildProcess {
  const child = fileURLToPath(new URL("./cli/console-trials/child.js", import.meta.url));
  const execArgv = [`--max-old-space-size=${MOST_HEAP}`, "--enable-source-maps"];
  return fork(child, { env: { ...env }, stdio: STDIO, serialization: "advanced", execArgv });
}

/**
 * Runs a request in a child process. Rejects with `UsageError` if it cannot be satisfied, with the signal's reason, or
 * with an `Error` about how the process ended.
 */
export function runInChild<Kind extends keyof Answers>(
  asked: Extract<Asked, { readonly kind: Kind }>,
  io: Io,
  options: JobOptions,
): Promise<Answers[Kind]> {
  if (typeof GATEWAY_IS_BUILT === "undefined") return here(asked, io, options) as Promise<Answers[Kind]>;
  return apart(asked, io, options) as Promise<Answers[Kind]>;
}

async function here(asked: Asked, io: Io, { signal, onProgress }: JobOptions): Promise<Answers[keyof Answers]> {
  signal.throwIfAborted();
  const { carryOut } = await import("./run-trial.ts");
  return await carryOut(asked, { ...io, signal }, onProgress);
}

function apart(asked: Asked, { env, cwd }: Io, { signal, onProgress }: JobOptions): Promise<Answers[keyof Answers]> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const child = start(env);
    const finish = (settle: () => void): void => {
      clearTimeout(limit);
      signal.removeEventListener("abort", onAbort);
      child.removeAllListeners("message");
      child.kill("SIGKILL");
      settle();
    };
    const failed = (why: unknown): void => finish(() => reject(why));
    const onAbort = (): void => failed(signal.reason);
    const limit = setTimeout(
      () => failed(new Error(`it was ended: it took longer than ${LIMIT_MS / 60_000} minutes`)),
      LIMIT_MS,
    );
    signal.addEventListener("abort", onAbort, { once: true });
    child.on("message", (message: FromTrial) => {
      switch (message.kind) {
        case "progress":
          return onProgress(message.words);
        case "done":
          return finish(() => resolve(message.answer));
        case "refused":
          return failed(new UsageError(message.words));
        case "failed":
          return failed(new Error(message.words));
      }
    });
    child.once("error", failed);
    child.once("exit", (status, name) =>
      failed(new Error(`the process that tried it has ended: ${name ?? `status ${status}`}`)),
    );
    const sent: ToTrial = { asked, cwd };
    child.send(sent, (error) => error !== null && failed(error));
  });
}
