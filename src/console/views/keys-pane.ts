/** Detail of the key under the cursor: profile, buckets, metadata. */

import type { KeyRecord } from "../../admin-api/index.ts";
import { keyNamed, profileNamed } from "../actions/keys-by-name.ts";
import { suspensionOf, suspensionText } from "../actions/suspension-dialogs.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { namesText } from "../format/name-list.ts";
import { count, plural } from "../format/numbers.ts";
import { ago, clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import type { Data } from "../model/data.ts";
import { type Line, span as spanOf } from "../model/text.ts";
import { bucketLine } from "./budgets-bucket.ts";
import { allBucketsOf } from "./keys-index.ts";
import { endsSoon, expiryOf, KEY_STATES } from "./keys-table.ts";
import { profileLines } from "./profiles-facts.ts";

export function keyPane(name: string, { data, now, isAscii, subject }: Context): readonly Line[] {
  const key = keyNamed(data, name);
  if (key === undefined) return [];
  const { profile, metadata } = key;
  const suspension = suspensionOf(data, "key", name);
  const found = profile === null ? undefined : profileNamed(data, profile);
  const texts = Object.entries(metadata).map(([text, value]) => `${text}=${value}`);
  return [
    keyLine(key, now),
    ...(subject === key.id ? usageLines(name, data, now) : []),
    ...(suspension === undefined
      ? []
      : [labeledLine("", spanOf(`SUSPENDED ${suspensionText(suspension, now)}`, "off"))]),
    ...(found === undefined ? [labeledLine("profile", shown(profile ?? "none"))] : profileLines(found)),
    ...allBucketsOf(data, key).map((bucket) => labeledLine("budget", ...bucketLine(bucket, now, isAscii))),
    labeledLine("metadata", shown(texts.length === 0 ? "none" : texts.join("  "))),
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

/** Maximum number of models in a line. */
const MAX_MODELS = 4;

/** Describes the key's use (source, start, frequency) from the requests that nodes keep: the last 2,000 of each. */
function usageLines(name: string, data: Data, now: number): readonly Line[] {
  const read = data.get({ id: "list_requests" })?.value;
  if (read === undefined) return [labeledLine("used", spanOf("requests not loaded yet", "dim"))];
  const rows = read.filter(({ caller }) => caller === name).sort((a, b) => (a.time < b.time ? -1 : 1));
  const [first] = rows;
  if (first === undefined) return [labeledLine("used", spanOf("in none of the requests that the nodes keep"))];
  const failed = rows.filter(({ status }) => status >= 400).length;
  const nodes = [...countsOf(rows.map(({ node }) => node))].map(([node, times]) => `${node} ${count(times)}`);
  const models = [...countsOf(rows.flatMap(({ model }) => model ?? []))].map(([model]) => model);
  return [
    labeledLine(
      "used",
      spanOf(`${plural(rows.length, "request")} kept, since ${clock(Date.parse(first.time), now)}, the last `),
      spanOf(ago(rows.at(-1)?.time ?? null, now)),
      spanOf(failed === 0 ? "" : `; ${count(failed)} failed or refused`, "warn"),
    ),
    labeledLine(
      "through",
      shown(nodes.join(", ")),
      shown(models.length === 0 ? "" : `  for ${namesText(models, MAX_MODELS)}`),
    ),
  ];
}

/** Counts names, the most frequent first. */
function countsOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map([...counts].sort(([, a], [, b]) => b - a));
}
