"use strict";

/**
 * Lock between processes: a file with the process id of its holder. If the holder was killed, the next process takes
 * over the lock, so that nobody has to remove the file by hand.
 */

const { mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } = require("node:fs");

const LOOK_EVERY_MS = 50;
/** Maximum time between creating the file and writing the process id, in milliseconds. */
const WRITING_MS = 5_000;
/** Maximum time that a process holds the lock, in milliseconds. Beyond it the process id may belong to another process. */
const MAX_HELD_MS = 900_000;

/**
 * Waits for the lock, and returns a function that releases it. If it has to wait, calls `waits` once with the process
 * id of the holder.
 */
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

/** Returns the process id, `"unknown"` while the file is written, or `undefined` for a lock that can be taken over. */
function holderOf(path) {
  try {
    const age = Date.now() - statSync(path).mtimeMs;
    const pid = Number(readFileSync(path, "utf8"));
    if (pid === 0) return age < WRITING_MS ? "unknown" : undefined;
    return age < MAX_HELD_MS && isAlive(pid) ? pid : undefined;
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

/**
 * Removes a stale lock. Only one process at a time does so, and it checks the lock again first, since another process
 * may have taken it meanwhile.
 */
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
