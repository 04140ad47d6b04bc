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
const MAX_KEY_LENGTH = 256;

let templates = new WeakMap<EffectiveProfile, Map<string, RecordTemplate>>();
let cachedBytes = 0;

/** Returns the template, or `undefined` if the names of the request are too long to be kept. */
export function templateOf(
  decision: Decision,
  kind: string,
  { hop, route, to, model, name }: DecidedRequest,
  effective: EffectiveProfile,
): RecordTemplate | undefined {
  const key = `${kind} ${hop} ${route} ${to}\n${model ?? "\n"}\n${name ?? "\n"}`;
  if (key.length > MAX_KEY_LENGTH) return undefined;
  let byKey = templates.get(effective);
  const before = byKey?.get(key);
  if (before?.decision === decision) return before;
  cachedBytes += ENTRY_BYTES + 2 * key.length;
  if (cachedBytes > MAX_BYTES) {
    templates = new WeakMap();
    cachedBytes = 0;
    byKey = undefined;
  }
  if (byKey === undefined) {
    byKey = new Map();
    templates.set(effective, byKey);
  }
  const made = { decision, controls: [...new Set(decision.controls)], template: {} };
  byKey.set(key, made);
  return made;
}
