/** Current feature level, and the members that prevent the next one. Shown to operators during an upgrade. */

import { featureRowKey, levelOf } from "./commands/feature.ts";
import { memberRows } from "./commands/member-rows.ts";
import type { State } from "./types.ts";

interface FeatureLevelStatus {
  readonly level: number;
  /**
   * Level that members with newer builds could work at, and the members that prevent it; `undefined` if there is no such level.
   */
  readonly next:
    | {
        readonly level: number;
        /** Members ordered by id, at least one. `version` is empty if the member has not reported it yet. */
        readonly waitsFor: readonly { readonly id: string; readonly version: string; readonly highest: number }[];
      }
    | undefined;
}

/** Returns the current feature level. */
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

/** Returns true if the leader is about to raise the level: a member has not reported its range yet, or all support more. */
export function isLevelRising(rows: Pick<State, "get" | "scan">): boolean {
  const members = Array.from(rows.scan("member/"), ([, value]) => memberRows.read(value));
  if (members.length === 0 || members.some(({ version }) => version === "")) return true;
  return Math.min(...members.map(({ feature }) => feature[1])) > levelIn(rows);
}

/** Returns one sentence; `undefined` if no member prevents a level. */
export function featureLevelWaitText({ next }: FeatureLevelStatus): string | undefined {
  if (next === undefined) return undefined;
  const members = next.waitsFor.map(({ id, version, highest }) =>
    version === ""
      ? `${id}, which has not reported its version yet`
      : `${id}, which runs ${version} (levels to ${highest})`,
  );
  return `level ${next.level} waits for ${members.join(", and for ")}`;
}
