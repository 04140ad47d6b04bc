/**
 * Whether a history of one object is linearizable: Wing and Gong's search with Lowe's memoization, as in Porcupine.
 * Histories are checked key by key, which is enough (Herlihy and Wing: linearizability is local).
 *
 * An operation whose outcome is unknown has no return: it may take effect at any later time, or never.
 */

/** `call` < `return`; times need only be ordered, equal ones count as overlapping. */
export interface Operation<I, O> {
  readonly input: I;
  /** Undefined when the outcome is unknown. */
  readonly returned: { readonly at: number; readonly output: O } | undefined;
  readonly call: number;
}

/** A sequential object. States are numbers, so that they can be compared and remembered cheaply. */
export interface Model<I, O> {
  readonly initial: number;
  /** The state after `input`; undefined when it cannot have answered `output` in `state`. `output` undefined: any. */
  step(state: number, input: I, output: O | undefined): number | undefined;
}

export type Verdict =
  | { readonly kind: "linearizable" }
  | { readonly kind: "violated" }
  /** Given up after `maxSteps`. */
  | { readonly kind: "undecided" };

/** The call or the return of an operation, in a doubly linked list by time. */
interface Node {
  readonly operation: number;
  /** The node of its return; undefined for a return. */
  readonly match: Node | undefined;
  previous: Node | undefined;
  next: Node | undefined;
}

interface Step {
  readonly node: Node;
  readonly state: number;
}

export function checkLinearizable<I, O>(
  history: readonly Operation<I, O>[],
  model: Model<I, O>,
  maxSteps: number,
): Verdict {
  const head = linked(history);
  const known = history.filter(({ returned }) => returned !== undefined).length;
  const words = Math.ceil(history.length / 32);
  const done = new Int32Array(words);
  const visited = new Set<string>();
  const taken: Step[] = [];
  let doneKnown = 0;
  let state = model.initial;
  let at = head.next;

  for (let steps = 0; doneKnown < known; steps += 1) {
    if (steps > maxSteps) return { kind: "undecided" };
    if (at?.match !== undefined) {
      const { input, returned } = history[at.operation]!;
      const after = model.step(state, input, returned?.output);
      const word = at.operation >> 5;
      const bit = 1 << (at.operation & 31);
      if (after !== undefined) {
        done[word]! |= bit;
        const mark = `${after}:${done.join()}`;
        if (!visited.has(mark)) {
          visited.add(mark);
          taken.push({ node: at, state });
          state = after;
          if (returned !== undefined) doneKnown += 1;
          lift(at);
          at = head.next;
          continue;
        }
        done[word]! &= ~bit;
      }
      at = at.next;
      continue;
    }
    // A return, or the end of the list: what was called before it and not tried yet is exhausted.
    const last = taken.pop();
    if (last === undefined) return { kind: "violated" };
    state = last.state;
    done[last.node.operation >> 5]! &= ~(1 << (last.node.operation & 31));
    if (history[last.node.operation]!.returned !== undefined) doneKnown -= 1;
    unlift(last.node);
    at = last.node.next;
  }
  return { kind: "linearizable" };
}

/** The list's head, whose `next` is the earliest call or return. Calls come before returns of the same time. */
function linked<I, O>(history: readonly Operation<I, O>[]): Node {
  const points = history.flatMap(({ call, returned }, operation) => {
    const end: Node = { operation, match: undefined, previous: undefined, next: undefined };
    const start: Node = { operation, match: end, previous: undefined, next: undefined };
    return [
      { at: call, order: 0, node: start },
      { at: returned?.at ?? Number.POSITIVE_INFINITY, order: 1, node: end },
    ];
  });
  points.sort((a, b) => (a.at === b.at ? a.order - b.order : a.at < b.at ? -1 : 1));
  const head: Node = { operation: -1, match: undefined, previous: undefined, next: undefined };
  let last = head;
  for (const { node } of points) {
    last.next = node;
    node.previous = last;
    last = node;
  }
  return head;
}

function unlink(node: Node): void {
  if (node.previous !== undefined) node.previous.next = node.next;
  if (node.next !== undefined) node.next.previous = node.previous;
}

function relink(node: Node): void {
  if (node.previous !== undefined) node.previous.next = node;
  if (node.next !== undefined) node.next.previous = node;
}

function lift(call: Node): void {
  unlink(call);
  unlink(call.match!);
}

/** In the reverse order of `lift`. */
function unlift(call: Node): void {
  relink(call.match!);
  relink(call);
}
