/**
 * Composition root of a worker: the data plane of every node, with ports that lead to the node process. Opened step by step as
 * the node process requests, and closed when it requests a drain.
 */
import {
  clockFrom,
  createInstruments,
  type Instruments,
  Lifetime,
  type Log,
  type QuestionContext,
  systemClock,
  waitForNativeCalls,
} from "../../../base/index.ts";
import { type ConnectionSource, createMetrics } from "../../dataplane/index.ts";
import type { SessionAnswer } from "../../snapshot/index.ts";
import { type Otlp, openOtlp } from "../../telemetry/index.ts";
import { createPlaceholderCertificate, createTicketKeys, createTlsServer, type TlsServer } from "../../tls/index.ts";
import {
  type Channel,
  connectIntake,
  fetchThroughNode,
  followCertificates,
  followNodeState,
  sendReservations,
  takeConnections,
} from "../../workers/index.ts";
import { admissionOf, type DataPlane, type Observed, serveDataPlane } from "../start.ts";
import { openPorts } from "./node-process-ports.ts";
import { followOtherNodes } from "./other-nodes.ts";
import { followSnapshots } from "./worker-configuration.ts";
import { openWorkerGovernance } from "./worker-governance.ts";
import { countTraffic, type ReportedPlane, type TrafficCounter } from "./worker-heartbeat.ts";
import type { WorkerSettings } from "./worker-settings.ts";

const NATIVE_CALLS_WAIT_MS = 5_000;

interface WorkerOptions {
  readonly channel: Channel;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

interface PartsOptions extends WorkerOptions {
  readonly traffic: TrafficCounter;
  readonly exit: () => void;
}

/** Answers requests of the node process; calls `exit` at the end. */
export function runWorker({ channel, env, log }: WorkerOptions, exit: () => void): void {
  const owner = new Lifetime({ onFailure: (name, error) => log.error("could not close", { name, error }) });
  let plane: ReportedPlane | undefined;
  channel.answer("open", async (body) => {
    const settings = body as WorkerSettings;
    process.title = `gateway worker ${settings.number}`;
    const serve = await openParts({ channel, env, log, traffic, exit }, settings, owner);
    channel.answer("serve", async () => {
      plane = await serve();
    });
  });
  const traffic = countTraffic(channel, () => plane);
  channel.answer("drain", async () => {
    await owner.close();
    await waitForNativeCalls(NATIVE_CALLS_WAIT_MS);
  });
  channel.on("exit", exit);
}

/** Call of a model by a detector of the node process, through a worker's provider. */
interface NodeModelCall {
  readonly question: Parameters<DataPlane["callModel"]>[0];
  readonly place?: QuestionContext;
}

async function openParts(
  { channel, env, log, traffic, exit }: PartsOptions,
  settings: WorkerSettings,
  owner: Lifetime,
) {
  const { nodeFile, path, bounds, nodeId, keys } = settings;
  const instruments = createInstruments();
  const reasons = new Set<string>();
  const observed: Observed = {
    instruments,
    metrics: createMetrics(instruments, log),
    otlp: await openTraces(settings, { instruments, log, env }, owner),
    metricsAddress: settings.metricsAddress,
    readiness: () => ({ ready: true, reasons: [] }),
    reasons,
  };
  const node = followNodeState(channel);
  const clock = clockFrom(() => node.read().originMs);
  const { tokens, governancePorts } = openWorkerGovernance(
    { channel, node, clock, nodeFile, path, env, instruments, log },
    owner,
  );
  const records = await openRecords(settings, log, exit, owner);
  const ports = openPorts(
    { channel, records, keepsRecords: bounds.rehearsalMemory !== 0, clock, build: settings.build, instruments, log },
    owner,
  );
  let dataPlane: DataPlane | undefined;
  const snapshots = followSnapshots({
    channel,
    env,
    instruments,
    log,
    threads: settings.scanThreads,
    askSession: async (question, signal) => (await channel.ask("session", question, signal)) as SessionAnswer,
    async callModel(question, until, tracer) {
      if (dataPlane === undefined) throw new Error("the worker does not serve yet");
      return await dataPlane.callModel(question, until, tracer);
    },
  });
  channel.answer("call_model", (body, signal) => {
    const { question, place } = body as NodeModelCall;
    return dataPlane?.callModel(question, signal, place && observed.otlp?.tracing?.questionAt(place));
  });
  channel.answer("items", async (question) => {
    const answer = await dataPlane?.answer(question);
    return answer === undefined ? undefined : Buffer.from(answer).toString("base64");
  });
  const others = followOtherNodes(channel);
  const admission = admissionOf(bounds);
  owner.own("bounds", sendReservations(channel, admission), (end) => end());
  const tls = settings.hasTls ? openTls(settings, channel, observed, log, owner) : undefined;
  return async () => {
    const snapshot = await snapshots.first;
    dataPlane = await serveDataPlane(
      {
        ...bounds,
        ...ports.sinks,
        admission,
        listen: acceptFromNode(channel, settings, traffic),
        snapshot,
        governancePorts: { ...governancePorts, ...ports.governancePorts },
        fetchShared: fetchThroughNode(channel),
        issuer: (name) => tokens.issuer(name),
        env,
        member: {
          nodeId,
          keys: keys?.map(({ id, key }) => ({ id, key: Buffer.from(key, "base64") })),
          others,
          hasSiblings: true,
        },
        otherListeners: () => settings.otherListeners,
        tls: await tls,
      },
      observed,
      owner,
      log,
    );
    const { swap } = dataPlane;
    snapshots.onActivated(swap);
    // A newer snapshot may have been taken while the listener opened.
    swap(snapshots.current() ?? snapshot);
    const providersWithPool = () =>
      snapshots.current()?.providers.flatMap(({ name, pool }) => (pool === undefined ? [] : [name])) ?? [];
    return { ...dataPlane, providersWithPool };
  };
}

const INTAKE_TIMEOUT_MS = 10_000;

/** Connects to the intake of audit records. Without it no decision can be recorded, so the process ends when it closes. */
async function openRecords({ intake }: WorkerSettings, log: Log, exit: () => void, owner: Lifetime): Promise<Channel> {
  const broken = (error: Error): void => log.error("the channel for audit records is broken", { error });
  const records = await connectIntake(intake, AbortSignal.timeout(INTAKE_TIMEOUT_MS), broken);
  let isClosing = false;
  void records.closed.then(() => {
    if (!isClosing) exit();
  });
  return owner.own("audit records", records, (it) => {
    isClosing = true;
    return it.close();
  });
}

const acceptFromNode = (
  channel: Channel,
  { address, port }: WorkerSettings,
  { countConnection }: TrafficCounter,
): ConnectionSource => ({
  address,
  port,
  onConnection: (listener) =>
    takeConnections(channel, (socket) => {
      countConnection();
      listener(socket);
    }),
});

/** Exports traces from the process that serves; the node exports metrics, log lines and the trail. */
async function openTraces(
  { nodeId, number, build }: WorkerSettings,
  { instruments, log, env }: Pick<WorkerOptions, "log" | "env"> & { readonly instruments: Instruments },
  owner: Lifetime,
): Promise<Otlp | undefined> {
  const traces = await openOtlp({
    env: { ...env, OTEL_METRICS_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none" },
    ...{ instruments, build, log, now: systemClock.now },
    sample: () => undefined,
    nodeId: `${nodeId}/${number}`,
  });
  return traces && owner.own("traces", traces, (it) => it.close());
}

async function openTls(
  { current }: WorkerSettings,
  channel: Channel,
  { instruments }: Observed,
  log: Log,
  owner: Lifetime,
): Promise<TlsServer> {
  const certificates = await followCertificates(channel);
  const isPending = certificates.current() === undefined;
  const tlsServer = createTlsServer({
    certificates,
    placeholder: isPending ? await createPlaceholderCertificate(systemClock.now()) : undefined,
    ticketKeys: createTicketKeys(current === undefined ? undefined : Buffer.from(current, "base64")),
    clock: systemClock,
    instruments,
    log,
  });
  return owner.own("TLS of the data listener", tlsServer, (it) => it.close());
}
