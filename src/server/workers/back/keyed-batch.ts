/** Sums up frequent events, which are sent as one message after a short delay. */
import type { Channel } from "../channel/index.ts";

/**
 * Interval of messages, in milliseconds. It is the maximum age of the data that operators see; a process under full load sends
 * fifty messages a second.
 */
const FLUSH_INTERVAL_MS = 20;

interface KeyedBatch<Item> {
  /** Returns the item of this key, to which the caller adds. */
  getOrCreate(key: string, make: () => Item): Item;
}

/**
 * Creates a collection. `limit`: maximum number of keys, at which everything is sent immediately. It is also sent when the node
 * asks for everything (`catchUp`).
 */
export function createKeyedBatch<Item>(channel: Channel, type: string, limit: number): KeyedBatch<Item> {
  let items = new Map<string, Item>();
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (items.size === 0) return;
    channel.send(type, [...items.values()]);
    items = new Map();
  };
  channel.on("flush", flush);
  return {
    getOrCreate(key, make) {
      const known = items.get(key);
      if (known !== undefined) return known;
      if (items.size >= limit) flush();
      const made = make();
      items.set(key, made);
      timer ??= setTimeout(flush, FLUSH_INTERVAL_MS).unref();
      return made;
    },
  };
}
