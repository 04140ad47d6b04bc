/** The node's audit trail: publishes its heads to the cluster, and records the node's own events. */
import type { Instruments, Log } from "../../base/index.ts";
import type { AuditSink } from "../admin/index.ts";
import { type AuditHead, type AuditRecord, type AuditTrail, type FailureSampler, openAudit } from "../audit/index.ts";
import type { Cluster, ClusterStatus } from "../cluster/index.ts";
import { commands, headConflictKey, headsOf, readHead } from "../core/state/index.ts";
import type { Configuration } from "./configuration/configuration-types.ts";

const BY_AUDIT = { iss: "gateway", sub: "audit" } as const;
const WITNESS_TIMEOUT_MS = 5_000;

interface TrailOptions {
  readonly cluster: Cluster;
  /** Absolute path; `undefined` if nothing is kept. */
  readonly dir: string | undefined;
  /** File descriptor of the audit output. */
  readonly fd: number;
  readonly version: string;
  readonly instruments: Instruments;
  readonly log: Log;
  readonly onEmitted?: (records: readonly AuditRecord[]) => void;
}

export function openTrail(options: TrailOptions): Promise<AuditTrail> {
  const { cluster, version, ...others } = options;
  const { nodeId } = cluster.status();
  return openAudit({
    ...others,
    nodeId,
    process: { version, pid: process.pid },
    witnessed: () => newestHead(cluster, nodeId),
    async witness({ kid, seq, hash }, succeeds, signal) {
      const command = commands.auditWitness({
        node: nodeId,
        kid,
        seq,
        hash,
        ...(succeeds !== undefined && { succeeds }),
      });
      const result = await cluster.write(command, { by: BY_AUDIT, timeoutMs: WITNESS_TIMEOUT_MS, signal });
      if (result.kind === "refused") throw new Error(result.message);
      if (outcomeOf(result.value) === "conflict") {
        options.log.error("the cluster has stored another audit chain of this node; see `gateway get audit_heads`", {
          seq,
        });
      }
    },
  });
}

function outcomeOf(value: unknown): unknown {
  return (value as { readonly outcome?: unknown } | null)?.outcome;
}

/** Returns the newest head by cluster time, which a node with a wrong clock cannot influence. */
function newestHead({ view }: Cluster, nodeId: string): AuditHead | undefined {
  const rows = Array.from(view.scan(headsOf(nodeId)))
    .filter(([key]) => key !== headConflictKey(nodeId))
    .map(([, value]) => readHead(value));
  const newest = rows.reduce<(typeof rows)[number] | undefined>(
    (a, b) => (a === undefined || b.at > a.at ? b : a),
    undefined,
  );
  return newest && { kid: newest.kid, seq: newest.seq, hash: newest.hash };
}

/** Records changes of members and leader, and each configuration that comes into force here. Returns a function that stops it. */
export function recordChanges(trail: AuditTrail, cluster: Cluster, configuration: Configuration, log: Log): () => void {
  const append: AuditTrail["append"] = (event) => {
    try {
      trail.append(event);
    } catch (error) {
      // The change has already happened: a failure is logged, since nothing can be refused.
      log.error("a change could not be recorded in the audit trail", { event: event.event, error });
    }
  };
  let seen = "";
  const onStatus = ({ leaderId, term, members, isJoint }: ClusterStatus): void => {
    const named = members.map(({ id, voter }) => (voter ? id : `${id} (learner)`));
    const text = JSON.stringify([leaderId, named]);
    if (text === seen || isJoint) return;
    seen = text;
    append({ event: "cluster.change", data: { leader: leaderId ?? null, term, members: named } });
  };
  onStatus(cluster.status());
  const unwatch = cluster.onStatus(onStatus);

  let applied = "";
  const onConfiguration = (): void => {
    const sources = Array.from(configuration.servedRevisions(), ([name, revision]) => `${name}@${revision}`);
    const text = sources.join("\n");
    if (configuration.running() === undefined || text === applied) return;
    applied = text;
    append({ event: "config.applied", data: { sources } });
  };
  onConfiguration();
  const unlisten = configuration.onChange(onConfiguration);
  return () => {
    unwatch();
    unlisten();
  };
}

/** Returns the trail in the form that the admin plane uses. */
export function auditSink(trail: AuditTrail, sampler: FailureSampler): AuditSink {
  return {
    reserve: () => trail.reserve(),
    authFailure: (data) => sampler.record({ plane: "admin", ...data }),
    recent: (limit, event) => trail.recent(limit, event),
  };
}
