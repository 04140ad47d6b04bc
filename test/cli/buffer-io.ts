/** An `Io` whose streams are buffers. */

import { Readable, Writable } from "node:stream";
import type { Io } from "../../src/cli/process-io.ts";

export interface BufferIo extends Io {
  /** Returns everything written so far. */
  out(): string;
  err(): string;
}

export function bufferIo(over: Partial<Io> = {}): BufferIo {
  const stdout = collector();
  const stderr = collector();
  return {
    stdin: Readable.from([]),
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: {},
    cwd: "/",
    isTerminal: () => false,
    columns: () => undefined,
    now: () => 0,
    signal: new AbortController().signal,
    watchReader: () => undefined,
    ...over,
    out: stdout.text,
    err: stderr.text,
  };
}

function collector(): { readonly stream: Writable; text(): string } {
  let text = "";
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  return { stream, text: () => text };
}
