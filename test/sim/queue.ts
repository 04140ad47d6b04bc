/** Future events, ordered by virtual time (milliseconds) and at equal times by the order of scheduling. */

interface EventQueue<T> {
  readonly size: number;
  push(at: number, event: T): void;
  /** Time of the next event; `undefined` when there is none. */
  nextAt(): number | undefined;
  pop(): T | undefined;
}

interface Slot<T> {
  readonly at: number;
  readonly order: number;
  readonly event: T;
}

/** A binary heap. */
export function createQueue<T>(): EventQueue<T> {
  const heap: Slot<T>[] = [];
  let pushed = 0;

  const isBefore = (a: Slot<T>, b: Slot<T>): boolean => (a.at === b.at ? a.order < b.order : a.at < b.at);

  const sink = (slot: Slot<T>): void => {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, slot)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = slot;
  };

  return {
    get size() {
      return heap.length;
    },
    push(time, event) {
      const slot = { at: time, order: pushed, event };
      pushed += 1;
      let at = heap.length;
      heap.push(slot);
      while (at > 0) {
        const parent = (at - 1) >> 1;
        if (!isBefore(slot, heap[parent]!)) break;
        heap[at] = heap[parent]!;
        at = parent;
      }
      heap[at] = slot;
    },
    nextAt: () => heap[0]?.at,
    pop() {
      const top = heap[0];
      const last = heap.pop();
      if (top === undefined || last === undefined) return undefined;
      if (heap.length > 0) sink(last);
      return top.event;
    },
  };
}
