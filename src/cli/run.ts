/** The daemon: flag mode or config mode, until a signal. Source: specification document 1; decisions, section 5. */
import { createLogger, GatewayError, Lifetime, type Log, parseLogLevel } from "../base/index.ts";
import { deploymentJsonSchema } from "../server/core/config/index.ts";
import {
  compileFlags,
  type LoadedNode,
  loadNode,
  type NodeSettings,
  type RunningNode,
  reload,
  startNode,
  watchSecrets,
} from "../server/node/index.ts";
import type { FlagsOf } from "./flags.ts";
import { type ExitStatus, type Io, resolvePath, untilAborted } from "./io.ts";
import type { runFlags } from "./specs.ts";
import { buildOf } from "./version.ts";

type Options = FlagsOf<typeof runFlags>;

const CONFIGURATION = 10;
const STORAGE = 11;
const CANNOT_LISTEN = 12;

export async function run(options: Options, _: readonly string[], io: Io): Promise<ExitStatus> {
  if (options.configSchema) {
    io.stdout.write(`${JSON.stringify(deploymentJsonSchema(), null, 2)}\n`);
    return 0;
  }
  const log = loggerOf(io);
  if (options.config === undefined) return runFlagMode(options, io, log);
  return runConfigMode(resolvePath(io, options.config), io, log);
}

export function loggerOf(io: Io): Log {
  const level = parseLogLevel(io.env["GATEWAY_LOG"] ?? "info");
  const log = createLogger({
    stream: io.stderr,
    isTerminal: io.isTerminal("stderr"),
    level: level ?? "info",
    now: () => io.now(),
  });
  if (level === undefined) log.warn("GATEWAY_LOG is none of debug, info, warn and error; info is used");
  return log;
}

async function runFlagMode(options: Options, io: Io, log: Log): Promise<ExitStatus> {
  const compiled = compileFlags({
    preset: options.preset,
    upstream: options.upstream,
    dialect: options.dialect,
    alias: options.alias,
    maxBodyBytes: options.maxBody,
  });
  if (compiled.kind === "refused") return refuse(compiled.problems, io);
  const settings = {
    listen: options.listen,
    metricsListen: options.metricsListen,
    storage: undefined,
    snapshot: compiled.snapshot,
  };
  return serveUntilStopped(settings, "flags", io, log, async () => undefined);
}

async function runConfigMode(path: string, io: Io, log: Log): Promise<ExitStatus> {
  const loaded = await loadNode(path, io.env);
  if (loaded.kind === "refused") return refuse(loaded.problems, io);
  for (const warning of loaded.node.warnings) log.warn("configuration", { warning });
  const { nodeFile, compiled } = loaded.node;
  const settings = {
    listen: nodeFile.listen,
    metricsListen: nodeFile.metrics_listen,
    storage: { dir: nodeFile.cluster.data_dir, nodeId: nodeFile.cluster.node_id },
    snapshot: compiled.snapshot,
  };
  return serveUntilStopped(settings, "config", io, log, (node, owner) =>
    followChanges(path, loaded.node, node, owner, io, log),
  );
}

/** Reloads on SIGHUP, rebuilds when a referenced secret file changes; one after the other, never two at once. */
async function followChanges(
  path: string,
  first: LoadedNode,
  node: RunningNode,
  owner: Lifetime,
  io: Io,
  log: Log,
): Promise<void> {
  let running = first;
  let turn = Promise.resolve();
  const enqueue = (cause: "reload" | "rebuild"): void => {
    turn = turn.then(async () => {
      running = await reload(running, cause, { path, env: io.env, node, log });
      watcher.watch(running);
    });
    turn.catch((error: unknown) => log.error("reload failed", { error }));
  };
  const watcher = owner.own(
    "secrets watcher",
    watchSecrets(running, () => enqueue("rebuild"), log),
    (it) => it.close(),
  );
  const onHangup = (): void => enqueue("reload");
  process.on("SIGHUP", onHangup);
  owner.own("SIGHUP", onHangup, (listener) => process.off("SIGHUP", listener));
}

type Follow = (node: RunningNode, owner: Lifetime) => Promise<void>;
type Settings = Omit<NodeSettings, "maxInFlight" | "maxBufferedBytes">;

async function serveUntilStopped(
  settings: Settings,
  mode: string,
  io: Io,
  log: Log,
  follow: Follow,
): Promise<ExitStatus> {
  const bounds = admissionBounds(io);
  if (typeof bounds === "string") return refuse([bounds], io);
  const owner = new Lifetime({ onFailure: (name, error) => log.error("could not close", { name, error }) });
  const { version, commit } = buildOf();
  const build = { version, commit, node: process.versions.node };
  try {
    const node = await startNode({ ...settings, ...bounds }, owner, log, build);
    await follow(node, owner);
    log.info("ready", {
      mode,
      listen: node.address,
      metrics: node.metricsAddress ?? "none",
      providers: settings.snapshot.providers.map(({ name }) => name),
      version,
    });
    await untilAborted(io.signal);
    log.info("stopping; running requests may finish, a second signal ends at once");
    return 0;
  } catch (error) {
    const { status, message } = startFailure(error);
    log.error(message);
    return status;
  } finally {
    await owner.close();
  }
}

function admissionBounds(io: Io): Pick<NodeSettings, "maxInFlight" | "maxBufferedBytes"> | string {
  const read = (name: string): number | undefined | string => {
    const text = io.env[name];
    if (text === undefined || text === "") return undefined;
    return /^[1-9]\d{0,14}$/.test(text)
      ? Number(text)
      : `${name}: expected a positive integer, found ${JSON.stringify(text)}`;
  };
  const maxInFlight = read("GATEWAY_MAX_IN_FLIGHT");
  const maxBufferedBytes = read("GATEWAY_MAX_BUFFERED_BYTES");
  if (typeof maxInFlight === "string") return maxInFlight;
  return typeof maxBufferedBytes === "string" ? maxBufferedBytes : { maxInFlight, maxBufferedBytes };
}

const CANNOT_BIND: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "another process uses the address"],
  ["EACCES", "permission denied"],
  ["EADDRNOTAVAIL", "this machine has no such address"],
  ["ENOTFOUND", "the name does not resolve"],
]);

/** A start that failed, as exit status and the sentence that says what to do. */
export function startFailure(error: unknown): { readonly status: ExitStatus; readonly message: string } {
  if (error instanceof GatewayError) return { status: 1, message: error.message };
  const { code, message, cause } = error as NodeJS.ErrnoException;
  // Whoever says which listener it was has the system's error as the cause.
  const why = CANNOT_BIND.get(code ?? (cause as NodeJS.ErrnoException | undefined)?.code ?? "");
  if (why !== undefined) return { status: CANNOT_LISTEN, message: `cannot listen: ${why} (${message})` };
  if ((error as Error).name === "StorageError") return { status: STORAGE, message };
  return { status: 1, message: `cannot start: ${message}` };
}

function refuse(problems: readonly string[], io: Io): ExitStatus {
  for (const problem of problems) io.stderr.write(`${problem}\n`);
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  io.stderr.write(`gateway: the configuration was refused: ${count}\n`);
  return CONFIGURATION;
}
