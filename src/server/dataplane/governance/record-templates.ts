/**
 * Caches templates of audit records: decisions of the same rule on the same caller, route, upstream and model differ only in the
 * request's id. The cache is bounded in bytes, because clients choose model names.
 */
import type { Decision } from "../../core/policy/index.ts";
import type { PreparedRecord } from "../ports.ts";
import type { DecidedRequest } from "./decided-request.ts";
import type { EffectiveProfile } from "./effective-profile.ts";

export interface RecordTemplate {
  readonly decision: Decision;
  readonly controls: readonly string[];
  readonly template: PreparedRecord["template"];
}

/** Estimated limit of memory for all callers, in bytes. When it is reached, the cache is cleared. */
const MAX_BYTES = 8 << 20;
/** Estimated size of an entry with the two parts of its text, in bytes. */
const ENTRY_BYTES = 2_500;
/** Maximum length of the key of a template, which contains the names of the request, in UTF-16 units. */
const MAX_NAME = 256;

let known = new WeakMap<EffectiveProfile, Map<string, RecordTemplate>>();
let bytes = 0;

/** Returns the template, or `undefined` if the names of the request are too long to be kept. */
export function templateOf(
  decision: Decision,
  kind: string,
  { hop, route, to, model, name }: DecidedRequest,
  effective: EffectiveProfile,
): RecordTemplate | undefined {
  const key = `${kind} ${hop} ${route} ${to}\n${model ?? "\n"}\n${name ?? "\n"}`;
  if (key.length > MAX_NAME) return undefined;
  let own = known.get(effective);
  const before = own?.get(key);
  if (before?.decision === decision) return before;
  bytes += ENTRY_BYTES + 2 * key.length;
  if (bytes > MAX_BYTES) {
    known = new WeakMap();
    bytes = 0;
    own = undefined;
  }
  if (own === undefined) {
    own = new Map();
    known.set(effective, own);
  }
  const made = { decision, controls: [...new Set(decision.controls)], template: {} };
  own.set(key, made);
  return made;
}
