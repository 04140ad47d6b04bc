/**
 * Entry point of the program: finds the verb of the command line and runs it. Only this file ends the process.
 *
 * Loaded at every start, so it imports the flag parser, the table of verbs and nothing else; `gateway version` must
 * cost no more than twice an empty Node process.
 */

import { waitForNativeCalls } from "../base/index.ts";
import { invoke } from "./dispatch.ts";
import { findVerb, isGroupWord } from "./find-verb.ts";
import { UsageError } from "./parse-flags.ts";
import { type ExitStatus, Interrupted, type Io, OutputLost, processIo } from "./process-io.ts";

/** Runs the process from its arguments to its end. */
export async function main(args: readonly string[]): Promise<void> {
  for (const name of USER_SIGNALS) process.on(name, () => undefined);
  const leave = (status: ExitStatus) => endProcess(status);
  const io = processIo(() => leave(130));
  const status = await execute(args, io);
  const wasAborted = io.signal.aborted;
  await io.flush();
  // The last output of a successful verb may fail only during the flush, or a signal may cut it off.
  const { reason } = io.signal;
  if (hasLostReader(reason)) return leave(CLOSED_STDOUT);
  const isLost = (!wasAborted && reason instanceof Interrupted) || reason instanceof OutputLost;
  if (status !== 0 || !isLost) return leave(status);
  leave(report(verbNameOf(args), reason, io));
}

/** Exit status of a process that SIGPIPE ended, as shells report it. */
const CLOSED_STDOUT: ExitStatus = 141;

const hasLostReader = (reason: unknown): boolean => reason instanceof Interrupted && reason.by === "closed stdout";

/** Returns the name of the verb that the arguments ran; empty if they name none. */
function verbNameOf(args: readonly string[]): string {
  return isGroup(args) ? "" : findVerb(args).verb.name;
}

/**
 * Signals that are ignored. By default SIGUSR1 starts Node's debugger, through which every user of the machine could run code in
 * the process and read its keys, and SIGUSR2 ends the process. Other servers reopen their logs at these signals.
 */
const USER_SIGNALS = ["SIGUSR1", "SIGUSR2"] as const;

const SIGNALS: ReadonlyMap<ExitStatus, NodeJS.Signals> = new Map([
  [129, "SIGHUP"],
  [CLOSED_STDOUT, "SIGPIPE"],
  [143, "SIGTERM"],
]);

/**
 * Ends the process. For a status that stands for a signal, the process sends itself that signal, so that its parent sees the
 * true cause. That also avoids an assertion of Node, which fails to restore a terminal that is gone.
 */
function endProcess(status: ExitStatus): void {
  const ended = waitForNativeCalls(NATIVE_CALLS_MS);
  if (ended === undefined) endNow(status);
  else void ended.then((haveEnded) => (haveEnded ? endNow(status) : process.kill(process.pid, "SIGKILL")));
}

/** Time limit for native calls at exit. One run of a model takes less; exiting during a call would abort the process. */
const NATIVE_CALLS_MS = 5_000;

function endNow(status: ExitStatus): void {
  const signal = SIGNALS.get(status);
  if (signal === undefined) process.exit(status);
  // Node ignores SIGPIPE. Removing the last listener of a signal restores its default action.
  process.on(signal, () => undefined);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Reached only by the first process of a container, which no signal ends.
  process.exit(status);
}

/** Runs the verb of the command line. Never rejects: an error is printed on stderr and becomes a status. */
export async function execute(args: readonly string[], io: Io): Promise<ExitStatus> {
  let named = "";
  try {
    const { verb, rest } = findVerb(isGroup(args) ? ["help", ...args] : args);
    named = verb.name;
    const outcome = await invoke(verb, rest, io);
    if (outcome.kind === "done") return outcome.status;
    const { printHelp } = await import("./verbs/help.ts");
    return printHelp(verb, io);
  } catch (error) {
    return report(named, error, io);
  }
}

/** Returns whether the arguments are only the name of a group, such as `gateway keys`, whose help is then printed. */
function isGroup(args: readonly string[]): boolean {
  const [first] = args;
  return args.length === 1 && first !== undefined && isGroupWord(first);
}

function report(verb: string, error: unknown, io: Io): ExitStatus {
  const name = verb === "" ? "gateway" : `gateway ${verb}`;
  if (error instanceof UsageError) {
    // A hint to `gateway help help` would not help somebody who is looking for a verb.
    const help = verb === "" || verb === "help" ? "gateway help" : `gateway help ${verb}`;
    io.stderr.write(`${name}: ${error.message}\nRun '${help}' for usage.\n`);
    return 2;
  }
  // After an abort the error only reflects the interruption, so it is not printed.
  const { reason } = io.signal;
  if (io.signal.aborted && !(reason instanceof OutputLost)) {
    return hasLostReader(reason) ? CLOSED_STDOUT : 130;
  }
  const shown: unknown = reason instanceof OutputLost ? reason : error;
  const text = shown instanceof Error ? shown.message : String(shown);
  const stack = io.env["GATEWAY_LOG"] === "debug" && error instanceof Error ? `${error.stack}\n` : "";
  io.stderr.write(`${name}: ${text}\n${stack}`);
  return 1;
}
