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
import type { CrossingInputs } from "./inputs.ts";
import { passIssued } from "./issued-values.ts";
import { mergedMembers } from "./merged-members.ts";
import { joined as joinedAnswers, type MemberQuestion } from "./siblings.ts";
import { type TakingNode, takePorts } from "./take-ports.ts";
import { observeTraffic } from "./traffic.ts";
import type { Prepare } from "./worker-configuration.ts";
import type { WorkerSettings } from "./worker-settings.ts";

/** Time limit for preparing in milliseconds: models are loaded within three minutes; a process that hangs is killed. */
const PREPARE_MS = 200_000;
const TAKE_MS = 60_000;
const ITEMS_MS = 1_000;
/** Checks of whether a worker has taken a change of the state: one second in total. */
const CHANGE = { everyMs: 100, most: 10 };
/** Time in which the remaining workers take connections that were accepted at the end, in milliseconds. */
const HANDED_MS = 2_000;
/** Time in which a drained worker exits, in milliseconds. */
const EXIT_MS = 2_000;

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
  readonly node: TakingNode;
  readonly certificates: Certificates | undefined;
}

/** Transfer of a configuration to the other processes that serve it. */
export interface Elsewhere {
  /** Returns why the configuration cannot be used there, one problem a line; empty if all can use it. */
  prepare(inputs: CrossingInputs): Promise<readonly string[]>;
  /** Puts the prepared configuration in force. Resolves once all have it. */
  take(): Promise<void>;
}

export interface Fleet extends Elsewhere {
  trust(nodeFile: NodeFile): void;
  /** Returns the state of the workers; `undefined` before the first is started. */
  status(): WorkersStatus | undefined;
  /** Resolves once each worker has all rows that the view had before the call, or was ended. */
  settled(): Promise<void>;
  /** Resolves after everything that workers measured and counted before the call has arrived, within 0.2 s. */
  caughtUp(): Promise<void>;
  /** Starts the workers. Rejects if they cannot be started or the address cannot be bound. */
  open(options: FleetOptions, observed: Observed, owner: Lifetime, log: Log): Promise<DataPlane>;
}

interface Joined {
  readonly worker: Worker;
  readonly rows: RowsFeed;
}

export function createFleet(started: NodeFile): Fleet {
  let nodeFile = started;
  let prepared: Prepare | undefined;
  let current: Prepare | undefined;
  let rev = 0;
  let status: (() => WorkersStatus) | undefined;
  /** Workers that are fed with rows. */
  const fed = new Map<Worker, Joined>();
  /** Workers that have the configuration in force. */
  const ready = new Set<Worker>();

  const prepareAt = async ({ channel, ended }: Worker, what: Prepare): Promise<readonly string[]> => {
    const asked = channel.ask("prepare", what, AbortSignal.timeout(PREPARE_MS));
    const answer = await Promise.race([asked, ended.then(() => [])]);
    return answer as readonly string[];
  };

  /** Puts a configuration in force in a worker, preparing it if necessary; a worker that fails is killed. */
  const takeAt = async (worker: Worker, what: Prepare): Promise<void> => {
    try {
      const signal = AbortSignal.timeout(TAKE_MS);
      if (await worker.channel.ask("take", what.rev, signal)) return;
      const problems = await prepareAt(worker, what);
      if (problems.length > 0) throw new Error(problems.join("; "));
      await worker.channel.ask("take", what.rev, AbortSignal.timeout(TAKE_MS));
    } catch (error) {
      worker.kill(`it does not accept the configuration: ${error instanceof Error ? error.message : String(error)}`);
      await worker.ended;
    }
  };

  const begin = async (
    worker: Worker,
    signal: AbortSignal,
    { address, port, intake }: Pick<WorkerSettings, "address" | "port" | "intake">,
    options: FleetOptions,
  ): Promise<void> => {
    const { channel, number } = worker;
    const { settings, cluster, node, certificates } = options;
    const otherListeners = options.otherListeners();
    const workerSettings: WorkerSettings = { ...settings, number, nodeFile, otherListeners, address, port, intake };
    const left = takePorts(channel, number, node);
    passIssued(channel, () => others(worker).map((it) => it.channel));
    channel.answer("member", (body) => askMember(worker, body as MemberQuestion, cluster));
    const rows = feedRows(channel, cluster.view as StateView);
    fed.set(worker, { worker, rows });
    const members = (): void =>
      channel.send(
        "members",
        cluster.status().members.map(({ id }) => id),
      );
    members();
    const ends = [rows.close, cluster.onStatus(members), left, certificates && feedCertificates(channel, certificates)];
    void worker.ended.then(() => {
      fed.delete(worker);
      ready.delete(worker);
      for (const end of ends) end?.();
    });
    await channel.ask("open", workerSettings, signal);
    await rows.whenReceived();
    for (let has: Prepare | undefined; has === undefined || has !== current; ) {
      if (current === undefined) throw new Error("there is no configuration yet");
      has = current;
      const problems = (await channel.ask("prepare", has, signal)) as readonly string[];
      if (problems.length > 0) throw new Error(`the configuration does not compile there: ${problems.join("; ")}`);
      await channel.ask("take", has.rev, signal);
    }
    ready.add(worker);
    await channel.ask("serve", null, signal);
  };

  const others = (worker?: Worker): readonly Worker[] => [...ready].filter((it) => it !== worker);

  const askAll = async (workers: readonly Worker[], question: unknown): Promise<Uint8Array | undefined> => {
    const limit = AbortSignal.timeout(ITEMS_MS);
    const asked = workers.map(({ channel }) => channel.ask("items", question, limit).catch(() => undefined));
    const answers = await Promise.all(asked);
    return joinedAnswers(answers.flatMap((it) => (typeof it === "string" ? [Buffer.from(it, "base64")] : [])));
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
      const next: Prepare = { rev, inputs };
      prepared = next;
      const problems = await Promise.all(others().map((worker) => prepareAt(worker, next)));
      return [...new Set(problems.flat())];
    },
    async take() {
      const next = prepared;
      if (next === undefined) return;
      current = next;
      await Promise.all(others().map((worker) => takeAt(worker, next)));
    },
    trust(next) {
      nodeFile = next;
      for (const { channel } of fed.keys()) channel.send("node_file", next);
    },
    status: () => status?.(),
    async settled() {
      await Promise.all(
        Array.from(fed.values(), async ({ worker, rows }) => {
          if (!ready.has(worker)) return;
          const checks = startLivenessChecks(CHANGE, () =>
            worker.kill("it did not take a change of the state within 1 s"),
          );
          await Promise.race([rows.whenReceived(), worker.ended]);
          checks.end();
        }),
      );
    },
    async caughtUp() {
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
          await begin(worker, signal, { address, port, intake: intake.address }, options);
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
          await acceptor.stop(AbortSignal.timeout(HANDED_MS));
          const limit = AbortSignal.timeout(drainMs + AFTER_DRAIN_MS);
          await Promise.all(it.serving().map((worker) => drain(worker, limit)));
          await it.close();
        },
        { limitMs: HANDED_MS + drainMs + AFTER_DRAIN_MS + 2 * EXIT_MS },
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
            supervisor.serving().map((it) => (it.beat()?.members[provider] as readonly PoolMember[] | undefined) ?? []),
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
  const late = setTimeout(() => kill("it did not end"), EXIT_MS);
  await ended;
  clearTimeout(late);
}
