/** Runs the daemon, in flag mode or config mode, until a signal. Source: specification document 1; decisions, section 5. */

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createLogger, createLogTee, Lifetime, type Log, type LogTee, parseLogLevel } from "../../base/index.ts";
import { deploymentJsonSchema, type NodeFile } from "../../server/core/config/index.ts";
import {
  type ConfigNode,
  ConfigurationRefused,
  checkForwardProxies,
  compileDocuments,
  compileFlags,
  type DataPlaneBounds,
  observe,
  readCount,
  readDuration,
  readNameServers,
  readNode,
  readOrigins,
  readWorkerCount,
  resolveBeside,
  serveDataPlane,
  startConfigNode,
} from "../../server/node/index.ts";
import { buildOf } from "../build.ts";
import { isVerificationOff, VERIFICATION_IS_OFF } from "../certificate-verification.ts";
import { limitAnswers } from "../check/machine-checks.ts";
import { checkAddress } from "../check-address.ts";
import { type HeldSighup, holdSighup } from "../hold-sighup.ts";
import { type FlagsOf, UsageError } from "../parse-flags.ts";
import { printRefusal } from "../problem-lines.ts";
import { type ExitStatus, type Io, resolvePath, untilAborted } from "../process-io.ts";
import { openServiceManager, type ServiceManager, type WatchedProcess } from "../service-manager.ts";
import { startFailure } from "../start-failure.ts";
import type { runFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof runFlags>;

const CONFIGURATION = 10;

/** Runs the daemon. `held`: SIGHUP handler that was installed before this file was loaded. */
export async function run(
  options: Options,
  _: readonly string[],
  io: Io,
  held: HeldSighup = holdSighup(),
): Promise<ExitStatus> {
  const { config, configSchema, openapi, testRules: suite } = options;
  const reloads = config !== undefined && !configSchema && !openapi && suite === undefined;
  if (!reloads && held.restoreDefault()) return 129;
  if (options.configSchema) {
    io.stdout.write(`${JSON.stringify(deploymentJsonSchema(), null, 2)}\n`);
    return 0;
  }
  if (options.config === "") throw new UsageError("flag '-config' takes the path of a node file");
  if (options.openapi) {
    const { openApiDocument } = await import("../../admin-api/index.ts");
    io.stdout.write(`${JSON.stringify(openApiDocument({ version: buildOf().version }), null, 2)}\n`);
    return 0;
  }
  if (options.testRules !== undefined) {
    if (options.config === undefined) throw new UsageError("flag '-test-rules' needs '-config', whose rules it tests");
    if (options.testRules === "") {
      throw new UsageError("flag '-test-rules' takes the path of a rule suite, or of a folder of them");
    }
    const { testRules } = await import("./test-rules.ts");
    return testRules(options.config, options.testRules, io);
  }
  const logTee = createLogTee();
  const log = loggerOf(io, logTee);
  if (isVerificationOff(io.env)) log.warn(VERIFICATION_IS_OFF);
  if (options.config === undefined) return runFlagMode(options, io, log, logTee);
  return runConfigMode(resolvePath(io, options.config), io, log, logTee, held);
}

export function loggerOf(io: Io, logTee: LogTee): Log {
  const level = parseLogLevel(io.env["GATEWAY_LOG"] || "info");
  const log = createLogger({
    stream: io.stderr,
    isTerminal: io.isTerminal("stderr"),
    level: level ?? "info",
    now: () => io.now(),
    tee: logTee,
  });
  if (level === undefined) log.warn("GATEWAY_LOG must be debug, info, warn or error; info is used");
  return log;
}

async function runFlagMode(options: Options, io: Io, log: Log, logTee: LogTee): Promise<ExitStatus> {
  checkAddress("listen", options.listen);
  if (options.metricsListen !== "none") checkAddress("metrics-listen", options.metricsListen);
  const compiled = compileFlags({
    preset: options.preset,
    upstream: options.upstream,
    dialect: options.dialect,
    alias: options.alias,
    maxBodyBytes: options.maxBody,
  });
  if (compiled.kind === "refused") return refuse(compiled.problems, io);
  if (!["", "1", "auto"].includes(io.env["GATEWAY_WORKERS"] ?? ""))
    log.warn("GATEWAY_WORKERS has no effect without -config: one process serves");
  return runUntilStopped(io, log, async ({ owner, bounds, build }) => {
    await warnOfLimits({ ...io.env, GATEWAY_WORKERS: "1" }, log);
    const exporting = { env: io.env, nodeId: randomUUID(), tee: logTee };
    const observed = await observe(options.metricsListen, owner, log, build, exporting);
    const { snapshot } = compiled;
    const plane = { ...bounds, listen: options.listen, snapshot, env: io.env };
    const dataPlane = await serveDataPlane(plane, observed, owner, log);
    log.info("ready", {
      mode: "flags",
      listen: dataPlane.address,
      metrics: observed.metricsAddress ?? "none",
      providers: snapshot.providers.map(({ name }) => name),
      version: build.version,
    });
    return undefined;
  });
}

async function runConfigMode(path: string, io: Io, log: Log, logTee: LogTee, held: HeldSighup): Promise<ExitStatus> {
  const hangups = hangupsOf(log, held);
  try {
    return await runFrom(path, io, log, logTee, hangups);
  } finally {
    hangups.close();
  }
}

async function runFrom(path: string, io: Io, log: Log, logTee: LogTee, hangups: Hangups): Promise<ExitStatus> {
  const documents = await readNode(path, io.env);
  const { nodeFile } = documents;
  // If the document on disk is invalid, a node serves its stored configuration; a new node has none, so it refuses to
  // start.
  const { data_dir: clusterDataDir } = nodeFile?.cluster ?? {};
  const dataDir = clusterDataDir === undefined ? undefined : resolveBeside(path, clusterDataDir);
  const isNew = dataDir === undefined || !existsSync(join(dataDir, "raft"));
  if (!documents.isSound || nodeFile === undefined || (isNew && documents.document !== undefined)) {
    const loaded = compileDocuments(documents, io.env);
    if (loaded.kind === "refused" && !(loaded.missing.length > 0 && hasOthers(nodeFile))) {
      return refuse(loaded.problems, io);
    }
  }
  if (nodeFile === undefined) return refuse(documents.problems, io);
  for (const warning of documents.problems) log.warn("configuration", { warning });
  return runUntilStopped(io, log, async ({ owner, bounds, build, manager, signal }) => {
    const workers = readWorkerCount(io.env);
    await warnOfLimits(io.env, log);
    const ofRun = { env: io.env, workers, build, log, tee: logTee, signal };
    const options = { ...bounds, ...ofRun, documents: { ...documents, nodeFile } };
    const node = await startConfigNode(options, owner);
    hangups.serve(node, manager);
    const serving = await node.serving;
    log.info("ready", {
      mode: "config",
      listen: serving.listen ?? "none",
      ...(serving.inspector !== undefined && { inspector: serving.inspector }),
      metrics: serving.metrics ?? "none",
      admin: serving.admin ?? "none",
      admin_socket: serving.socket ?? "none",
      providers: serving.providers,
      workers,
      version: build.version,
    });
    return node;
  });
}

/** Logs the limits of this machine that are lower than the settings need. */
async function warnOfLimits(env: Io["env"], log: Log): Promise<void> {
  for (const { subject, message } of await limitAnswers(env))
    log.warn("this machine has less than the settings need", { subject, problem: message });
}

/** Returns whether the cluster has or may have other members, which may have sealed secrets that the document refers to. */
function hasOthers(nodeFile: NodeFile | undefined): boolean {
  const { join, peers = [] } = nodeFile?.cluster ?? {};
  return join !== undefined || peers.length > 1;
}

interface Hangups {
  /** Reloads the node at each SIGHUP from now on, and at once if one arrived during the start. */
  serve(node: ConfigNode, manager: ServiceManager): void;
  close(): void;
}

function hangupsOf(log: Log, held: HeldSighup): Hangups {
  let reload: (() => Promise<void>) | undefined;
  let isWaiting = false;
  let lastReload = Promise.resolve();
  const onHangup = (): void => {
    const requestedReload = reload;
    if (requestedReload === undefined) {
      log.info("SIGHUP arrived during the start: the files are read again once the start has finished");
      isWaiting = true;
      return;
    }
    // Reloads run one after the other.
    lastReload = lastReload.then(requestedReload).catch((error: unknown) => log.error("reload failed", { error }));
  };
  const close = held.forwardTo(onHangup);
  return {
    serve(node, manager) {
      reload = () => manager.notifyReload(() => node.reload());
      if (isWaiting) onHangup();
    },
    close,
  };
}

interface Start {
  readonly owner: Lifetime;
  readonly bounds: DataPlaneBounds;
  readonly build: { readonly version: string; readonly commit: string; readonly node: string };
  readonly manager: ServiceManager;
  /** Aborts when the process is to stop. */
  readonly signal: AbortSignal;
}

/** Reports for the service manager in flag mode. Apart from the event loop there is nothing to check. */
const WITHOUT_STATE: WatchedProcess = { status: () => "Serving", alive: () => Promise.resolve() };

/**
 * Runs until a signal or a fatal error. `start` resolves when the node serves; its `ended` resolves if the node stops
 * by itself.
 */
async function runUntilStopped(
  io: Io,
  log: Log,
  start: (startOptions: Start) => Promise<({ readonly ended: Promise<Error> } & WatchedProcess) | undefined>,
): Promise<ExitStatus> {
  const owner = new Lifetime({ onFailure: (name, error) => log.error("could not close", { name, error }) });
  const { version, commit } = buildOf();
  const build = { version, commit, node: process.versions.node };
  try {
    const bounds = boundsOf(io);
    checkForwardProxies(io.env, log);
    // Opened first so that it closes last: the watchdog must still get keep-alives while requests finish.
    const manager = owner.own("service manager", await openServiceManager(io.env, log), (it) => it.close());
    const started = await start({ owner, bounds, build, manager, signal: io.signal });
    manager.notifyReady(started ?? WITHOUT_STATE);
    const fault = await Promise.race([untilAborted(io.signal), ...(started === undefined ? [] : [started.ended])]);
    if (fault instanceof Error) throw fault;
    manager.notifyStopping();
    log.info("stopping: waiting for requests in flight; a second signal ends the process at once");
    return 0;
  } catch (error) {
    if (io.signal.aborted) return 0;
    if (error instanceof ConfigurationRefused) return refuse(error.problems, io);
    const { status, message } = startFailure(error);
    log.error(message);
    return status;
  } finally {
    await owner.close();
  }
}

/** Maximum drain time: one day, since no stream is longer, and a timer lasts at most 24.8 days. */
const MAX_DRAIN_MS = 86_400_000;

/** Maximum interval of usage reports, since a node that is killed loses what it has not reported. */
const MAX_USAGE_REPORT_MS = 60_000;

/** Maximum interval of heartbeats: one hour, since less frequent ones keep no connection alive. */
const MAX_HEARTBEAT_MS = 3_600_000;

function boundsOf({ env }: Io): DataPlaneBounds {
  return {
    maxInFlight: readCount(env, "GATEWAY_MAX_IN_FLIGHT"),
    maxBufferedBytes: readCount(env, "GATEWAY_MAX_BUFFERED_BYTES"),
    responsesMemory: readCount(env, "GATEWAY_RESPONSES_MEMORY", 0),
    rehearsalMemory: readCount(env, "GATEWAY_REHEARSAL_MEMORY", 0),
    drainMs: readDuration(env, "GATEWAY_DRAIN", MAX_DRAIN_MS),
    usageEveryMs: readDuration(env, "GATEWAY_USAGE_REPORT", MAX_USAGE_REPORT_MS),
    heartbeatMs: readDuration(env, "GATEWAY_STREAM_HEARTBEAT", MAX_HEARTBEAT_MS),
    nameServers: readNameServers(env, "GATEWAY_DNS_SERVERS"),
    corsOrigins: readOrigins(env, "GATEWAY_CORS_ORIGINS"),
  };
}

function refuse(problems: readonly string[], io: Io): ExitStatus {
  printRefusal(problems, "the configuration was refused", io);
  return CONFIGURATION;
}
