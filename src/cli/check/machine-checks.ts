/**
 * Checks of `gateway check` for this machine: limits of open files and memory, ports, and disk space. A port is bound for a
 * moment and released.
 */
import type { StatsFs } from "node:fs";
import { readFile, statfs } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { dirname } from "node:path";
import { allottedCores, allottedMemoryBytes, parseAddress } from "../../base/index.ts";
import type { NodeFile } from "../../server/core/config/index.ts";
import { DEFAULT_ADMISSION, fittingBufferedBytes } from "../../server/memory/index.ts";
import {
  programBytes,
  readCount,
  readWorkerCount,
  requiredMemoryBytes,
  resolveBeside,
} from "../../server/node/index.ts";
import { isVerificationOff, VERIFICATION_IS_OFF } from "../certificate-verification.ts";
import type { Answer } from "./probe.ts";

const MIB = 1 << 20;
const GIB = 1 << 30;

/** Number of descriptors for files of the database, sockets between nodes, and listeners. */
const OTHER_DESCRIPTORS = 256;
/**
 * Limits of free disk space: below the first, writes are refused (`GATEWAY_MIN_FREE_BYTES`); below the second, space
 * will soon run out.
 */
const MIN_FREE_BYTES = 256 * MIB;
const LITTLE_FREE_BYTES = GIB;
/** Minimum of `GATEWAY_MAX_BUFFERED_BYTES` that is suggested: less would refuse ordinary requests. */
const MIN_BUFFERED_BYTES = 32 * MIB;
const PORT_LIMIT_MS = 2_000;

type Env = Readonly<Record<string, string | undefined>>;

/** Resources of the machine. */
interface Machine {
  /** Maximum number of open files; `undefined` if unknown or unlimited. */
  readonly descriptors: number | undefined;
  readonly memoryBytes: number;
  readonly cores: number;
}

async function thisMachine(): Promise<Machine> {
  return {
    descriptors: descriptorsIn(await readFile("/proc/self/limits", "utf8").catch(() => "")),
    memoryBytes: allottedMemoryBytes(),
    cores: allottedCores(),
  };
}

/** Parses the soft limit of open files, which applies. Source: proc_pid_limits(5). */
export function descriptorsIn(limits: string): number | undefined {
  const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? undefined : Number(soft);
}

export function descriptorAnswer({ descriptors }: Machine, env: Env): Answer | undefined {
  const inFlight = readCount(env, "GATEWAY_MAX_IN_FLIGHT") ?? DEFAULT_ADMISSION.maxInFlight;
  // Each request needs a connection of the client and one of the provider.
  const neededDescriptors = 2 * inFlight + OTHER_DESCRIPTORS;
  if (descriptors === undefined || descriptors >= neededDescriptors) return undefined;
  const message =
    `a process of this user can open ${descriptors} files, but ${inFlight} requests in flight need ${neededDescriptors}: ` +
    `set LimitNOFILE=${neededDescriptors} in the systemd unit, run \`ulimit -n ${neededDescriptors}\` in a shell, or lower GATEWAY_MAX_IN_FLIGHT`;
  return { verdict: descriptors < 2 * OTHER_DESCRIPTORS ? "fail" : "note", subject: "descriptors", message };
}

const workersOn = ({ memoryBytes, cores }: Machine, env: Env): number =>
  readWorkerCount(env, { memory: memoryBytes, cores });

export function memoryAnswer(machine: Machine, env: Env): Answer | undefined {
  const { memoryBytes } = machine;
  const bufferedBytes = readCount(env, "GATEWAY_MAX_BUFFERED_BYTES") ?? DEFAULT_ADMISSION.maxBufferedBytes;
  const workers = workersOn(machine, env);
  const required = requiredMemoryBytes(env, workers);
  if (required <= memoryBytes) return undefined;
  const availableBytes = fittingBufferedBytes(memoryBytes - programBytes(workers));
  const processes = workers === 1 ? "" : ` in ${workers} worker processes (GATEWAY_WORKERS)`;
  const message =
    `requests may use ${sizeText(bufferedBytes)} and the program ${sizeText(required - bufferedBytes)}${processes}, but this machine has only ` +
    `${sizeText(memoryBytes)}, so the system may kill the gateway: ` +
    (availableBytes < MIN_BUFFERED_BYTES
      ? "add memory"
      : `set GATEWAY_MAX_BUFFERED_BYTES=${availableBytes}, or add memory`);
  return { verdict: bufferedBytes > memoryBytes ? "fail" : "note", subject: "memory", message };
}

/** Returns what this machine limits more than the settings need: open files and memory. A node logs it at its start too. */
export async function limitAnswers(env: Env): Promise<readonly Answer[]> {
  return limitAnswersOf(await thisMachine(), env);
}

const limitAnswersOf = (machine: Machine, env: Env): readonly Answer[] =>
  [descriptorAnswer(machine, env), memoryAnswer(machine, env)].filter((it) => it !== undefined);

/** Checks the file system of `path`, or of the nearest existing folder above it. */
export async function diskAnswer(subject: string, path: string): Promise<Answer | undefined> {
  const { bavail, bsize, files, ffree } = await nearestStats(path);
  const free = bavail * bsize;
  if (files > 0 && ffree === 0) {
    return {
      verdict: "fail",
      subject,
      message: `the disk of ${path} has no free inodes, so no file can be created: delete files, or use another disk`,
    };
  }
  if (free >= LITTLE_FREE_BYTES) return undefined;
  const message = `${path} has ${sizeText(free)} of free disk space, and below ${sizeText(MIN_FREE_BYTES)} writes are refused: free space, or use another disk`;
  return { verdict: free < MIN_FREE_BYTES ? "fail" : "note", subject, message };
}

async function nearestStats(path: string): Promise<StatsFs> {
  try {
    return await statfs(path);
  } catch (error) {
    if (dirname(path) === path) throw error;
    return nearestStats(dirname(path));
  }
}

const sizeText = (bytes: number): string =>
  bytes >= GIB ? `${(bytes / GIB).toFixed(1)} GiB` : `${Math.floor(bytes / MIB)} MiB`;

/** Checks that each address can be bound. With `isRunning`, an address in use is assumed to be used by the running gateway. */
async function portAnswers(nodeFile: NodeFile, isRunning: boolean): Promise<readonly Answer[]> {
  const { listen, metrics_listen, admin, cluster, extproc } = nodeFile;
  const named = [
    ["listen", listen],
    ["metrics_listen", metrics_listen === "none" ? undefined : metrics_listen],
    ["admin.listen", admin?.listen],
    ["cluster.raft_addr", cluster.raft_addr],
    ["cluster.forward_addr", cluster.forward_addr],
    ["extproc.inspect_listen", extproc?.inspect_listen],
  ] as const;
  const answers = await Promise.all(
    named.map(async ([subject, text]) => {
      const address = text === undefined ? undefined : parseAddress(text);
      if (text === undefined || address === undefined || address.port === 0) return undefined;
      return portAnswer(subject, text, await bindError(address), isRunning);
    }),
  );
  return answers.filter((it) => it !== undefined);
}

export function portAnswer(
  subject: string,
  text: string,
  code: string | undefined,
  isRunning: boolean,
): Answer | undefined {
  if (code === undefined) return undefined;
  const port = text.slice(text.lastIndexOf(":") + 1);
  switch (code) {
    case "EADDRINUSE":
      return isRunning
        ? { verdict: "note", subject, message: `${text} is in use by the gateway that runs here` }
        : {
            verdict: "fail",
            subject,
            message: `${text} is in use: find the process with \`ss -ltnp 'sport = :${port}'\` and stop it, or use another address`,
          };
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return {
        verdict: "fail",
        subject,
        message: `${text} is not an address of this machine (${code}): \`ip addr\` lists them`,
      };
    case "EACCES":
      return {
        verdict: "note",
        subject,
        message: `the user who runs this check may not listen on ${text}: a port below 1024 needs AmbientCapabilities=CAP_NET_BIND_SERVICE in the systemd unit`,
      };
    default:
      return { verdict: "fail", subject, message: `cannot listen on ${text}: ${code}` };
  }
}

/** Returns the error code if the address cannot be bound, otherwise `undefined`. */
function bindError({ host, port }: { readonly host?: string; readonly port: number }): Promise<string | undefined> {
  return new Promise((done) => {
    const server = createServer((socket) => socket.destroy());
    const timer = setTimeout(() => done("ETIMEDOUT"), PORT_LIMIT_MS);
    const end = (code: string | undefined): void => {
      clearTimeout(timer);
      server.close();
      done(code);
    };
    server.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
    server.listen({ port, ...(host !== undefined && { host }), exclusive: true }, () => end(undefined));
  });
}

/**
 * Returns whether a gateway answers at the metrics address or the admin socket of the node file at `path`. If so, the ports in
 * use are assumed to be its own.
 */
async function isGatewayRunning({ metrics_listen, admin }: NodeFile, path: string): Promise<boolean> {
  const socket = admin?.local_socket;
  return (
    (await answersHealth(metrics_listen)) ||
    (socket !== undefined && (await isConnectable(resolveBeside(path, socket))))
  );
}

const isConnectable = (path: string): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect({ path, timeout: PORT_LIMIT_MS });
    const end = (isConnected: boolean): void => {
      socket.destroy();
      done(isConnected);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
    socket.once("timeout", () => end(false));
  });

async function answersHealth(metricsListen: string): Promise<boolean> {
  const address = parseAddress(metricsListen);
  if (address === undefined || address.port === 0) return false;
  const { host = "127.0.0.1", port } = address;
  const name = host === "0.0.0.0" ? "127.0.0.1" : host.includes(":") ? `[${host === "::" ? "::1" : host}]` : host;
  try {
    const answer = await fetch(`http://${name}:${port}/healthz`, {
      signal: AbortSignal.timeout(PORT_LIMIT_MS),
      redirect: "error",
    });
    return answer.ok && /"healthy"/.test((await answer.text()).slice(0, 256));
  } catch {
    return false;
  }
}

export const verificationAnswer = (env: Env): Answer | undefined =>
  isVerificationOff(env) ? { verdict: "note", subject: "certificates", message: VERIFICATION_IS_OFF } : undefined;

/**
 * Returns failures and notes, or one line if there are none. `path`: absolute path of the node file. `dirs`: subjects and
 * absolute paths.
 */
export async function machineAnswers(
  nodeFile: NodeFile,
  path: string,
  dirs: readonly (readonly [subject: string, path: string])[],
  env: Env,
): Promise<readonly Answer[]> {
  const machine = await thisMachine();
  const isRunning = await isGatewayRunning(nodeFile, path);
  const disks = await Promise.all(
    dirs.map(([subject, path]) =>
      diskAnswer(subject, path).catch(
        (error: NodeJS.ErrnoException): Answer => ({ verdict: "note", subject, message: `${path}: ${error.code}` }),
      ),
    ),
  );
  const others = [verificationAnswer(env), ...disks].filter((it) => it !== undefined);
  const found = [...limitAnswersOf(machine, env), ...others];
  const answers = [...found, ...(await portAnswers(nodeFile, isRunning))];
  if (answers.some(({ verdict }) => verdict !== "ok")) return answers;
  const workers = workersOn(machine, env);
  const processes = workers === 1 ? "1 worker process" : `${workers} worker processes`;
  const files = machine.descriptors === undefined ? "" : `${machine.descriptors} open files, `;
  return [
    {
      verdict: "ok",
      subject: "machine",
      message: `${files}${sizeText(machine.memoryBytes)} of memory, ${processes}, enough disk space, all ports free`,
    },
  ];
}
