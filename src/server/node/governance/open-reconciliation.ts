/** Connects reconciliation with the cluster, the usage ledger and the audit trail. */

import { type Clock, GatewayError, type Instruments, type Lifetime, type Log } from "../../../base/index.ts";
import type { AuditTrail } from "../../audit/index.ts";
import type { Cluster } from "../../cluster/index.ts";
import {
  commands,
  featureRowKey,
  ledgerRowKey,
  RECONCILE_LEVEL,
  readFeatureLevel,
  readLedger,
} from "../../core/state/index.ts";
import { openGuardedDialer } from "../../credentials/index.ts";
import type { ForwardProxies } from "../../forward-proxy/index.ts";
import {
  type Breach,
  type Leadership,
  type LedgerRows,
  type MeteredUsage,
  openReconciler,
} from "../../reconcile/index.ts";
import { meteredOfProvider } from "../../usage/index.ts";
import { type ReconciledRows, reconciledRows } from "../admin/reconciled-port.ts";
import type { Configuration } from "../configuration/configuration-types.ts";

const BY_RECONCILE = { iss: "gateway", sub: "reconcile" } as const;
const WRITE_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** Maximum size of a report in bytes; a page of 31 days with one result per day has a few kilobytes. */
const MAX_REPORT_BYTES = 8 << 20;
const DAY_MS = 86_400_000;
const LEDGER = "rec/";

interface ReconciliationOptions {
  readonly cluster: Cluster;
  readonly trail: Pick<AuditTrail, "append">;
  readonly configuration: Pick<Configuration, "running" | "onChange">;
  readonly clock: Clock;
  readonly proxies: ForwardProxies;
  readonly instruments: Instruments;
  readonly log: Log;
}

/** Opens reconciliation; `owner` closes it. */
export function openReconciliation(options: ReconciliationOptions, owner: Lifetime): ReconciledRows {
  const { cluster, trail, configuration, clock, proxies, instruments, log } = options;
  const dialer = owner.own(
    "connections to usage reports",
    openGuardedDialer({ connectMs: CONNECT_TIMEOUT_MS, maxAnswerBytes: MAX_REPORT_BYTES, proxies }),
    (it) => it.close(),
  );
  const reconcile = openReconciler({
    node: cluster.status().nodeId,
    rows: ledgerRows(cluster),
    leadership: leadershipOf(cluster),
    metered: (provider, day) => meteredUsageOn(cluster, provider, day),
    send: dialer.send,
    record: (breach) => trail.append({ event: "reconcile.breach", data: recordOf(breach) }),
    clock,
    instruments,
    log,
  });
  let followed: unknown;
  const follow = (): void => {
    const compiled = configuration.running()?.compiled;
    if (compiled?.kind !== "compiled" || compiled.snapshot === followed) return;
    followed = compiled.snapshot;
    reconcile.setTargets(compiled.snapshot.reconcileTargets);
  };
  follow();
  const unlisten = configuration.onChange(follow);
  owner.own("reconciliation", reconcile, (it) => {
    unlisten();
    return it.close();
  });
  return reconciledRows(reconcile.ledger);
}

const recordOf = ({ class: name, unmeasured, ...breach }: Breach) => ({
  provider: breach.provider,
  day: breach.day,
  class: name,
  metered: breach.metered,
  reported: breach.reported,
  delta: breach.delta,
  ratio: breach.ratio,
  direction: breach.direction,
  hard: breach.hard,
  scope: breach.scope,
  unmeasured_streams: unmeasured,
});

/** Returns the usage that a report can show: a report counts images and sounds in units other than tokens. */
function meteredUsageOn({ view }: Pick<Cluster, "view">, provider: string, day: string): MeteredUsage {
  const at = Math.floor(Date.parse(`${day}T00:00:00Z`) / DAY_MS);
  const rows = meteredOfProvider(view, provider, at, at + 1).filter(({ kind }) => kind === "tokens");
  const sum = (of: (row: (typeof rows)[number]) => number): number => rows.reduce((total, row) => total + of(row), 0);
  return {
    tokens: {
      input: sum((row) => row.input),
      cached_input: sum((row) => row.cached_input),
      cache_creation_input: sum((row) => row.cache_creation_input),
      output: sum((row) => row.output),
    },
    unmeasured: sum((row) => row.unmeasured_streams),
  };
}

function leadershipOf({ status, onStatus, view }: Pick<Cluster, "status" | "onStatus" | "view">): Leadership {
  return {
    isLeader: () => status().role === "leader" && readFeatureLevel(view.get(featureRowKey)) >= RECONCILE_LEVEL,
    onChange(listener) {
      const ends = [onStatus(listener), view.watch("feat/", listener)];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

/** Returns the port over the replicated state. */
export function ledgerRows({ view, write }: Pick<Cluster, "view" | "write">): LedgerRows {
  const run = async (command: Parameters<Cluster["write"]>[0], signal: AbortSignal): Promise<unknown> => {
    const result = await write(command, { by: BY_RECONCILE, timeoutMs: WRITE_TIMEOUT_MS, signal });
    if (result.kind === "refused") throw new GatewayError("conflict", result.message);
    return result.value;
  };
  return {
    *all() {
      for (const [, value] of view.scan(LEDGER)) yield readLedger(value);
    },
    keyOf: (day, id) => ledgerRowKey({ day, id }),
    onChange: (listener) =>
      view.watch(LEDGER, (mutations) => {
        listener(
          mutations?.map(({ key, value }) => ({ key, row: value === undefined ? undefined : readLedger(value) })),
        );
      }),
    async put(rows, signal) {
      const answer = (await run(commands.reconcilePut({ rows }), signal)) as {
        readonly stale?: readonly number[];
      } | null;
      return answer?.stale ?? [];
    },
    async deleteDaysBefore(before, signal) {
      const answer = (await run(commands.reconcileDrop({ before }), signal)) as { readonly more?: boolean } | null;
      return answer?.more === true;
    },
    async deleteRound(provider, signal) {
      await run(commands.reconcileForget({ id: provider }), signal);
    },
  };
}
