/** The feature level in force, and what the next one waits for: for operators, in the midst of an upgrade. */

import { featureRowKey, levelOf } from "./commands/feature.ts";
import { memberRows } from "./commands/member-rows.ts";
import type { State } from "./types.ts";

export interface LevelStanding {
  readonly level: number;
  /** What members of newer builds could work at already, and who holds them back; undefined where nobody does. */
  readonly next:
    | {
        readonly level: number;
        /** In the order of their ids; at least one. `version` is empty where the member has not told it yet. */
        readonly waitsFor: readonly { readonly id: string; readonly version: string; readonly highest: number }[];
      }
    | undefined;
}

/** The feature level in force. */
export const levelIn = (rows: Pick<State, "get">): number => levelOf(rows.get(featureRowKey));

export function levelStanding(rows: Pick<State, "get" | "scan">): LevelStanding {
  const level = levelIn(rows);
  const members = Array.from(rows.scan("member/"), ([, value]) => memberRows.read(value));
  const next = Math.max(level, ...members.map(({ feature }) => feature[1]));
  const waitsFor = members.flatMap(({ id, version, feature: [, highest] }) =>
    highest < next ? [{ id, version, highest }] : [],
  );
  return { level, next: waitsFor.length === 0 ? undefined : { level: next, waitsFor } };
}

/** Whether the leader is about to raise the level: a member has yet to tell what it speaks, or all have told more. */
export function isLevelRising(rows: Pick<State, "get" | "scan">): boolean {
  const members = Array.from(rows.scan("member/"), ([, value]) => memberRows.read(value));
  if (members.length === 0 || members.some(({ version }) => version === "")) return true;
  return Math.min(...members.map(({ feature }) => feature[1])) > levelIn(rows);
}

/** One sentence; undefined where nothing is waited for. */
export function waitingWords({ next }: LevelStanding): string | undefined {
  if (next === undefined) return undefined;
  const members = next.waitsFor.map(({ id, version, highest }) =>
    version === ""
      ? `${id}, which has not told its version yet`
      : `${id}, which runs ${version} (levels to ${highest})`,
  );
  return `level ${next.level} waits for ${members.join(", and for ")}`;
}
