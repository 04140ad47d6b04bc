/** Limits and timing of consensus. Source: cluster reference, sections 2.4 and 2.5. */

import { ELECTION_TICKS, HEARTBEAT_TICKS } from "./ticker.ts";

export const RAFT_LIMITS = {
  electionTicks: ELECTION_TICKS,
  heartbeatTicks: HEARTBEAT_TICKS,
  maxMessageBytes: 512 * 1024,
  maxInflightMessages: 256,
  maxInflightBytes: 4 * 1024 * 1024,
  maxUncommittedBytes: 64 * 1024 * 1024,
  maxUncommittedEntries: 16_384,
  maxApplyingBytes: 16 * 1024 * 1024,
  maxBatchEntries: 1_024,
  maxBatchBytes: 2 * 1024 * 1024,
} as const;
