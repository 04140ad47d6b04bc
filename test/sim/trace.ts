/**
 * Record of a run: a digest of everything, and the last lines as text. Lines are formatted when they are read, so a
 * passing run does not pay for them.
 */

import type { Message } from "../../src/server/core/raft/index.ts";

export interface Trace {
  /** 8 hex digits over all notes so far. */
  readonly digest: string;
  /** `detail` must not be changed afterwards. */
  note(at: number, who: string, what: string, detail?: string | number | Message): void;
  /** The last lines, oldest first. */
  lines(): readonly string[];
}

interface Note {
  readonly at: number;
  readonly who: string;
  readonly what: string;
  readonly detail: string | number | Message | undefined;
}

const TRACE_LINES = 60;

export function createTrace(onLine?: (line: string) => void): Trace {
  const kept: Note[] = [];
  let count = 0;
  let hash = 0x811c9dc5;

  const mix = (value: number): void => {
    hash = Math.imul(hash ^ value, 0x01000193);
    hash ^= hash >>> 15;
  };
  const mixText = (text: string): void => {
    for (let at = 0; at < text.length; at += 1) mix(text.charCodeAt(at));
  };

  return {
    get digest() {
      return (hash >>> 0).toString(16).padStart(8, "0");
    },
    note(at, who, what, detail) {
      mix(Math.floor(at * 1024));
      mixText(who);
      mixText(what);
      if (typeof detail === "string") mixText(detail);
      else if (typeof detail === "number") mix(detail);
      else if (detail !== undefined) {
        mixText(detail.type);
        mix(detail.term);
        mix(detail.index);
        mix(detail.commit);
        mix(detail.entries.length * 2 + (detail.reject ? 1 : 0));
      }
      const note = { at, who, what, detail };
      kept[count % TRACE_LINES] = note;
      count += 1;
      onLine?.(lineOf(note));
    },
    lines() {
      const from = Math.max(0, count - TRACE_LINES);
      return Array.from({ length: count - from }, (_, at) => lineOf(kept[(from + at) % TRACE_LINES]!));
    },
  };
}

function lineOf({ at, who, what, detail }: Note): string {
  const tail = detail === undefined ? "" : ` ${typeof detail === "object" ? messageText(detail) : detail}`;
  return `${at.toFixed(1).padStart(9)} ${who.padEnd(4)} ${what}${tail}`;
}

function messageText(message: Message): string {
  const { type, from, to, term, logTerm, index, commit, reject, entries } = message;
  const parts = [`${type} ${from}->${to} term=${term} at=${index}/${logTerm} commit=${commit}`];
  const [first, last] = [entries[0], entries.at(-1)];
  if (first !== undefined && last !== undefined) {
    parts.push(`entries=${first.index}/${first.term}..${last.index}/${last.term}`);
  }
  if (reject) parts.push(`rejected hint=${message.hintIndex}/${message.hintTerm}`);
  if (message.transfer) parts.push("transfer");
  if (message.context !== undefined) parts.push(`context=${Buffer.from(message.context).toString("hex")}`);
  if (message.snapshot !== undefined) parts.push(`snapshot=${message.snapshot.index}/${message.snapshot.term}`);
  return parts.join(" ");
}
