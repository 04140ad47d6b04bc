/**
 * Returns an owner that ends with the surrounding suite: hooks of `node:test` belong to the suite in which they are
 * called.
 */
import { after } from "node:test";
import type { Owner } from "../../support/wait.ts";

export function suiteOwner(): Owner {
  const closers: (() => void | Promise<void>)[] = [];
  after(async () => {
    for (const close of closers) await close();
  });
  return { after: (close) => void closers.push(close) };
}
