/**
 * Remembers output items of translated answers, because the most used client refers to them by default. Items are kept in memory
 * only, for their caller only, for one hour. Source: design decisions, section 18; Responses reference, 5.5.
 *
 * A caller may use at most a quarter of the memory, so that none can displace the items of all others.
 */
import { FifoMap } from "../../../base/index.ts";

interface ItemMemory {
  /** Remembers an item. `item`: JSON text. */
  remember(caller: string, id: string, item: string): void;
  /** Returns an item as JSON text, or `undefined` if it is not remembered. */
  recall(caller: string, id: string): string | undefined;
  /** Forgets all items of one response. Returns false if there were none. */
  forget(caller: string, isOfResponse: (id: string) => boolean): boolean;
  bytes(): number;
}

interface ItemMemoryOptions {
  /** Size of the memory in bytes; 0 disables it. */
  readonly maxBytes: number;
  /** Returns the time of a monotonic clock, in milliseconds. */
  readonly now: () => number;
}

export const DEFAULT_MEMORY_BYTES = 64 << 20;
const TTL_MS = 3_600_000;
const CALLER_SHARE = 4;
/** Approximate memory that an item takes beyond its text, in bytes. */
const ITEM_COST = 256;

interface RememberedItem {
  readonly caller: CallerItems;
  readonly id: string;
  readonly item: string;
  readonly until: number;
  readonly size: number;
}

interface CallerItems {
  readonly name: string;
  bytes: number;
  readonly items: FifoMap<string, RememberedItem>;
}

export function createItemMemory({ maxBytes, now }: ItemMemoryOptions): ItemMemory {
  const callers = new Map<string, CallerItems>();
  const all = new FifoMap<RememberedItem, RememberedItem>();
  let bytes = 0;

  function drop(remembered: RememberedItem): void {
    const { caller, id, size } = remembered;
    all.delete(remembered);
    caller.items.delete(id);
    caller.bytes -= size;
    bytes -= size;
    if (caller.items.size === 0) callers.delete(caller.name);
  }

  function dropOldest(of: FifoMap<unknown, RememberedItem>, isEnough: (oldest: RememberedItem) => boolean): void {
    for (let oldest = of.oldest()?.value; oldest !== undefined && !isEnough(oldest); oldest = of.oldest()?.value) {
      drop(oldest);
    }
  }

  function callerOf(name: string): CallerItems {
    let caller = callers.get(name);
    if (caller === undefined) {
      caller = { name, bytes: 0, items: new FifoMap() };
      callers.set(name, caller);
    }
    return caller;
  }

  return {
    remember(name, id, item) {
      const size = 2 * item.length + ITEM_COST;
      const share = maxBytes / CALLER_SHARE;
      const known = callers.get(name)?.items.get(id);
      if (known !== undefined) drop(known);
      if (size > share) return;
      const time = now();
      dropOldest(all, ({ until }) => until > time);
      const caller = callerOf(name);
      dropOldest(caller.items, () => caller.bytes + size <= share);
      dropOldest(all, () => bytes + size <= maxBytes);
      const remembered: RememberedItem = { caller, id, item, until: time + TTL_MS, size };
      callers.set(name, caller); // the caller may have been removed together with its last item
      caller.items.set(id, remembered);
      caller.bytes += size;
      all.set(remembered, remembered);
      bytes += size;
    },
    recall(name, id) {
      const remembered = callers.get(name)?.items.get(id);
      if (remembered === undefined) return undefined;
      if (remembered.until > now()) return remembered.item;
      drop(remembered);
      return undefined;
    },
    forget(name, isOfResponse) {
      const found = [...(callers.get(name)?.items.values() ?? [])].filter(({ id }) => isOfResponse(id));
      for (const remembered of found) drop(remembered);
      return found.length > 0;
    },
    bytes: () => bytes,
  };
}
