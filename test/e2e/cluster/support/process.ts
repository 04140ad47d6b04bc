/** A child process that a test starts, stops, kills and pauses. It never outlives the test's process. */
import { type ChildProcess, spawn } from "node:child_process";
import { countStart } from "../../../support/count-start.ts";

export interface End {
  readonly status: number | null;
  readonly signal: string | null;
}

export interface Running {
  readonly pid: number;
  readonly child: ChildProcess;
  /** stdout and stderr in order. */
  output(): string;
  signal(name: NodeJS.Signals): void;
  readonly isRunning: boolean;
  /** Resolves when it has ended and its output is read. */
  readonly ended: Promise<End>;
}

const alive = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

interface Launch {
  /** The executable and its arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export function launch({ command, env }: Launch): Running {
  const [file = "", ...args] = command;
  countStart();
  const child = spawn(file, args, {
    // A stop waits a tenth of this time for each connection that a client keeps open.
    env: { PATH: process.env["PATH"], GATEWAY_DRAIN: "3s", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  alive.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  let isRunning = true;
  child.once("exit", () => {
    isRunning = false;
  });
  const ended = new Promise<End>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status, signal) => {
      alive.delete(child);
      resolve({ status, signal });
    });
  });
  ended.catch(() => undefined);
  return {
    pid: child.pid ?? -1,
    child,
    output: () => output,
    signal: (name) => void child.kill(name),
    get isRunning() {
      return isRunning;
    },
    ended,
  };
}
