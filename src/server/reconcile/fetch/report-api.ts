/** Common part of both report APIs: pages of daily buckets with results. */
import type { Audited } from "../../snapshot/index.ts";
import type { Window } from "../judge/days.ts";
import type { Counted, Result } from "./counters.ts";

export interface Endpoint {
  readonly path: string;
  /** A 404 means that there is no data of this kind. */
  readonly isOptional: boolean;
  headers(audited: Audited): Readonly<Record<string, string>>;
  query(window: Window): readonly (readonly [name: string, value: string])[];
  /** First moment of the bucket, milliseconds since 1970; undefined: it does not say. */
  start(bucket: Result): number | undefined;
  /** Returns `undefined` if the result has no known counter. */
  count(result: Result): Counted | "left out" | undefined;
}
