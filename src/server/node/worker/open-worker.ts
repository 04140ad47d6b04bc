/**
 * The composition root of a worker: the data plane as every node has it, with ports that lead to the node process. Opened
 * step by step as the node process asks, and closed when it asks to drain.
 */
import {
  createInstruments,
  type Instruments,
  Lifetime,
  type Log,
  nativeCallsEnded,
  systemClock,
} from "../../../base/index.ts";
import { createMetrics } from "../../dataplane/index.ts";
import { type Otlp, openOtlp } from "../../telemetry/index.ts";
import { createDoor, createTicketKeys, type Door, makePlaceholder } from "../../tls/index.ts";
import { CannotListen, type Channel, followCertificates } from "../../workers/index.ts";
import { type DataPlane, type Observed, serveDataPlane } from "../start.ts";
import { countTraffic, type ToldPlane } from "./beat.ts";
import { openJudging } from "./governed.ts";
import { openPorts } from "./ports.ts";
import type { WorkerSettings } from "./settings.ts";
import { othersOver } from "./siblings.ts";
import { followSnapshots } from "./snapshots.ts";

const NATIVE_CALLS_MS = 5_000;

export interface WorkerOptions {
  readonly channel: Channel;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** Answers what the node process asks; `exit` is called when it is done. */
export function runWorker({ channel, env, log }: WorkerOptions, exit: () => void): void {
  const owner = new Lifetime({ onFailure: (name, error) => log.error("could not close", { name, error }) });
  let plane: ToldPlane | undefined;
  channel.answer("open", async (body) => {
    const open = await openParts({ channel, env, log }, body as WorkerSettings, owner);
    channel.answer("listen", async (address) => {
      const opened = await open(String(address));
      if ("fault" in opened) return opened;
      plane = opened;
      return { address: opened.address, port: opened.port } satisfies Listening;
    });
  });
  countTraffic(channel, () => plane);
  channel.answer("drain", async () => {
    await owner.close();
    await nativeCallsEnded(NATIVE_CALLS_MS);
  });
  channel.on("exit", exit);
}

async function openParts({ channel, env, log }: WorkerOptions, settings: WorkerSettings, owner: Lifetime) {
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
  const { tokens, judging } = openJudging({ channel, nodeFile, path, instruments, log }, owner);
  const ports = openPorts({ channel, instruments, log }, owner);
  let dataPlane: DataPlane | undefined;
  const snapshots = followSnapshots({
    channel,
    env,
    instruments,
    async callModel(question, until, tracer) {
      if (dataPlane === undefined) throw new Error("the worker does not serve yet");
      return await dataPlane.callModel(question, until, tracer);
    },
  });
  channel.answer("call_model", (question, signal) =>
    dataPlane?.callModel(question as Parameters<DataPlane["callModel"]>[0], signal),
  );
  channel.answer("items", async (question) => {
    const answer = await dataPlane?.answer(question);
    return answer === undefined ? undefined : Buffer.from(answer).toString("base64");
  });
  const others = othersOver(channel);
  const door = settings.hasDoor ? openDoor(settings, channel, observed, log, owner) : undefined;
  return async (listen: string) => {
    const snapshot = await snapshots.first;
    try {
      dataPlane = await serveDataPlane(
        {
          ...bounds,
          ...ports.sinks,
          listen,
          snapshot,
          governing: { ...judging, ...ports.governing },
          issuer: (name) => tokens.issuer(name),
          env,
          member: {
            nodeId,
            keys: keys?.map(({ id, key }) => ({ id, key: Buffer.from(key, "base64") })),
            others,
            hasSiblings: true,
          },
          otherListeners: () => settings.otherListeners,
          door: await door,
        },
        observed,
        owner,
        log,
      );
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return { fault: { code, message } };
    }
    const { swap } = dataPlane;
    snapshots.onTaken(swap);
    // Another may have been taken while the listener opened.
    swap(snapshots.current() ?? snapshot);
    const pooled = () =>
      snapshots.current()?.providers.flatMap(({ name, pool }) => (pool === undefined ? [] : [name])) ?? [];
    return { ...dataPlane, pooled };
  };
}

/** Traces are exported by whoever serves; metrics, lines of the log and the trail by the node. */
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

/** What `listen` answers. */
export interface Listening {
  readonly address: string;
  readonly port: number;
}

/** What it answers where the port cannot be had. */
export interface ListenFault {
  readonly fault: { readonly code: string | undefined; readonly message: string };
}

export const cannotListen = ({ fault }: ListenFault): Error => new CannotListen(fault.message, fault.code);

async function openDoor(
  { current }: WorkerSettings,
  channel: Channel,
  { instruments }: Observed,
  log: Log,
  owner: Lifetime,
): Promise<Door> {
  const certificates = await followCertificates(channel);
  const isPending = certificates.current() === undefined;
  const door = createDoor({
    certificates,
    placeholder: isPending ? await makePlaceholder(systemClock.now()) : undefined,
    ticketKeys: createTicketKeys(current === undefined ? undefined : Buffer.from(current, "base64")),
    clock: systemClock,
    instruments,
    log,
  });
  return owner.own("front door", door, (it) => it.close());
}
