"use strict";

/**
 * One process of many at a time, by a file that names who holds it. What a process left behind that was killed is taken over:
 * nobody has to remove it by hand.
 */

const { mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } = require("node:fs");

const LOOK_EVERY_MS = 50;
/** An empty file is being written; for longer than that nobody does. */
const WRITING_MS = 5_000;
/** A process number is given out again; nobody holds it for so long. */
const MOST_HELD_MS = 900_000;

/** Waits until it is ours, and returns what lets go of it. `waits`: called once, with the process that holds it. */
function take(path, waits) {
  for (let hasWaited = false; ; ) {
    try {
      writeFileSync(path, `${process.pid}`, { flag: "wx" });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const holder = holderOf(path);
    if (holder === undefined) {
      breakOff(path);
      continue;
    }
    if (!hasWaited) waits(holder);
    hasWaited = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
  }
}

/** Returns the process id of the holder, "unknown" while it is being written, or `undefined` if nobody holds the lock. */
function holderOf(path) {
  try {
    const age = Date.now() - statSync(path).mtimeMs;
    const pid = Number(readFileSync(path, "utf8"));
    if (pid === 0) return age < WRITING_MS ? "unknown" : undefined;
    return age < MOST_HELD_MS && isAlive(pid) ? pid : undefined;
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Removes a stale lock. Only one process does so at a time, and it checks again: another may have taken the lock meanwhile. */
function breakOff(path) {
  const breaking = `${path}.break`;
  try {
    mkdirSync(breaking);
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (ageOf(breaking) > WRITING_MS) rmSync(breaking, { recursive: true, force: true });
    return;
  }
  if (holderOf(path) === undefined) rmSync(path, { force: true });
  rmdirSync(breaking);
}

function ageOf(path) {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
}

module.exports = { take };
