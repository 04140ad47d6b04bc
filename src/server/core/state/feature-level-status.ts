/** The feature level in force, and what the next one waits for: for operators, in the midst of an upgrade. */

import { featureRowKey, levelOf } from "./commands/feature.ts";
import { memberRows } from "./commands/member-rows.ts";
import type { State } from "./types.ts";

export interface FeatureLevelStatus {
  readonly level: number;
  /** Level that members with newer builds could work at, and the members that prevent it; `undefined` if there are none. */
  readonly next:
    | {
        readonly level: number;
        /** Ordered by id; at least one. `version` is empty if the member has not reported it yet. */
        readonly waitsFor: readonly { readonly id: string; readonly version: string; readonly highest: number }[];
      }
    | undefined;
}

/** The feature level in force. */
export const levelIn = (rows: Pick<State, "get">): number => levelOf(rows.get(featureRowKey));

export function featureLevelStatus(rows: Pick<State, "get" | "scan">): FeatureLevelStatus {
  const level = levelIn(rows);
  const members = Array.from(rows.scan("member/"), ([, value]) => memberRows.read(value));
  const next = Math.max(level, ...members.map(({ feature }) => feature[1]));
  const waitsFor = members.flatMap(({ id, version, feature: [, highest] }) =>
    highest < next ? [{ id, version, highest }] : [],
  );
  return { level, next: waitsFor.length === 0 ? undefined : { level: next, waitsFor } };
}

/** Returns whether the leader is about to raise the level: a member has not reported its range yet, or all support more. */
export function isLevelRising(rows: Pick<State, "get" | "scan">): boolean {
  const members = Array.from(rows.scan("member/"), ([, value]) => memberRows.read(value));
  if (members.length === 0 || members.some(({ version }) => version === "")) return true;
  return Math.min(...members.map(({ feature }) => feature[1])) > levelIn(rows);
}

/** Returns one sentence, or `undefined` if nothing is waited for. */
export function featureLevelWaitText({ next }: FeatureLevelStatus): string | undefined {
  if (next === undefined) return undefined;
  const members = next.waitsFor.map(({ id, version, highest }) =>
    version === ""
      ? `${id}, which has not told its version yet`
      : `${id}, which runs ${version} (levels to ${highest})`,
  );
  return `level ${next.level} waits for ${members.join(", and for ")}`;
}
