/** The inspector of a node: opened once there is a configuration to inspect with, and drained as soon as the node stops. */
import type { Instruments, Lifetime, Log } from "../../base/index.ts";
import type { NodeFile } from "../core/config/index.ts";
import type { GuardrailSinks } from "../core/guardrails/index.ts";
import {
  beginInspection,
  type Inspector,
  observeInspector,
  openInspector,
  settingsLine,
  type TraceExchange,
  warnOfPeers,
} from "../inspector/index.ts";
import { type Admission, DEFAULT_ADMISSION } from "../memory/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import type { Otlp } from "../telemetry/index.ts";
import { AFTER_DRAIN_MS, type DataPlaneBounds, DRAIN_MS } from "./start.ts";

/** Allowance for one gRPC message around a complete body, in bytes. */
const MESSAGE_OVERHEAD_BYTES = 1 << 20;

/** Maximum silence of a peer within one request, in milliseconds; after it the request is considered lost. */
const MAX_QUIET_MS = 60_000;

/** Maximum wait for one event of a response, in milliseconds. A longer wait is broken: proxies give up after five minutes. */
const MAX_SILENT_MS = 3_600_000;

interface NodeInspectorOptions extends DataPlaneBounds {
  /** Settings with `inspect_listen`. */
  readonly extproc: NonNullable<NodeFile["extproc"]>;
  /** Returns the snapshot in force. */
  readonly snapshot: () => Pick<Snapshot, "guardrails" | "maxBodyBytes">;
  readonly sinks: GuardrailSinks;
  /** Export of traces; `undefined` if none is configured. */
  readonly otlp: Pick<Otlp, "tracing"> | undefined;
  /** Admission control of this process: bytes held back for peers count together with the data plane's. */
  readonly admission: Admission;
  readonly instruments: Instruments;
  /** Readiness reasons; the node is not ready while there is one. */
  readonly reasons: Set<string>;
  readonly log: Log;
  /** Aborts when the node stops. */
  readonly signal: AbortSignal;
}

/** Opens the inspector; `owner` closes it. Rejects if the address cannot be bound. */
export async function openNodeInspector(options: NodeInspectorOptions, owner: Lifetime): Promise<Inspector> {
  const { extproc, snapshot, sinks, otlp, instruments, reasons, log, signal } = options;
  const drainMs = options.drainMs ?? DRAIN_MS;
  const tracing = otlp?.tracing;
  let opened: Inspector | undefined;
  const observer = observeInspector(instruments, () => opened);
  const warn = warnOfPeers(extproc, log);
  const inspector = await openInspector({
    address: extproc.inspect_listen ?? "",
    mode: extproc.request_body_mode,
    responses: extproc.inspect_responses === "" ? undefined : extproc.inspect_responses,
    maxMessageBytes: snapshot().maxBodyBytes + MESSAGE_OVERHEAD_BYTES,
    account: options.admission,
    maxStreams: options.maxInFlight ?? DEFAULT_ADMISSION.maxInFlight,
    maxQuietMs: MAX_QUIET_MS,
    maxSilentMs: MAX_SILENT_MS,
    begin(peer) {
      const { guardrails, maxBodyBytes } = snapshot();
      const inspectsResponses = extproc.inspect_responses !== "";
      const trace: TraceExchange | undefined = tracing && ((started) => tracing.inspected({ ...started, peer }));
      return { maxBodyBytes, ...beginInspection({ guardrails: () => guardrails, sinks, inspectsResponses, trace }) };
    },
    observer: {
      ...observer,
      count(what, peer, detail) {
        observer.count(what, peer, detail);
        warn(what, peer, detail);
      },
    },
    log,
  });
  opened = inspector;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    reasons.add("stopping");
    closing ??= inspector.close(drainMs);
    return closing;
  };
  owner.own("inspector", inspector, close, { limitMs: drainMs + AFTER_DRAIN_MS });
  // The inspector drains at the same time as the data plane, not after it.
  if (signal.aborted) void close();
  else signal.addEventListener("abort", () => void close(), { once: true });
  log.info("the inspector listens", { address: inspector.address, peers_filter: settingsLine(extproc) });
  return inspector;
}
