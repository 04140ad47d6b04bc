/**
 * Compiles `reconcile`: the providers whose usage reports are fetched, and the tolerated difference between metering and report.
 * Source: specification document 3, `reconcile`.
 */
import { type Deployment, type ReconcilePeriods, reconcilePeriods } from "../core/config/index.ts";

export interface ReconcileTargets extends ReconcilePeriods {
  /** Difference that counts as a breach, as a fraction of the larger side. */
  readonly driftRatio: number;
  /** Token count below which no difference is a breach. */
  readonly driftFloor: number;
  readonly providers: readonly ReconciledProvider[];
}

export interface ReconciledProvider {
  readonly provider: string;
  /** Dialect of the usage API. */
  readonly type: "compat" | "messages";
  /** Root URL of the administration API, without a trailing slash or version. */
  readonly baseUrl: string;
  readonly adminKey: string;
  /** Provider's ids of the keys that the report is limited to; empty for the whole organization. */
  readonly keyIds: readonly string[];
}

/** Default roots of the usage APIs. Source: usage report APIs reference, 1. */
const USUAL_ROOTS = { compat: "https://api.openai.com", messages: "https://api.anthropic.com" } as const;

export function compileReconcileTargets({ reconcile }: Deployment): ReconcileTargets | undefined {
  if (reconcile === undefined) return undefined;
  const { drift_ratio: driftRatio, drift_floor: driftFloor, providers } = reconcile;
  return Object.freeze({
    ...reconcilePeriods(reconcile),
    driftRatio,
    driftFloor,
    providers: Object.freeze(
      providers.map(({ provider, type, admin_key: adminKey, base_url: baseUrl, api_key_ids: keyIds = [] }) =>
        Object.freeze({
          provider,
          type,
          baseUrl: (baseUrl ?? USUAL_ROOTS[type]).replace(/\/+$/, "").replace(/\/v\d+$/, ""),
          adminKey,
          keyIds: Object.freeze([...keyIds]),
        }),
      ),
    ),
  });
}
