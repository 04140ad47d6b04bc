/**
 * Reacts to differing clocks: reports when a difference begins and ends, and makes a node with a far-off clock hand over
 * leadership if another node can lead. Runs once a second.
 */

import type { Log } from "../../../base/index.ts";
import type { RaftStatus } from "../../core/raft/index.ts";
import { LOG_TIME_LEVEL, MAX_STAMP_LAG_MS } from "../../core/state/index.ts";
import { type Clocks, MAX_LEADER_OFFSET_MS, WARNED_OFFSET_MS } from "./clocks.ts";

interface ClockWatchPorts {
  readonly nodeId: string;
  readonly clocks: Clocks;
  readonly log: Log;
  memberIds(): readonly string[];
  /** Returns the latest time of the log, in milliseconds since 1970. */
  logNow(): number;
  featureLevel(): number;
  status(): Pick<RaftStatus, "role" | "configuration">;
  /** Returns whether the member was heard recently. */
  isHeard(nodeId: string): boolean;
  setReluctant(isReluctant: boolean): void;
  /** Hands leadership over to one of these nodes. */
  handOverTo(nodeIds: readonly string[]): void;
}

/** Key for the time of the log in a map by member name. No member name is empty. */
const LOG_KEY = "";

/** Number of checks between two attempts to hand over leadership. */
const HAND_OVER_EVERY = 5;
/** Fraction of the reported limit below which a difference counts as ended. */
const ENDED_SHARE = 0.5;

/**
 * Returns the milliseconds by which the time of the log is ahead of the members' clocks; 0 within the difference that two leaders
 * may cause.
 */
export function logAheadOf(clocks: Pick<Clocks, "now">, logNow: number): number {
  const ahead = logNow - clocks.now();
  return ahead > MAX_STAMP_LAG_MS ? ahead : 0;
}

/** Returns whether a member's clock is close enough to the median to lead; true if the clock is unknown. */
export function maySetTime(clocks: Clocks, nodeId: string): boolean {
  return Math.abs(clocks.aheadOf(nodeId) ?? 0) <= MAX_LEADER_OFFSET_MS;
}

export function createClockWatch(ports: ClockWatchPorts): () => void {
  const { nodeId, clocks, log } = ports;
  const reported = new Set<string>();
  let checks = 0;

  const reportClock = (member: string, aheadMs: number | undefined): void => {
    if (aheadMs === undefined) return;
    const seconds = Math.round(aheadMs / 100) / 10;
    if (!reported.has(member) && Math.abs(aheadMs) > WARNED_OFFSET_MS) {
      reported.add(member);
      log.warn(
        `the clock of a member is ${Math.abs(seconds)} s ${aheadMs > 0 ? "ahead of" : "behind"} the median of the members' ` +
          "clocks: check the time synchronization of its machine (chrony, systemd-timesyncd)",
        { member, ahead_ms: aheadMs },
      );
    } else if (reported.has(member) && Math.abs(aheadMs) < ENDED_SHARE * WARNED_OFFSET_MS) {
      reported.delete(member);
      log.info("the clock of a member agrees with the others again", { member, ahead_ms: aheadMs });
    }
  };

  const reportLogTime = (): void => {
    const ahead = logAheadOf(clocks, ports.logNow());
    const isReported = reported.has(LOG_KEY);
    if (ahead > 0 && !isReported) {
      reported.add(LOG_KEY);
      const until = new Date(ports.logNow()).toISOString();
      const consequence =
        ports.featureLevel() >= LOG_TIME_LEVEL
          ? "until then budget windows, suspensions and expiries use the members' clocks"
          : "until then shared budgets are not served (that needs every member at this version)";
      log.warn(
        `the time of the log is ${Math.round(ahead / 1_000)} s ahead of the members' clocks, which reach it at ${until}: ` +
          `a clock was ahead when it led, or all were set back; ${consequence}`,
        { ahead_ms: ahead },
      );
    } else if (ahead === 0 && isReported) {
      reported.delete(LOG_KEY);
      log.info("the members' clocks have reached the time of the log");
    }
  };

  return () => {
    checks += 1;
    reportLogTime();
    const aheadMs = clocks.aheadOfMedian();
    reportClock(nodeId, aheadMs);
    for (const id of ports.memberIds()) if (id !== nodeId) reportClock(id, clocks.aheadOf(id));

    const isFarOff = Math.abs(aheadMs) > MAX_LEADER_OFFSET_MS;
    ports.setReluctant(isFarOff);
    const { role, configuration } = ports.status();
    if (!isFarOff || role !== "leader" || checks % HAND_OVER_EVERY !== 0) return;
    const candidates = configuration.voters
      .map(String)
      .filter((id) => id !== nodeId && ports.isHeard(id) && maySetTime(clocks, id));
    if (candidates.length > 0) ports.handOverTo(candidates);
  };
}
