/**
 * Loaded by Node before the program of a test: its clock is ahead by the milliseconds in a file, which the test may
 * change at any time. The file's path is in this module's own address. A read a few milliseconds after a change returns
 * the new time; processes with the same file have the same clock.
 */
import { readFileSync } from "node:fs";

const path = new URL(import.meta.url).searchParams.get("file");
const FRESH_MS = 5;
const trueNow = Date.now;
const TrueDate = Date;
let shift = 0;
let readAt = Number.NEGATIVE_INFINITY;

const now = () => {
  const at = performance.now();
  if (at - readAt > FRESH_MS) {
    readAt = at;
    // Changed by a rename, so that a read is complete.
    shift = Number(readFileSync(path, "utf8"));
  }
  return trueNow() + shift;
};

globalThis.Date = class DrivenDate extends TrueDate {
  constructor(...given) {
    if (given.length === 0) super(now());
    else super(...given);
  }
  static now = now;
};
