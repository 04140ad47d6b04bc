/** Members: rows `member/<id>`, created by changes of the configuration and updated at each node's start. */

import { define, type Site } from "../command.ts";
import { ok, refused } from "../command-refusals.ts";
import { listOf, Malformed, object } from "../fields.ts";
import type { Draft } from "../mutation-draft.ts";
import type { Member } from "../types.ts";
import { featureRowKey, levelOf } from "./feature.ts";
import {
  address,
  buildVersion,
  member,
  memberRowKey,
  memberRows,
  nodeId,
  range,
  storageId,
  unknownMember,
} from "./member-rows.ts";
import { closeHoldings } from "./usage.ts";

/** Context of a configuration change. */
export const membersChange = object({ added: listOf(member, 1_000) });

/** Returns an incarnation greater than any earlier one of the node, even if it was removed in between: log indexes only grow. */
const nextIncarnation = (before: number, index: number): number => Math.max(before + 1, index);

/**
 * Reports a started process. Its incarnation number grows, so grants to an earlier process of the node are closed and its late
 * reports are refused.
 */
export const nodeStart = define(
  "node.start",
  object({
    id: nodeId,
    storage: storageId,
    raft_addr: address,
    forward_addr: address,
    version: buildVersion,
    proto: range,
    feature: range,
  }),
  (params, { draft, index }) => {
    const value = draft.get(memberRowKey(params.id));
    if (value === undefined) return refused("not_a_member");
    const before = memberRows.read(value);
    if (before.storage !== "" && before.storage !== params.storage) return refused("storage_changed");
    if (params.feature[1] < levelOf(draft.get(featureRowKey))) return refused("feature_unsupported");
    const incarnation = nextIncarnation(before.incarnation, index);
    draft.put(memberRowKey(params.id), memberRows.write({ ...params, incarnation }));
    closeHoldings(draft, params.id);
    return ok({ incarnation });
  },
);

/** Updates the rows after a change of the configuration. A malformed context adds nothing. */
export function changeMembers(draft: Draft, context: unknown, memberIds: readonly string[]): void {
  for (const added of readChange(context)) {
    if (!memberIds.includes(added.id)) continue;
    const value = draft.get(memberRowKey(added.id));
    const before = value === undefined ? undefined : memberRows.read(value);
    // The node was added again with its log, so its process and its grants continue.
    const incarnation = Math.max(added.incarnation, before?.incarnation ?? 0);
    const storage = added.storage === "" ? (before?.storage ?? "") : added.storage;
    draft.put(memberRowKey(added.id), memberRows.write({ ...added, storage, incarnation }));
  }
  const kept = new Set(memberIds.map(memberRowKey));
  for (const [key, value] of draft.scan("member/")) {
    if (kept.has(key)) continue;
    draft.delete(key);
    closeHoldings(draft, memberRows.read(value).id);
  }
  for (const id of memberIds) {
    if (draft.get(memberRowKey(id)) === undefined) draft.put(memberRowKey(id), memberRows.write(unknownMember(id)));
  }
}

function readChange(context: unknown): readonly Member[] {
  try {
    return membersChange(context).added;
  } catch (error) {
    if (error instanceof Malformed) return [];
    throw error;
  }
}

/** Gives all members new incarnations after the whole state was replaced, so that reports about earlier grants are refused. */
export function restartedMembers(site: Site): readonly (readonly [key: string, value: string])[] {
  return Array.from(site.draft.scan("member/"), ([key, value]) => {
    const row = memberRows.read(value);
    return [key, memberRows.write({ ...row, incarnation: nextIncarnation(row.incarnation, site.index) })];
  });
}
