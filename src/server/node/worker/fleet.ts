/**
 * The data plane of a node over several processes, with the interface of a single one: a configuration is prepared and then
 * taken by all, or by none; an operator's write is answered once each process has the rows, or was killed.
 */

import type { Lifetime, Log } from "../../../base/index.ts";
import { programUrl, systemClock } from "../../../base/index.ts";
import type { Cluster, StateView } from "../../cluster/index.ts";
import type { NodeFile } from "../../core/config/index.ts";
import type { Certificates } from "../../tls/index.ts";
import type { PoolMember } from "../../upstream/index.ts";
import {
  ChannelClosed,
  catchUp,
  feedCertificates,
  feedRows,
  openAcceptor,
  openIntake,
  openSupervisor,
  type RowsFeed,
  startLivenessChecks,
  type Worker,
  type WorkersStatus,
} from "../../workers/index.ts";
import { isDecision } from "../admin/control-decisions.ts";
import { AFTER_DRAIN_MS, type DataPlane, DRAIN_MS, type Observed } from "../start.ts";
import { relayIssuedValues } from "./issued-values.ts";
import { mergedMembers } from "./merged-members.ts";
import { type MemberQuestion, mergeAnswers, reachableMembers } from "./other-nodes.ts";
import type { TransferredInputs } from "./transferred-inputs.ts";
import type { ConfigurationRevision } from "./worker-configuration.ts";
import { connectWorkerPorts, type WorkerReportPorts } from "./worker-report-ports.ts";
import type { WorkerSettings } from "./worker-settings.ts";
import { observeTraffic } from "./worker-traffic-metrics.ts";

/** Time limit for preparing in milliseconds: models are loaded within three minutes; a process that hangs is killed. */
const PREPARE_LIMIT_MS = 200_000;
const ACTIVATE_LIMIT_MS = 60_000;
const ITEMS_LIMIT_MS = 1_000;
/** Checks of whether a worker takes changes of the state: one second without a message that it has received. */
const CHANGE_CHECKS = { everyMs: 100, maxSilentChecks: 10 };
/** Time in which the remaining workers take connections that were accepted at the end, in milliseconds. */
const HANDOVER_LIMIT_MS = 2_000;
/** Time in which a drained worker exits, in milliseconds. */
const EXIT_LIMIT_MS = 2_000;

const PROGRAM = {
  source: new URL("./program.ts", import.meta.url),
  built: new URL("./worker.js", import.meta.url),
};

export interface FleetOptions {
  readonly count: number;
  readonly listen: string;
  readonly drainMs: number | undefined;
  readonly settings: Omit<WorkerSettings, "number" | "nodeFile" | "otherListeners" | "address" | "port" | "intake">;
  /** Absolute path; `undefined` if nothing is kept. */
  readonly dataDir: string | undefined;
  readonly otherListeners: () => readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cluster: Pick<Cluster, "view" | "status" | "onStatus" | "askMember">;
  /** Receives what workers report. */
  readonly node: WorkerReportPorts;
  readonly certificates: Certificates | undefined;
}

/** Transfer of a configuration to the other processes that serve it. */
export interface OtherProcesses {
  /** Returns why the configuration cannot be used there, one problem a line; empty if all can use it. */
  prepare(inputs: TransferredInputs): Promise<readonly string[]>;
  /** Puts the prepared configuration in force. Resolves once all have it. */
  activate(): Promise<void>;
}

export interface Fleet extends OtherProcesses {
  setNodeFile(nodeFile: NodeFile): void;
  /** Returns the state of the workers; `undefined` before the first is started. */
  status(): WorkersStatus | undefined;
  /** Resolves once each worker has all rows that the view had before the call, or was ended. */
  whenRowsReceived(): Promise<void>;
  /** Resolves after everything that workers measured and counted before the call has arrived, within 0.2 s. */
  whenReported(): Promise<void>;
  /** Starts the workers. Rejects if they cannot be started or the address cannot be bound. */
  open(options: FleetOptions, observed: Observed, owner: Lifetime, log: Log): Promise<DataPlane>;
}

interface FedWorker {
  readonly worker: Worker;
  readonly rows: RowsFeed;
}

export function createFleet(started: NodeFile): Fleet {
  let nodeFile = started;
  let prepared: ConfigurationRevision | undefined;
  let current: ConfigurationRevision | undefined;
  let rev = 0;
  let status: (() => WorkersStatus) | undefined;
  /** Workers that are fed with rows. */
  const fedWorkers = new Map<Worker, FedWorker>();
  /** Workers that have the configuration in force. */
  const readyWorkers = new Set<Worker>();

  const prepareIn = async (
    { channel, ended }: Worker,
    configuration: ConfigurationRevision,
  ): Promise<readonly string[]> => {
    try {
      const reply = channel.ask("prepare", configuration, AbortSignal.timeout(PREPARE_LIMIT_MS));
      return (await Promise.race([reply, ended.then(() => [])])) as readonly string[];
    } catch (error) {
      // The channel of a killed worker closes before its process has ended. Its replacement prepares the configuration itself.
      if (error instanceof ChannelClosed) return [];
      throw error;
    }
  };

  /** Puts a configuration in force in a worker, preparing it if necessary; a worker that fails is killed. */
  const activateIn = async (worker: Worker, configuration: ConfigurationRevision): Promise<void> => {
    try {
      const signal = AbortSignal.timeout(ACTIVATE_LIMIT_MS);
      if (await worker.channel.ask("take", configuration.rev, signal)) return;
      const problems = await prepareIn(worker, configuration);
      if (problems.length > 0) throw new Error(problems.join("; "));
      await worker.channel.ask("take", configuration.rev, AbortSignal.timeout(ACTIVATE_LIMIT_MS));
    } catch (error) {
      worker.kill(`it does not accept the configuration: ${error instanceof Error ? error.message : String(error)}`);
      await worker.ended;
    }
  };

  const prepareWorker = async (
    worker: Worker,
    signal: AbortSignal,
    { address, port, intake }: Pick<WorkerSettings, "address" | "port" | "intake">,
    options: FleetOptions,
  ): Promise<void> => {
    const { channel, number } = worker;
    const { settings, cluster, node, certificates } = options;
    const otherListeners = options.otherListeners();
    const workerSettings: WorkerSettings = { ...settings, number, nodeFile, otherListeners, address, port, intake };
    const disconnectPorts = connectWorkerPorts(channel, number, node);
    relayIssuedValues(channel, () => others(worker).map((it) => it.channel));
    channel.answer("member", (body) => askMember(worker, body as MemberQuestion, cluster));
    const rows = feedRows(channel, cluster.view as StateView);
    fedWorkers.set(worker, { worker, rows });
    const sendMembers = (): void => channel.send("members", reachableMembers(cluster.status()));
    sendMembers();
    const ends = [
      rows.close,
      cluster.onStatus(sendMembers),
      disconnectPorts,
      certificates && feedCertificates(channel, certificates),
    ];
    void worker.ended.then(() => {
      fedWorkers.delete(worker);
      readyWorkers.delete(worker);
      for (const end of ends) end?.();
    });
    await channel.ask("open", workerSettings, signal);
    await rows.whenReceived();
    for (let active: ConfigurationRevision | undefined; active === undefined || active !== current; ) {
      if (current === undefined) throw new Error("there is no configuration yet");
      active = current;
      const problems = (await channel.ask("prepare", active, signal)) as readonly string[];
      if (problems.length > 0) throw new Error(`the configuration does not compile there: ${problems.join("; ")}`);
      await channel.ask("take", active.rev, signal);
    }
    readyWorkers.add(worker);
    await channel.ask("serve", null, signal);
  };

  const others = (worker?: Worker): readonly Worker[] => [...readyWorkers].filter((it) => it !== worker);

  const askAll = async (workers: readonly Worker[], question: unknown): Promise<Uint8Array | undefined> => {
    const limit = AbortSignal.timeout(ITEMS_LIMIT_MS);
    const asked = workers.map(({ channel }) => channel.ask("items", question, limit).catch(() => undefined));
    const answers = await Promise.all(asked);
    if (limit.aborted) return undefined;
    return mergeAnswers(answers.flatMap((it) => (typeof it === "string" ? [Buffer.from(it, "base64")] : [])));
  };

  const askMember = async (
    worker: Worker,
    { id, question, timeoutMs }: MemberQuestion,
    cluster: FleetOptions["cluster"],
  ): Promise<string | undefined> => {
    const answer =
      id === cluster.status().nodeId
        ? await askAll(others(worker), question)
        : await cluster.askMember(id, question, { timeoutMs, signal: AbortSignal.timeout(timeoutMs) });
    return answer && Buffer.from(answer).toString("base64");
  };

  return {
    async prepare(inputs) {
      rev += 1;
      const next: ConfigurationRevision = { rev, inputs };
      prepared = next;
      const problems = await Promise.all(others().map((worker) => prepareIn(worker, next)));
      return [...new Set(problems.flat())];
    },
    async activate() {
      const next = prepared;
      if (next === undefined) return;
      current = next;
      await Promise.all(others().map((worker) => activateIn(worker, next)));
    },
    setNodeFile(next) {
      nodeFile = next;
      for (const { channel } of fedWorkers.keys()) channel.send("node_file", next);
    },
    status: () => status?.(),
    async whenRowsReceived() {
      await Promise.all(
        Array.from(fedWorkers.values(), async ({ worker, rows }) => {
          if (!readyWorkers.has(worker)) return;
          const checks = startLivenessChecks(CHANGE_CHECKS, () =>
            worker.kill("it did not take a change of the state within 1 s"),
          );
          await Promise.race([rows.whenReceived(checks.recordSign), worker.ended]);
          checks.end();
        }),
      );
    },
    async whenReported() {
      await Promise.all(others().map(({ channel }) => catchUp(channel)));
    },
    async open(options, { instruments, reasons }, owner, log) {
      const { count, env, settings } = options;
      const acceptor = await openAcceptor(options.listen, options.certificates === undefined, instruments, log);
      owner.own("acceptor", acceptor, (it) => it.close());
      const { node, dataDir } = options;
      const intake = owner.own(
        "audit records of workers",
        await openIntake({
          trail: node.trail,
          workers: count,
          dir: dataDir,
          onRecord({ event, controls, at }) {
            if (isDecision(event)) node.controls.add(controls, at);
          },
        }),
        (it) => it.close(),
      );
      const observeWorker = observeTraffic(instruments);
      const drainMs = options.drainMs ?? DRAIN_MS;
      const supervisor = await openSupervisor({
        program: programUrl(PROGRAM),
        count,
        version: settings.version,
        env,
        instruments,
        log,
        reasons,
        async prepare(worker, signal) {
          observeWorker(worker);
          const { address, port } = acceptor;
          await prepareWorker(worker, signal, { address, port, intake: intake.address }, options);
          acceptor.addWorker(worker);
        },
        onEnd: () => undefined,
        now: systemClock.now,
      });
      status = supervisor.status;
      owner.own(
        "data plane",
        supervisor,
        async (it) => {
          reasons.add("stopping");
          it.stopReplacing();
          await acceptor.stop(AbortSignal.timeout(HANDOVER_LIMIT_MS));
          const limit = AbortSignal.timeout(drainMs + AFTER_DRAIN_MS);
          await Promise.all(it.serving().map((worker) => drain(worker, limit)));
          await it.close();
        },
        { limitMs: HANDOVER_LIMIT_MS + drainMs + AFTER_DRAIN_MS + 2 * EXIT_LIMIT_MS },
      );
      // Nothing listens until the workers are ready: an earlier client is refused, and can try another node instead of waiting.
      await acceptor.listen();
      reasons.delete("starting");
      return {
        address: acceptor.address,
        port: acceptor.port,
        // No action needed: every worker has taken the snapshot before this call.
        swap: () => undefined,
        members: (provider) =>
          mergedMembers(
            supervisor
              .serving()
              .map((it) => (it.lastHeartbeat()?.members[provider] as readonly PoolMember[] | undefined) ?? []),
          ),
        async callModel(question, until, tracer) {
          const [worker] = supervisor.serving();
          if (worker === undefined) throw new Error("no worker serves");
          return (await worker.channel.ask(
            "call_model",
            { question, place: tracer?.questionContext },
            until,
          )) as Awaited<ReturnType<DataPlane["callModel"]>>;
        },
        answer: (question) => askAll(others(), question),
      };
    },
  };
}

async function drain({ channel, ended, kill }: Worker, limit: AbortSignal): Promise<void> {
  await channel.ask("drain", null, limit).catch(() => undefined);
  // The worker still reports the usage of its last requests.
  await catchUp(channel);
  channel.send("exit", null);
  const late = setTimeout(() => kill("it did not end"), EXIT_LIMIT_MS);
  await ended;
  clearTimeout(late);
}
