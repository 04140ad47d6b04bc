/** Common part of both report APIs: pages of daily buckets with results. */
import type { Audited } from "../../snapshot/index.ts";
import type { Window } from "../judge/days.ts";
import type { Counted, Result } from "./counters.ts";

export interface Endpoint {
  readonly path: string;
  /** True if a 404 means that there is no data of this kind. */
  readonly isOptional: boolean;
  headers(audited: Audited): Readonly<Record<string, string>>;
  query(window: Window): readonly (readonly [name: string, value: string])[];
  /** Returns the first moment of the bucket, in milliseconds since 1970; `undefined` if the bucket does not state it. */
  start(bucket: Result): number | undefined;
  /** Returns the counters of a result; `undefined` if it has none that is known. */
  count(result: Result): Counted | "left out" | undefined;
}
