/** Port `Backends` of the admin plane: the providers of the running configuration, with the data plane's measurements. */
import type { BackendFailure, BackendMember, BackendRecord, Backends, ModelRecord } from "../../admin/index.ts";
import { A2A_VERSION, MCP_VERSION } from "../../core/agents/index.ts";
import type { RecordedFailure, Statistics } from "../../dataplane/index.ts";
import type { Claim, Snapshot } from "../../snapshot/index.ts";
import { type FrontedServer, forwardTargetOf, type PoolMember, type Provider } from "../../upstream/index.ts";
import { createChangeNotifier } from "../change-notifier.ts";
import type { Configuration } from "../configuration/configuration-types.ts";

/** Opens the port. Limits measurements to the configured providers, for the lifetime of the process. */
export function backendsPort(
  configuration: Pick<Configuration, "running" | "onChange">,
  statistics: Statistics,
  members: (provider: string) => readonly PoolMember[] | undefined,
): Backends {
  const listeners = new Set<(what: "configuration" | "measurements") => void>();
  let snapshot: Snapshot | undefined;

  const notifyListeners = (what: "configuration" | "measurements"): void => {
    for (const listener of [...listeners]) listener(what);
  };
  const { begin, end } = createChangeNotifier(
    { changesInMs: () => (statistics.isQuiet() ? undefined : 1_000), awaitChange: (it) => statistics.awaitChange(it) },
    () => notifyListeners("measurements"),
  );

  /** Takes over a new configuration in the same turn as the data plane, so that every request is measured. */
  const follow = (): void => {
    const compiled = configuration.running()?.compiled;
    if (compiled?.kind !== "compiled" || compiled.snapshot === snapshot) return;
    snapshot = compiled.snapshot;
    const { providers, fronted } = snapshot;
    statistics.configure([...providers, ...fronted.all.map(forwardTargetOf)].map(({ name }) => name));
    notifyListeners("configuration");
  };
  follow();
  configuration.onChange(follow);

  return {
    list: () =>
      (snapshot?.providers ?? []).map((provider) => backendRecord(provider, statistics, members(provider.name))),
    failures: (name) => statistics.failures(name)?.map(backendFailure),
    members(name) {
      if (snapshot?.providers.some((provider) => provider.name === name) !== true) return undefined;
      // Members are sorted, because a name server may return them in a different order each time.
      const all = (members(name) ?? []).map(backendMember).sort((a, b) => byText(a.address, b.address));
      return [...all.filter(isFailing), ...all.filter((member) => !isFailing(member))];
    },
    models: () => (snapshot === undefined ? [] : modelRecords(snapshot)),
    servers: () =>
      frontedOf(snapshot, "mcp").map((server) => ({
        name: server.name,
        url: server.shownUrl,
        registry_name: server.pathNames[1] ?? null,
        protocol: MCP_VERSION,
        ...measuredCalls(server, statistics),
      })),
    agents: () =>
      frontedOf(snapshot, "a2a").map((agent) => ({
        name: agent.name,
        url: agent.shownUrl,
        protocol: A2A_VERSION,
        ...measuredCalls(agent, statistics),
      })),
    onChange(listener) {
      listeners.add(listener);
      if (listeners.size === 1) begin();
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) end();
      };
    },
  };
}

function backendRecord(
  { name, channels, pool }: Provider,
  statistics: Statistics,
  members: readonly PoolMember[] = [],
): Omit<BackendRecord, "suspended_until" | "node"> {
  const measured = statistics.read(name);
  if (measured === undefined) throw new Error("a configured provider has no statistics");
  return {
    name,
    dialect: dialectsOf(channels).join(","),
    state: measured.state,
    rate: toDigits(measured.rate),
    error_ratio: measured.errorRatio === null ? null : toDigits(measured.errorRatio),
    ...(measured.lastFailure !== undefined && { last_failure: failureText(measured.lastFailure) }),
    ttfb_p50_ms: measured.firstByteP50,
    ttfb_p95_ms: measured.firstByteP95,
    in_flight: measured.inFlight,
    retries: measured.retries,
    failovers_in: measured.failoversIn,
    failovers_out: measured.failoversOut,
    units_per_minute: measured.units,
    subsets: [...(pool?.subsets.keys() ?? [])],
    members: members.filter(({ state }) => state !== "draining").length,
  };
}

const frontedOf = (snapshot: Snapshot | undefined, kind: FrontedServer["kind"]): readonly FrontedServer[] =>
  (snapshot?.fronted.all ?? []).filter((one) => one.kind === kind);

function measuredCalls(fronted: FrontedServer, statistics: Statistics) {
  const measured = statistics.read(forwardTargetOf(fronted).name);
  if (measured === undefined) throw new Error("an MCP server or agent has no statistics");
  return {
    state: measured.state,
    rate: toDigits(measured.rate),
    error_ratio: measured.errorRatio === null ? null : toDigits(measured.errorRatio),
    ...(measured.lastFailure !== undefined && { last_failure: failureText(measured.lastFailure) }),
    ttfb_p50_ms: measured.firstByteP50,
    ttfb_p95_ms: measured.firstByteP95,
    in_flight: measured.inFlight,
    units_per_minute: measured.units,
  };
}

/** Returns the cause of a failure in a few words. */
function failureText({ kind, status, reason = "", error }: RecordedFailure): string {
  if (reason !== "") return reason;
  if (status === null) return FAILURE_TEXTS.get(kind) ?? kind;
  const { code = null, type = null } = error?.reported ?? {};
  return [`status ${status}`, code ?? type ?? ""].join(" ").trimEnd();
}

const FAILURE_TEXTS: ReadonlyMap<string, string> = new Map([
  ["connect", "it cannot be reached"],
  ["timeout", "no answer in time"],
]);

function backendFailure(failure: RecordedFailure): Omit<BackendFailure, "node"> {
  const { type = null, code = null } = failure.error?.reported ?? {};
  return {
    time: new Date(failure.at).toISOString(),
    status: failure.status,
    kind: failure.kind,
    request: failure.request,
    caller: failure.caller,
    model: failure.model,
    duration_ms: Math.round(failure.durationMs),
    error_type: type,
    error_code: code,
    attempt: failure.attempt,
    moved_to: failure.movedTo,
    ...(failure.reason !== undefined && failure.reason !== "" && { reason: failure.reason }),
  };
}

function backendMember(member: PoolMember): Omit<BackendMember, "node"> {
  const { lastFailure } = member;
  return {
    address: member.endpoint,
    subsets: [...member.subsets],
    state: member.state,
    in_flight: member.inFlight,
    attempts: member.attempts,
    failures: member.failures,
    last_error: lastFailure?.code ?? null,
    last_error_at: lastFailure === undefined ? null : new Date(lastFailure.at).toISOString(),
    failing_since: member.failingSince === undefined ? null : new Date(member.failingSince).toISOString(),
  };
}

const isFailing = ({ state }: Pick<BackendMember, "state">): boolean => state === "failing";

function modelRecords({ claims, defaultProvider }: Snapshot): readonly ModelRecord[] {
  const isAllClaimed = claims.some(({ name }) => name === "*");
  const rows = claims.map(modelRecord);
  if (defaultProvider === undefined || isAllClaimed) return rows;
  const rest = { provider: defaultProvider, name: "*", label: "*", alias: undefined };
  return [...rows, { ...modelRecord(rest), kind: "default" }];
}

/** Returns a row with names as they are written. Only traffic shows the model that a reference resolves to. */
function modelRecord({ provider, name, label, alias }: Claim): ModelRecord {
  const { aliases, channels, failover } = provider;
  const isPattern = name.endsWith("*");
  const model = aliases.get(name) ?? name;
  // A channel may serve only some of the models that match a pattern.
  const serving = channels.filter(({ servesModel }) => isPattern || servesModel === undefined || servesModel(model));
  return {
    model: label,
    kind: isPattern ? "pattern" : alias === undefined ? "name" : "alias",
    provider: provider.name,
    upstream_model: alias ?? null,
    dialects: dialectsOf(serving),
    failover: failover?.to ?? [],
  };
}

const dialectsOf = (channels: Provider["channels"]): readonly string[] => [
  ...new Set(channels.map(({ dialect }) => dialect)),
];

/** Rounds to four digits, since the counts of a minute are not more precise. */
const toDigits = (value: number): number => Number(value.toFixed(4));

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
