/** Errors of `gateway console` before it touches the terminal. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../buffer-io.ts";

const SOCKET = ["-socket", "/run/gateway.sock"] as const;

async function refused(args: readonly string[], terminals: readonly string[] = ["stdin", "stdout"]): Promise<string> {
  const io = bufferIo({ isTerminal: (stream) => terminals.includes(stream) });
  assert.equal(await execute(["console", ...args], io), 2);
  assert.equal(io.out(), "");
  return io.err();
}

test("without a terminal the console names the verbs for scripts", async () => {
  for (const terminals of [[], ["stdin"], ["stdout"], ["stderr"]]) {
    const message = await refused(SOCKET, terminals);
    assert.match(message, /needs a terminal on stdin and stdout; scripts use 'gateway admin' and 'gateway query'/);
  }
});

test("a metrics address that is not an HTTP URL is refused", async () => {
  for (const metrics of ["", "127.0.0.1:9464", "ftp://127.0.0.1/metrics", "/metrics", "http://"]) {
    assert.match(await refused([...SOCKET, "-metrics", metrics]), /'-metrics' takes the URL of a metrics page/);
  }
});

test("both addresses together, and none, are refused", async () => {
  assert.match(await refused([...SOCKET, "-url", "https://gw.example"]), /-socket and -url are both given/);
  assert.match(await refused([]), /which gateway\?/);
});

test("an audit file without a name is refused", async () => {
  assert.match(await refused([...SOCKET, "-audit", ""]), /'-audit' takes the name of a file/);
});

test("an invalid URL is refused", async () => {
  assert.match(await refused(["-url", "gopher://gw.example"]), /-url/);
});
