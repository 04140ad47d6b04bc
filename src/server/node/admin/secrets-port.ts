/** Port `Secrets` of the admin plane: values are sealed here, before they are sent anywhere. */
import { refusal, refusedCommand, type SecretRecord, type Secrets } from "../../admin/index.ts";
import type { Cluster, WriteOptions } from "../../cluster/index.ts";
import { readSecret, type SecretRow, secretRowKey } from "../../core/state/index.ts";
import {
  planDeleteSecret,
  planPutSecret,
  planRewrap,
  requestDigestOf,
  type SealedSecrets,
  type Sealing,
  type SecretPlan,
} from "../../secrets/index.ts";
import type { Configuration } from "../configuration/configuration-types.ts";

/** Maximum number of attempts at a plan; another node may write at the same time. */
const MAX_PLANS = 5;

/** Refusals that mean that the state has changed since the plan was made. */
const OUTDATED: ReadonlySet<string> = new Set(["stale", "exists", "retired_data_key"]);

export interface NodeSealing {
  readonly sealing: Sealing;
  readonly sealed: SealedSecrets;
}

interface SecretsOptions {
  readonly cluster: Cluster;
  /** Sealing of values; `undefined` on a node without a cluster secret, which has no key to seal with. */
  readonly nodeSealing: NodeSealing | undefined;
  /** Configuration, which a write waits for, so that it is answered once the new value is in force on this node. */
  readonly configuration: Pick<Configuration, "whenRebuilt">;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
}

export function secretsPort({ cluster, nodeSealing, configuration, now }: SecretsOptions): Secrets {
  const { view } = cluster;

  const requireSealing = (): NodeSealing => {
    if (nodeSealing !== undefined) return nodeSealing;
    throw refusal(
      "conflict",
      "Secrets are sealed with a key that is derived from `cluster.secret`: set it in the node file.",
    );
  };

  /** Proposes a plan's commands in order, and plans again if another write came between. */
  const executePlan = async (plan: () => SecretPlan, options: WriteOptions): Promise<boolean> => {
    for (let attempt = 1; ; attempt += 1) {
      const planned = plan();
      if (planned.kind === "refused") {
        if (planned.code === "not_found") return false;
        throw refusal(planned.code === "sealed" ? "conflict" : "invalid", `${capitalize(planned.message)}.`);
      }
      let outdated = false;
      for (const [at, command] of planned.commands.entries()) {
        // The request's idempotency key goes with the last command only; the commands before it may be repeated.
        const isLast = at === planned.commands.length - 1;
        const { idempotency: _, ...others } = options;
        const result = await cluster.write(command, isLast ? options : others);
        if (result.kind === "ok") continue;
        if (!OUTDATED.has(result.code) || attempt >= MAX_PLANS) throw refusedCommand(result);
        outdated = true;
        break;
      }
      if (outdated) continue;
      await configuration.whenRebuilt();
      return true;
    }
  };

  const recordOf = ({ name, ver, at, dk }: SecretRow): SecretRecord => ({
    name,
    version: ver,
    updated_at: new Date(at).toISOString(),
    kek: nodeSealing?.sealed.wrappedBy(dk) ?? "",
  });

  return {
    list: () => Array.from(view.scan("secret/"), ([, value]) => recordOf(readSecret(value))),
    async put(name, value, options) {
      const { sealing } = requireSealing();
      await executePlan(() => planPutSecret(name, value, sealing, now()), options);
      const row = view.get(secretRowKey(name));
      if (row === undefined) throw refusal("conflict", "The secret was deleted at the same time.", { outcome: "done" });
      return recordOf(readSecret(row));
    },
    async delete(name, options) {
      return await executePlan(() => planDeleteSecret(name, { view }), options);
    },
    async rewrap(options) {
      const { sealing } = requireSealing();
      await executePlan(() => planRewrap(sealing), options);
      return { kek: sealing.keks.current.id, data_keys: Array.from(view.scan("ring/")).length };
    },
    requestDigest: (request) => requestDigestOf(requireSealing().sealing.keks.current, request),
  };
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
