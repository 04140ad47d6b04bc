/** `reconcile`: comparison of metered usage with providers' reports. Spec: document 3, `reconcile`. Counts are tokens. */

import { parseDuration } from "../../../../base/index.ts";
import {
  duration,
  integer,
  list,
  mayBeSecret,
  number,
  object,
  required,
  secret,
  signedDuration,
  type TypeOf,
  text,
  withDefault,
} from "../schema.ts";
import { dialect, filled } from "./terms.ts";

const audited = object("A provider whose usage reports are fetched.", {
  provider: required(filled("Name of an entry of `providers`.")),
  type: required(dialect("Dialect of the provider's usage API.")),
  admin_key: required(
    secret(filled("Credential of the organisation's administrator; not the key requests are sent with.")),
  ),
  base_url: mayBeSecret(
    text("Root of the provider's administration API, where it is not the usual one.", { format: "url" }),
  ),
  api_key_ids: list(
    "Provider's ids of the keys that the query is confined to; with them, a drift in either direction breaches.",
    filled("A key id of the provider."),
    { uniqueItems: true },
  ),
});

export const reconcile = object(
  "Compares the usage that the gateway metered with what providers report. Every node meters, the leader fetches and judges.",
  {
    interval: withDefault(duration("Time between two rounds of fetching and judging."), "1h"),
    maturity_lag: withDefault(duration("Time after the end of a UTC day before the day is judged."), "48h"),
    lookback: withDefault(
      duration("How far back reports are fetched again; exceeds `maturity_lag` by a day or more, at most 248 days."),
      "168h",
    ),
    retention: withDefault(
      signedDuration("How long the ledger is kept; exceeds `lookback`. A negative duration keeps it forever."),
      "2160h",
    ),
    drift_ratio: withDefault(
      number("Disagreement per token class that breaches, as a fraction of the larger side.", {
        minimum: 0,
        maximum: 1,
      }),
      0.02,
    ),
    drift_floor: withDefault(
      integer("Difference in tokens below which a class never breaches.", { minimum: 0 }),
      10_000,
    ),
    providers: withDefault(list("Providers that are audited; no other is.", audited), []),
  },
);

export type Reconcile = TypeOf<typeof reconcile>;

const DAY_MS = 86_400_000;

/** Eight pages of 31 days, which is what either report takes. Specification document 3, `reconcile.lookback`. */
export const LONGEST_LOOKBACK_MS = 248 * DAY_MS;

export interface ReconcilePeriods {
  readonly intervalMs: number;
  readonly lagMs: number;
  /** Widened to a day more than the lag, and narrowed to 248 days. */
  readonly lookbackMs: number;
  /** Widened to a day more than the lookback; undefined: forever. */
  readonly retentionMs: number | undefined;
}

/** The periods as they are used. */
export function reconcilePeriods(written: Reconcile): ReconcilePeriods {
  const [intervalMs, lagMs, lookback, retention] = (["interval", "maturity_lag", "lookback", "retention"] as const).map(
    (key) => parseDuration(written[key]) ?? 0,
  ) as [number, number, number, number];
  const lookbackMs = Math.min(Math.max(lookback, lagMs + DAY_MS), LONGEST_LOOKBACK_MS);
  const retentionMs = retention < 0 ? undefined : retention <= lookbackMs ? lookbackMs + DAY_MS : retention;
  return { intervalMs, lagMs, lookbackMs, retentionMs };
}
