/** `reconcile`: comparison of metered usage with providers' reports. Spec: document 3, `reconcile`. Counts are tokens. */

import { parseDuration } from "../../../../base/index.ts";
import {
  duration,
  example,
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
} from "../schema/schema.ts";
import { dialect, filled, filledAs } from "./terms.ts";

const audited = object(
  "One provider whose usage reports are fetched.",
  {
    provider: required(filledAs("The name of an entry of `providers`.", "openai")),
    type: required(dialect("The dialect of the provider's usage API.")),
    admin_key: required(
      secret(
        filled(
          "The organization's admin credential at the provider, which is not the key that requests are sent with. Write it as a reference.",
        ),
      ),
    ),
    base_url: mayBeSecret(
      text("The root URL of the provider's administration API. It defaults to the dialect's usual one.", {
        format: "url",
        examples: ["https://api.openai.com/v1"],
      }),
    ),
    api_key_ids: list(
      "The report is limited to these key ids of the provider. With them, a difference in either direction is a breach.",
      filledAs("One key id, as the provider shows it.", "key_abc123"),
      { uniqueItems: true },
    ),
  },
  { examples: [{ provider: "openai", type: "compat", admin_key: "${secret:OPENAI_ADMIN_KEY}" }] },
);

export const reconcile = object(
  "This section compares the usage that the gateway metered with the usage that providers report. Every node meters, and the leader fetches the reports and judges them.",
  {
    interval: withDefault(example(duration("Reports are fetched and judged once in this time."), "1h"), "1h"),
    maturity_lag: withDefault(
      example(duration("A UTC day is judged this long after its end, because reports arrive late."), "48h"),
      "48h",
    ),
    lookback: withDefault(
      example(
        duration(
          "Reports of days up to this long ago are fetched again. It must exceed `maturity_lag` by a day or more, and is at most 248 days.",
        ),
        "168h",
      ),
      "168h",
    ),
    retention: withDefault(
      example(
        signedDuration(
          "The ledger is kept for this long, which must exceed `lookback`. A negative duration keeps it forever.",
        ),
        "2160h",
        "-1s",
      ),
      "2160h",
    ),
    drift_ratio: withDefault(
      example(
        number("A difference above this fraction of the larger side is a breach, for each token class.", {
          minimum: 0,
          maximum: 1,
        }),
        0.05,
      ),
      0.02,
    ),
    drift_floor: withDefault(
      example(integer("A difference of fewer tokens than this is never a breach.", { minimum: 0 }), 50_000),
      10_000,
    ),
    providers: withDefault(list("The usage of these providers is compared, and of no others.", audited), []),
  },
  {
    examples: [{ providers: [{ provider: "openai", type: "compat", admin_key: "${secret:OPENAI_ADMIN_KEY}" }] }],
  },
);

export type Reconcile = TypeOf<typeof reconcile>;

const DAY_MS = 86_400_000;

/**
 * Maximum lookback: eight pages of 31 days, the limit of both report APIs. Source: specification document 3,
 * `reconcile.lookback`.
 */
export const LONGEST_LOOKBACK_MS = 248 * DAY_MS;

export interface ReconcilePeriods {
  readonly intervalMs: number;
  readonly lagMs: number;
  /** Lookback: at least one day more than the lag, at most 248 days. */
  readonly lookbackMs: number;
  /** Retention: at least one day more than the lookback; `undefined` means forever. */
  readonly retentionMs: number | undefined;
}

/** Returns the periods after correction of values that are out of range. */
export function reconcilePeriods(written: Reconcile): ReconcilePeriods {
  const [intervalMs, lagMs, lookback, retention] = (["interval", "maturity_lag", "lookback", "retention"] as const).map(
    (key) => parseDuration(written[key]) ?? 0,
  ) as [number, number, number, number];
  const lookbackMs = Math.min(Math.max(lookback, lagMs + DAY_MS), LONGEST_LOOKBACK_MS);
  const retentionMs = retention < 0 ? undefined : retention <= lookbackMs ? lookbackMs + DAY_MS : retention;
  return { intervalMs, lagMs, lookbackMs, retentionMs };
}
