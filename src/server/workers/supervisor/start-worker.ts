/** Manages one process of the data plane: its start, channel, heartbeat and end. */
import { type ChildProcess, fork } from "node:child_process";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { Log } from "../../../base/index.ts";
import { type Channel, openChannel } from "../channel/index.ts";
import { logOutput } from "./child-output.ts";
import type { Handover, Heartbeat, Worker } from "./types.ts";
import { type ProgressLimits, processorTime, watchProgress } from "./watch-progress.ts";

const CHECK_MS = 1_000;
/** Limits during the start, when a worker waits for disks, and loads and compiles without a pause. */
const STARTING: ProgressLimits = { maxSilentChecks: 30, maxBusyMs: 300_000 };
const SERVING: ProgressLimits = { maxSilentChecks: 10, maxBusyMs: 10_000 };

interface StartWorkerOptions {
  readonly program: URL;
  readonly number: number;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** Starts a worker. Resolves once it has sent its greeting. Rejects if it ends before that, or has another version. */
export async function startWorker({ program, number, version, env, log }: StartWorkerOptions): Promise<Worker> {
  const child = fork(fileURLToPath(program), {
    env,
    execArgv: ["--enable-source-maps"],
    // Descriptor 3 is the channel, a pipe in both directions. Connections are sent over the IPC channel, with their
    // descriptors.
    stdio: ["ignore", "pipe", "pipe", "pipe", "ipc"],
  });
  // A send to a process that has just died causes an error too, which is ignored.
  const failed = new Promise<NodeJS.ErrnoException>((resolve) => child.on("error", resolve));
  // Without a pid, the process could not be started. It may have no pipes then, and no `exit` event follows.
  if (child.pid === undefined) throw notStarted(number, await failed);
  for (const output of [child.stdout, child.stderr]) {
    if (output !== null) logOutput(output, log, { worker: number, pid: child.pid });
  }
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let lastBeat: Heartbeat | undefined;
  let killReason: string | undefined;
  let limits = STARTING;
  const kill = (reason: string): void => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    killReason ??= reason;
    log.error("a worker process is stopped", { worker: number, pid: child.pid, reason });
    child.kill("SIGKILL");
  };
  const channel = openChannel(child.stdio[3] as Socket, (error) => kill(`its channel is broken: ${error.message}`));
  channel.on("beat", (beat) => {
    progress.recordSign();
    lastBeat = beat as Heartbeat;
  });
  const { pid } = child;
  const processorTimeMs = (): number | undefined => processorTime(pid);
  const progress = watchProgress({ everyMs: CHECK_MS, limits: () => limits, processorTimeMs }, kill);
  const ended = Promise.all([exited, channel.closed]).then(() => {
    progress.end();
    return killReason ?? exitText(child);
  });
  const worker: Worker = {
    number,
    pid,
    channel,
    lastHeartbeat: () => lastBeat,
    ...createHandover(child, channel),
    markServing() {
      limits = SERVING;
    },
    kill,
    ended,
  };
  const hello = new Promise<unknown>((resolve) => channel.on("hello", resolve));
  const greeting = await Promise.race([hello, ended.then(() => undefined)]);
  if (greeting === undefined)
    throw new Error(`worker ${number} ended while it started (${killReason ?? exitText(child)})`);
  progress.recordSign();
  const { version: workerVersion } = greeting as { readonly version: string };
  if (workerVersion === version) return worker;
  kill("it has another version");
  throw new Error(
    `worker ${number} is of version ${workerVersion}, and this is ${version}: the program was replaced; restart the gateway to use the new version`,
  );
}

/**
 * Hands connections to a worker. The channel reports whether a connection was taken, and also reports its own end, which Node's
 * IPC channel does not always do. If the worker has no free descriptor, neither the connection nor its number arrives, but later
 * messages do.
 */
function createHandover(child: ChildProcess, channel: Channel): Pick<Worker, "handOver" | "probeHandover"> {
  const pending = new Map<number, (outcome: Handover) => void>();
  let last = 0;
  let isOver = false;
  const settleHandover = (outcome: Handover) => (number: unknown) => {
    pending.get(Number(number))?.(outcome);
    pending.delete(Number(number));
  };
  channel.on("connections.taken", settleHandover("taken"));
  channel.on("connections.lost", settleHandover("lost"));
  void channel.closed.then(() => {
    isOver = true;
    for (const settle of pending.values()) settle("gone");
    pending.clear();
  });
  return {
    handOver(socket) {
      if (isOver) return Promise.resolve("gone");
      last += 1;
      const number = last;
      const answer = new Promise<Handover>((resolve) => pending.set(number, resolve));
      // The connection stays open here until the worker has taken it.
      child.send(number, socket, { keepOpen: true }, () => undefined);
      return answer;
    },
    probeHandover() {
      if (!isOver) child.send(-last, () => undefined);
    },
  };
}

/** Limits that stop a process from being started, and how to raise them. */
const REMEDIES: Readonly<Record<string, string>> = {
  EAGAIN: "; raise the limit of processes (`ulimit -u`, `TasksMax` of a systemd unit, or that of the container)",
  EMFILE: "; raise `ulimit -n`",
};

const notStarted = (number: number, error: NodeJS.ErrnoException): Error =>
  new Error(`worker ${number} could not be started: ${error.message}${REMEDIES[error.code ?? ""] ?? ""}`);

const exitText = ({ exitCode, signalCode }: { exitCode: number | null; signalCode: string | null }): string =>
  signalCode ?? `status ${exitCode}`;
