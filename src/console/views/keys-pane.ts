/** What is told of the key under the cursor: its profile, its buckets, its metadata. */

import type { KeyRecord } from "../../admin-api/index.ts";
import { keyNamed, profileNamed } from "../actions/keys-by-name.ts";
import { suspensionOf, suspensionWords } from "../actions/suspension.ts";
import { labelled, shown } from "../format/lines.ts";
import { ago, clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Line, span as spanOf } from "../model/text.ts";
import { bucketLine } from "./budgets-bucket.ts";
import { allBucketsOf } from "./keys-index.ts";
import { endsSoon, expiryOf, KEY_STATES } from "./keys-table.ts";
import { profileLines } from "./profiles-facts.ts";

export function keyPane(name: string, { data, now, isAscii }: Context): readonly Line[] {
  const key = keyNamed(data, name);
  if (key === undefined) return [];
  const { profile, metadata } = key;
  const suspension = suspensionOf(data, "key", name);
  const found = profile === null ? undefined : profileNamed(data, profile);
  const texts = Object.entries(metadata).map(([text, value]) => `${text}=${value}`);
  return [
    keyLine(key, now),
    ...(suspension === undefined ? [] : [labelled("", spanOf(`SUSPENDED ${suspensionWords(suspension, now)}`, "off"))]),
    ...(found === undefined ? [labelled("profile", shown(profile ?? "none"))] : profileLines(found)),
    ...allBucketsOf(data, key).map((bucket) => labelled("budget", ...bucketLine(bucket, now, isAscii))),
    labelled("metadata", shown(texts.length === 0 ? "none" : texts.join("  "))),
  ];
}

function keyLine(key: KeyRecord, now: number): Line {
  const { id, name, status, created_at, last_used_at } = key;
  const end = expiryOf(key);
  const ends = end === null ? "never expires" : `${end > now ? "expires" : "expired"} ${clock(end, now)}`;
  return [
    shown(name, "strong"),
    shown(`  id ${id}  `, "dim"),
    spanOf(KEY_STATES[status].word, KEY_STATES[status].tone),
    spanOf(`  made ${clock(Date.parse(created_at), now)}`),
    spanOf(`  last used ${ago(last_used_at, now)}`),
    spanOf(`  ${ends}`, endsSoon(key, now) ? "warn" : "plain"),
  ];
}
