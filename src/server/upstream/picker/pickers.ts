/** Manages the pickers of the configuration in force: one channel each, kept over reloads. */
import type { Instruments, Log } from "../../../base/index.ts";
import { LATENCY_BOUNDS_SECONDS } from "../../../base/index.ts";
import { type ExternalProcessorClient, type ExtProc, loadExtProc } from "../../ext-proc/index.ts";
import type { PickerSpec } from "../pools/spec.ts";
import { PickerExchange, type PickerQuery } from "./picker-exchange.ts";

export type PickOutcome =
  | "picked"
  | "outside"
  | "late"
  | "unreachable"
  | "violation"
  | "refused"
  | "429"
  | "503"
  | "evicted";

export interface Pickers {
  /** Starts an exchange. Returns a promise only until gRPC is loaded. */
  startExchange(spec: PickerSpec, query: PickerQuery): PickerExchange | Promise<PickerExchange>;
  /** Records the outcome of a query, or later of the request. */
  recordOutcome(provider: string, outcome: PickOutcome, ms?: number): void;
  /** Replaces the pickers, and connects to each ahead of the first query. */
  keepOnly(specs: readonly PickerSpec[]): void;
  close(): void;
}

/** Maximum size of an answer, which contains headers and a chunk of the echo, in bytes. */
const MAX_MESSAGE_BYTES = 1 << 20;

/** Minimum interval between log lines about a failing picker, in milliseconds. */
const MIN_LOG_INTERVAL_MS = 60_000;

const FAILURES: ReadonlyMap<PickOutcome, string> = new Map([
  ["outside", "it chose servers that the pool's name does not resolve to"],
  ["late", "it did not decide in time"],
  ["unreachable", "it cannot be reached, or the connection ended"],
  ["violation", "its answer contains no decision, or two different ones"],
  ["refused", "it refused the request for a reason of its own"],
]);

export function openPickers(options: {
  readonly instruments?: Instruments | undefined;
  readonly log?: Pick<Log, "warn"> | undefined;
  readonly now: () => number;
}): Pickers {
  const { instruments, log, now } = options;
  const decisions = instruments?.counter(
    "gateway_picker_decisions_total",
    "Requests for which a pool's picker was called, by outcome.",
    ["provider", "outcome"],
  );
  const seconds = instruments?.histogram(
    "gateway_picker_seconds",
    "Time that a pool's picker took to decide.",
    LATENCY_BOUNDS_SECONDS,
    ["provider"],
  );
  const clients = new Map<string, ExternalProcessorClient>();
  /** Pickers of the configuration in force, by key. */
  let current = new Map<string, PickerSpec>();
  const loggedAt = new Map<string, number>();
  let loaded: ExtProc | undefined;

  const clientAt = (spec: PickerSpec, extProc: ExtProc): ExternalProcessorClient => {
    const key = keyOf(spec);
    const known = clients.get(key);
    if (known !== undefined) return known;
    const client = connectPicker(spec, extProc);
    clients.set(key, client);
    return client;
  };
  const load = async (): Promise<ExtProc> => {
    loaded = await loadExtProc();
    return loaded;
  };
  const exchangeWith = (extProc: ExtProc, spec: PickerSpec, query: PickerQuery): PickerExchange =>
    new PickerExchange(clientAt(spec, extProc), extProc.grpc, query);

  return {
    startExchange: (spec, query) =>
      loaded === undefined
        ? load().then((extProc) => exchangeWith(extProc, spec, query))
        : exchangeWith(loaded, spec, query),
    recordOutcome(provider, outcome, ms) {
      decisions?.with(provider, outcome).inc();
      if (ms !== undefined) seconds?.with(provider).observe(ms / 1_000);
      const problem = FAILURES.get(outcome);
      const key = `${provider}\0${outcome}`;
      if (problem === undefined || now() - (loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < MIN_LOG_INTERVAL_MS)
        return;
      loggedAt.set(key, now());
      log?.warn("the picker of a pool failed", { provider, outcome, problem });
    },
    keepOnly(specs) {
      current = new Map(specs.map((spec) => [keyOf(spec), spec]));
      for (const [key, client] of clients) {
        if (current.has(key)) continue;
        clients.delete(key);
        client.close(); // Calls in progress continue.
      }
      if (specs.length === 0) return;
      const connectAll = (extProc: ExtProc): void => {
        for (const spec of current.values()) clientAt(spec, extProc).getChannel().getConnectivityState(true);
      };
      load().then(connectAll, () => undefined); // If gRPC cannot be loaded, each query reports it.
    },
    close() {
      current.clear();
      for (const client of clients.values()) client.close();
      clients.clear();
    },
  };
}

const keyOf = ({ address, isEncrypted, skipsVerification }: PickerSpec): string =>
  `${isEncrypted ? "https" : "http"}://${address} ${skipsVerification}`;

/** Connects to a picker. The channel presents no credentials, and credentials of requests cannot reach it. */
export function connectPicker(spec: PickerSpec, { grpc, ExternalProcessor }: ExtProc): ExternalProcessorClient {
  const { address, isEncrypted, skipsVerification } = spec;
  const unchecked = { rejectUnauthorized: false, checkServerIdentity: () => undefined };
  const credentials = !isEncrypted
    ? grpc.credentials.createInsecure()
    : skipsVerification
      ? grpc.credentials.createSsl(null, null, null, unchecked)
      : grpc.credentials.createSsl();
  return new ExternalProcessor(address, credentials, {
    // Pickers are connected to directly, since the environment's proxy is meant for external hosts.
    "grpc.enable_http_proxy": 0,
    "grpc.enable_retries": 0,
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.initial_reconnect_backoff_ms": 500,
    "grpc.max_reconnect_backoff_ms": 5_000,
    // This detects a picker that vanished while no answer is awaited.
    "grpc.keepalive_time_ms": 30_000,
    "grpc.keepalive_timeout_ms": 5_000,
  });
}
