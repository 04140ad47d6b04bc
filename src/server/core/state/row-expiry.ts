/**
 * Removes expired rows by log time. The index of due times depends only on the rows, ordered by time and then key, so that every
 * replica removes the same rows at the same entry, in slices of bounded work.
 */

import { idempotencyRows, sessionHeads } from "./client-sessions.ts";
import { acknowledgementRows } from "./commands/acknowledgements.ts";
import { blobHeads } from "./commands/blobs.ts";
import { suspensionRows } from "./commands/suspensions.ts";
import { windowDue } from "./commands/usage-rows.ts";
import type { Draft } from "./mutation-draft.ts";
import { createOrderedKeys } from "./ordered-keys.ts";
import { digits } from "./row-format.ts";

const SESSION_IDLE_MS = 3_600_000;
const BLOB_IDLE_MS = 3_600_000;
/** Time for which an ended suspension stays visible. */
const SUSPENSION_KEPT_MS = 24 * 3_600_000;

/** Returns when the row expires; `undefined` if it does not. Rows below a session or blob row expire with it. */
function dueOf(key: string, value: string): number | undefined {
  const parts = key.split("/");
  switch (parts[0]) {
    case "sess":
      return parts.length === 2 ? sessionHeads.read(value).used + SESSION_IDLE_MS : undefined;
    case "blob":
      return parts.length === 2 ? blobHeads.read(value).used + BLOB_IDLE_MS : undefined;
    case "idem":
      return idempotencyRows.read(value).until;
    case "ack":
      return acknowledgementRows.read(value).until;
    case "susp": {
      const { until } = suspensionRows.read(value);
      return until === null ? undefined : until + SUSPENSION_KEPT_MS;
    }
    case "usage":
    case "alloc":
      return windowDue(key);
    default:
      return undefined;
  }
}

/** Removes at most `budget` rows: those below the row first, then the row itself. Returns the number of rows touched. */
function remove(draft: Draft, key: string, budget: number): number {
  let touched = 0;
  if (key.startsWith("sess/") || key.startsWith("blob/")) {
    for (const [below] of draft.scan(`${key}/`)) {
      if (touched === budget) {
        forgetBelow(draft, key, below);
        return touched;
      }
      draft.delete(below);
      touched += 1;
    }
  }
  draft.delete(key);
  return touched + 1;
}

/**
 * Raises the lowest remembered sequence of a session that is deleted in slices, so that removed ones are refused if the client
 * returns in between.
 */
function forgetBelow(draft: Draft, key: string, next: string): void {
  const value = draft.get(key);
  if (value === undefined || !key.startsWith("sess/")) return;
  const low = Number(next.slice(next.lastIndexOf("/") + 1));
  draft.put(key, sessionHeads.write({ ...sessionHeads.read(value), low }));
}

interface ExpiryIndex {
  /** Updates the index. Call it for every changed row, with its new value. */
  changed(key: string, value: string | undefined): void;
  /** Removes rows due at `now`, touching at most about `budget` rows. */
  expire(draft: Draft, now: number, budget: number): void;
}

export function createExpiryIndex(): ExpiryIndex {
  const order = createOrderedKeys();
  const places = new Map<string, string>();
  return {
    changed(key, value) {
      const due = value === undefined ? undefined : dueOf(key, value);
      const place = due === undefined ? undefined : `${digits(Math.min(due, Number.MAX_SAFE_INTEGER), 16)} ${key}`;
      const before = places.get(key);
      if (before === place) return;
      if (before !== undefined) order.delete(before);
      if (place === undefined) {
        places.delete(key);
      } else {
        order.add(place);
        places.set(key, place);
      }
    },
    expire(draft, now, budget) {
      let left = budget;
      for (const place of order.from("")) {
        if (left <= 0 || Number(place.slice(0, 16)) > now) return;
        const key = place.slice(17);
        const value = draft.get(key);
        const due = value === undefined ? undefined : dueOf(key, value);
        // The entry itself may have used or removed a row that was due before it.
        left -= due !== undefined && due <= now ? remove(draft, key, left) : 1;
      }
    },
  };
}
