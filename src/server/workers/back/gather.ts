/** Sums up what happens often, to be told as one message a moment later. */
import type { Channel } from "../channel/index.ts";

/** What operators see is as old, and a process under full load tells it fifty times a second. */
const EVERY_MS = 20;

export interface Gathered<Item> {
  /** The item of this key, to be added to. */
  at(key: string, make: () => Item): Item;
}

/** `limit`: of keys; past it, what is there goes out at once, and so it does when the node asks for all (`catchUp`). */
export function gather<Item>(channel: Channel, type: string, limit: number): Gathered<Item> {
  let items = new Map<string, Item>();
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (items.size === 0) return;
    channel.send(type, [...items.values()]);
    items = new Map();
  };
  channel.on("tell", flush);
  return {
    at(key, make) {
      const known = items.get(key);
      if (known !== undefined) return known;
      if (items.size >= limit) flush();
      const made = make();
      items.set(key, made);
      timer ??= setTimeout(flush, EVERY_MS).unref();
      return made;
    },
  };
}
