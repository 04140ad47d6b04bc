/**
 * Child processes that end with the bench: when it is done, when it throws, and when it is interrupted. Our own pieces
 * get a channel and exit when it closes; foreign programs are killed here.
 */

import { type ChildProcess, fork, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Listening } from "../child/channel.ts";

/** Time between SIGTERM and SIGKILL. A gateway has nothing to drain for longer in a bench. */
const STOP_TIMEOUT_MS = 10_000;
/** Allows for a busy machine; a program that cannot start ends by itself. */
const START_TIMEOUT_MS = 60_000;
/** Length of a child's output kept for the message about its failure. */
const KEPT_OUTPUT_CHARS = 16_384;

const running = new Set<ChildProcess>();
const folders = new Set<string>();
let isGuarded = false;

export interface Child {
  readonly pid: number;
  /** Returns the end of its stderr. */
  output(): string;
  hasEnded(): boolean;
  stop(): Promise<void>;
}

export interface Piece extends Child {
  readonly port: number;
}

/** Removes a folder when the bench ends, after the children that write to it. */
export function removeAtEnd(folder: string): void {
  guard();
  folders.add(folder);
}

export function startChild(command: string, args: readonly string[], options: SpawnOptions = {}): Child {
  const child = spawn(command, args, { ...options, stdio: ["ignore", "ignore", "pipe"] });
  return own(child);
}

/** Starts one of the compiled pieces of this folder; resolves when it listens. */
export async function startPiece(file: string, args: readonly string[]): Promise<Piece> {
  const child = fork(file, args, { execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] });
  const owned = own(child);
  const [message]: [Listening] = await withEnd(once(child, "message"), owned);
  return Object.assign(owned, { port: message.port });
}

/** Starts a program with requests over its channel: one at a time, each with one answer. */
export function startAsked<Question extends object, Answer>(
  file: string,
  args: readonly string[] = [],
  nodeFlags: readonly string[] = [],
): Child & { ask(question: Question): Promise<Answer> } {
  const child = fork(file, args, { execArgv: [...nodeFlags], stdio: ["ignore", "ignore", "pipe", "ipc"] });
  const owned = own(child);
  const ask = async (question: Question): Promise<Answer> => {
    const answer = once(child, "message");
    child.send(question);
    const [message]: [Answer] = await withEnd(answer, owned);
    return message;
  };
  return Object.assign(owned, { ask });
}

/** Polls until the port accepts connections; rejects if the child ends first. */
export async function waitForPort(port: number, child: Child, timeoutMs = START_TIMEOUT_MS): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await takesConnections(port))) {
    if (child.hasEnded()) throw new Error(`it ended before it listened: ${child.output().trim()}`);
    if (performance.now() > deadline) throw new Error(`nothing listens on ${port} after ${timeoutMs} ms`);
    await sleep(2);
  }
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

function own(child: ChildProcess): Child {
  guard();
  running.add(child);
  let output = "";
  let ended = false;
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-KEPT_OUTPUT_CHARS);
  });
  const end = (): void => {
    ended = true;
    running.delete(child);
  };
  child.once("exit", end);
  child.once("error", (error) => {
    output += error.message;
    end();
  });
  return {
    pid: child.pid ?? -1,
    output: () => output,
    hasEnded: () => ended,
    async stop() {
      if (ended) return;
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
      await gone;
      clearTimeout(timer);
    },
  };
}

/** Rejects if the child ends before the promise settles, instead of waiting forever. */
async function withEnd<Value>(promise: Promise<unknown[]>, child: Child): Promise<Value & unknown[]> {
  const ended = new AbortController();
  const watch = async (): Promise<never> => {
    while (!child.hasEnded()) await sleep(50, undefined, { signal: ended.signal });
    throw new Error(`a piece of the bench ended: ${child.output().trim()}`);
  };
  const watching = watch();
  watching.catch(() => undefined);
  try {
    return (await Promise.race([promise, watching])) as Value & unknown[];
  } finally {
    ended.abort();
  }
}

function guard(): void {
  if (isGuarded) return;
  isGuarded = true;
  process.once("exit", () => {
    for (const child of running) child.kill("SIGKILL");
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(130));
}
