/** Clients' observations, by key, and the sequential object that they are checked against. */

import { appended, type Change } from "./command.ts";
import { checkLinearizable, type Model, type Operation, type Verdict } from "./linearizability.ts";

export type Input = Change | { readonly kind: "read" };

/** Model of one key: a number, 0 at first. An output is the value read, the result of `append`, or 1 or 0. */
export const REGISTER: Model<Input, number> = {
  initial: 0,
  step(state, input, output) {
    switch (input.kind) {
      case "read":
        return output === undefined || output === state ? state : undefined;
      case "write":
        return input.value;
      case "swap": {
        const isDone = state === input.expected;
        if (output !== undefined && (output === 1) !== isDone) return undefined;
        return isDone ? input.value : state;
      }
      case "append": {
        const after = appended(state, input.value);
        return output === undefined || output === after ? after : undefined;
      }
      default:
        return input satisfies never;
    }
  },
  observes: (input, output) => input.kind === "read" || (input.kind === "swap" && output === 0),
  overwrites: (input) => input.kind === "write",
};

export interface History {
  /** Number of operations called on `key`, and how many of them have an unknown outcome. */
  sizeOf(key: number): { readonly called: number; readonly unknown: number };
  call(key: number, input: Input, at: number): Call;
  check(maxSteps: number): readonly { readonly key: number; readonly verdict: Verdict; readonly size: number }[];
  readonly operations: number;
}

/** Ended once, by one of these. If it never ends, the outcome is unknown. */
export interface Call {
  returned(at: number, output: number): void;
  /** It definitely had no effect. */
  failed(): void;
  unknown(): void;
}

interface Recorded {
  readonly input: Input;
  readonly call: number;
  end: { readonly at: number; readonly output: number } | "failed" | undefined;
}

export function createHistory(): History {
  const byKey = new Map<number, { readonly operations: Recorded[]; unknown: number }>();
  let count = 0;

  return {
    sizeOf: (key) => ({ called: byKey.get(key)?.operations.length ?? 0, unknown: byKey.get(key)?.unknown ?? 0 }),
    call(key, input, at) {
      const of = byKey.get(key) ?? { operations: [], unknown: 0 };
      byKey.set(key, of);
      const recorded: Recorded = { input, call: at, end: undefined };
      of.operations.push(recorded);
      count += 1;
      return {
        returned(time, output) {
          recorded.end = { at: time, output };
        },
        failed() {
          recorded.end = "failed";
        },
        unknown() {
          // A read without an answer proves nothing.
          if (input.kind === "read") recorded.end = "failed";
          else of.unknown += 1;
        },
      };
    },
    check(maxSteps) {
      return [...byKey].map(([key, { operations }]) => {
        const history: Operation<Input, number>[] = operations.flatMap(({ input, call, end }) =>
          end === "failed" ? [] : [{ input, call, returned: end }],
        );
        return { key, verdict: checkLinearizable(history, REGISTER, maxSteps), size: history.length };
      });
    },
    get operations() {
      return count;
    },
  };
}
