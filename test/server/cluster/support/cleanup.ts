/** Closes what a test opened in reverse order: Node runs `after` hooks in registration order. */

import type { TestContext } from "node:test";

type Cleanup = () => unknown;

const cleanups = new WeakMap<TestContext, Cleanup[]>();

export function afterwards(t: TestContext, cleanup: Cleanup): void {
  const known = cleanups.get(t);
  if (known !== undefined) {
    known.push(cleanup);
    return;
  }
  const own = [cleanup];
  cleanups.set(t, own);
  t.after(async () => {
    for (const each of own.toReversed()) await each();
  });
}
