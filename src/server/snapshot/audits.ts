/** `reconcile`, compiled: which providers' reports are fetched, and when metering and report disagree. Spec: document 3, `reconcile`. */
import { type Deployment, type ReconcilePeriods, reconcilePeriods } from "../core/config/index.ts";

export interface Audits extends ReconcilePeriods {
  /** Disagreement that breaches, as a fraction of the larger side. */
  readonly driftRatio: number;
  /** Tokens below which nothing breaches. */
  readonly driftFloor: number;
  readonly providers: readonly Audited[];
}

export interface Audited {
  readonly provider: string;
  /** Dialect of the usage API. */
  readonly type: "compat" | "messages";
  /** Root of the administration API, without a slash or a version at its end. */
  readonly baseUrl: string;
  readonly adminKey: string;
  /** Provider's ids of keys that the report is confined to; empty: the report is of the whole organisation. */
  readonly keyIds: readonly string[];
}

/** Source: usage report APIs reference, 1. */
const USUAL_ROOTS = { compat: "https://api.openai.com", messages: "https://api.anthropic.com" } as const;

export function compileAudits({ reconcile }: Deployment): Audits | undefined {
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
