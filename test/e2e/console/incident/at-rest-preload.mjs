/**
 * Loaded by Node before the program of a test: reports, over a connection to the port in its own address, how many
 * bytes the program has read from its terminal and written to it, and the size it knows, each time that nothing was
 * read, written or resized for `QUIET_MS` of the program's own time. A program without processor time reports nothing.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { connect } from "node:net";
import { isatty } from "node:tty";
import { isMainThread } from "node:worker_threads";

/** Longer than any deferred drawing of the console. */
const QUIET_MS = 60;

/** A terminal adds a carriage return before each line feed. */
const arrivingOf = (bytes) => bytes.reduce((sum, byte) => sum + (byte === 0x0a ? 2 : 1), 0);

if (isMainThread) {
  const { stdin, stdout } = process;
  const channel = connect(Number(new URL(import.meta.url).searchParams.get("port")), "127.0.0.1");
  channel.on("error", () => undefined);
  channel.unref();
  let read = 0;
  let written = 0;
  let timer;

  const tell = () =>
    channel.write(`${JSON.stringify({ read, written, columns: stdout.columns, rows: stdout.rows })}\n`);
  const stir = () => {
    clearTimeout(timer);
    timer = setTimeout(tell, QUIET_MS).unref();
  };

  const { emit } = stdin;
  stdin.emit = function (name, ...args) {
    const isTaken = emit.call(this, name, ...args);
    if (name === "data") {
      read += args[0].length;
      stir();
    }
    return isTaken;
  };
  const { writeSync } = fs;
  fs.writeSync = (fd, data, ...args) => {
    const taken = writeSync(fd, data, ...args);
    if (isatty(fd)) written += arrivingOf(Buffer.from(data).subarray(0, taken));
    stir();
    return taken;
  };
  syncBuiltinESMExports();
  stdout.on("resize", stir);
}
