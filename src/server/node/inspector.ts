/** The inspector of a node: opened once there is something to inspect with, and drained as soon as the node is to stop. */
import type { Instruments, Lifetime, Log } from "../../base/index.ts";
import type { NodeFile } from "../core/config/index.ts";
import type { GuardrailSinks } from "../core/guardrails/index.ts";
import {
  beginInspecting,
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

/** Of one gRPC message beside a body that comes whole. */
const MESSAGE_OVERHEAD_BYTES = 1 << 20;

/** A peer that says nothing for so long within one request has lost it. */
const MAX_QUIET_MS = 60_000;

/** What waits for longer than that for one event of a response is broken: proxies give up after five minutes of their own. */
const MAX_SILENT_MS = 3_600_000;

export interface NodeInspectorOptions extends DataPlaneBounds {
  /** It names `inspect_listen`. */
  readonly extproc: NonNullable<NodeFile["extproc"]>;
  /** In force now. */
  readonly snapshot: () => Pick<Snapshot, "guardrails" | "maxBodyBytes">;
  readonly sinks: GuardrailSinks;
  /** Undefined: nobody traces. */
  readonly otlp: Pick<Otlp, "tracing"> | undefined;
  /** Of this process: what is held for peers is counted with what the data plane holds. */
  readonly admission: Admission;
  readonly instruments: Instruments;
  /** While one stands, the node is not ready. */
  readonly reasons: Set<string>;
  readonly log: Log;
  /** Aborts when the node is to stop. */
  readonly signal: AbortSignal;
}

/** What is opened belongs to `owner`. Rejects when the address cannot be had. */
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
      const hasResponses = extproc.inspect_responses !== "";
      const trace: TraceExchange | undefined = tracing && ((started) => tracing.inspected({ ...started, peer }));
      return { maxBodyBytes, ...beginInspecting({ guardrails: () => guardrails, sinks, hasResponses, trace }) };
    },
    observer: {
      ...observer,
      counted(what, peer, detail) {
        observer.counted(what, peer, detail);
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
  // Beside the data plane's drain, not behind it.
  if (signal.aborted) void close();
  else signal.addEventListener("abort", () => void close(), { once: true });
  log.info("the inspector listens", { address: inspector.address, peers_filter: settingsLine(extproc) });
  return inspector;
}
