/**
 * Everything that any node wrote to its log, as a tree of links, with the one committed path through it.
 *
 * A link stands for an entry together with all entries before it: two logs with the same link are equal up to it. Log
 * matching therefore means that (index, term) names one link, and comparing logs means comparing two references.
 */

import type { Configuration, Entry } from "../../src/server/core/raft/index.ts";
import { must } from "./violation.ts";

export interface Link {
  readonly index: number;
  readonly term: number;
  readonly entry: Entry;
  /** `undefined` before the first entry. */
  readonly previous: Link | undefined;
}

/** The checker's record of a committed index. The first node to apply it fills in the results. */
interface Committed {
  readonly link: Link;
  /** Term of the leader under which the commit was first known. */
  readonly committedIn: number;
  digest: string | number | undefined;
  /** The configuration in force once this index is applied. */
  configuration: Configuration | undefined;
}

export interface Ledger {
  /** The link before the first entry of any log. */
  readonly root: Link;
  /** The snapshot of every bootstrapped node at its start, index 1. */
  readonly origin: Link;
  readonly lastCommitted: number;
  /** Throws when the index is not committed. */
  committed(index: number): Committed;
  link(previous: Link, entry: Entry): Link;
  find(index: number, term: number): Link | undefined;
  /** Marks everything up to `link` as committed. */
  commit(link: Link, term: number): void;
}

const NO_DATA = new Uint8Array(0);

export function createLedger(first: Configuration): Ledger {
  const blank = (index: number): Entry => ({ index, term: index, kind: "normal", data: NO_DATA });
  const root: Link = { index: 0, term: 0, entry: blank(0), previous: undefined };
  const origin: Link = { index: 1, term: 1, entry: blank(1), previous: root };
  const links = new Map<number, Link>([[keyOf(1, 1), origin]]);
  const path: Committed[] = [
    { link: root, committedIn: 0, digest: undefined, configuration: undefined },
    { link: origin, committedIn: 1, digest: undefined, configuration: first },
  ];

  return {
    root,
    origin,
    get lastCommitted() {
      return path.length - 1;
    },
    committed(index) {
      const found = path[index];
      must(found !== undefined, "state-machine safety", () => `index ${index} is applied and not committed`);
      return found;
    },
    link(previous, entry) {
      const { index, term } = entry;
      must(index === previous.index + 1, "log without gaps", () => `${index} is written behind ${previous.index}`);
      must(term >= previous.term, "log matching", () => `term ${term} at ${index} behind term ${previous.term}`);
      const key = keyOf(index, term);
      const found = links.get(key);
      if (found === undefined) {
        const made = { index, term, entry, previous };
        links.set(key, made);
        return made;
      }
      must(
        found.previous === previous && isSameEntry(found.entry, entry),
        "log matching",
        () => `two logs hold (${index}, ${term}) and differ there or before`,
      );
      return found;
    },
    find: (index, term) => links.get(keyOf(index, term)),
    commit(link, term) {
      const missing: Link[] = [];
      let at: Link = link;
      while (at.index >= path.length) {
        missing.push(at);
        at = at.previous!;
      }
      const known = path[at.index]!.link;
      must(known === at, "leader completeness", () => `${link.index}/${link.term} replaces ${at.index}/${known.term}`);
      for (const next of missing.reverse()) {
        path.push({ link: next, committedIn: term, digest: undefined, configuration: undefined });
      }
    },
  };
}

/** Terms in a run stay far below 65,536. */
function keyOf(index: number, term: number): number {
  return index * 65_536 + term;
}

function isSameEntry(a: Entry, b: Entry): boolean {
  return a.kind === b.kind && (a.data === b.data || Buffer.compare(a.data, b.data) === 0);
}
