/** Common part of both report APIs: pages of daily buckets with results. */
import type { ReconciledProvider } from "../../snapshot/index.ts";
import type { Window } from "../judge/days.ts";
import type { ReportResult, TokenCounts } from "./token-counts.ts";

export interface ReportEndpoint {
  readonly path: string;
  /** True if a 404 means that there is no data of this kind. */
  readonly isOptional: boolean;
  headers(audited: ReconciledProvider): Readonly<Record<string, string>>;
  query(window: Window): readonly (readonly [name: string, value: string])[];
  /** Returns the first moment of the bucket, in milliseconds since 1970; `undefined` if the bucket does not state it. */
  bucketStart(bucket: ReportResult): number | undefined;
  /** Returns the counters of a result; `undefined` if it has none that is known. */
  countTokens(result: ReportResult): TokenCounts | "left out" | undefined;
}
