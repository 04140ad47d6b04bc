/** Several processes with one sign-in. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { startOidc } from "../../e2e/support/oidc.ts";
import { listenLocally } from "../../e2e/support/ports.ts";
import { atEnd, eventually, type Owner, within } from "../../e2e/support/wait.ts";
import { childArgs } from "../../support/child-program.ts";
import { type Home, makeHome, signInOf } from "./temporary-home.ts";

const GATEWAY = "https://gateway.example";
const ROUNDS = 20;

interface Renewer {
  readonly child: ChildProcess;
  /** Requests the token; resolves with the output. */
  ask(): Promise<string>;
}

async function startRenewer(owner: Owner, home: Home): Promise<Renewer> {
  const child = spawn(process.execPath, [...childArgs("./renew-in-process.ts", import.meta.url), GATEWAY], {
    env: { PATH: process.env["PATH"], ...home.env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  atEnd(owner, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, "close");
    child.stdin.end();
    await within("the end of a renewer", closed);
  });
  const lines = createInterface({ input: child.stdout });
  const next = async () => String((await within("a line of a renewer", once(lines, "line"), 30_000))[0]);
  assert.equal(await next(), "ready");
  return {
    child,
    ask() {
      const answer = next();
      child.stdin.write("\n");
      return answer;
    },
  };
}

async function endedPid(): Promise<number> {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "close");
  return child.pid ?? assert.fail();
}

test("processes that renew concurrently use each refresh token once, and all get the same token", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const { id_token, refresh_token } = await provider.tokens("alice");
  home.write(
    signInOf(GATEWAY, { issuer: provider.issuer, token: id_token, refreshToken: refresh_token, expiresAt: 0 }),
  );
  const renewers = await Promise.all([startRenewer(t, home), startRenewer(t, home), startRenewer(t, home)]);
  const lock = home.path(GATEWAY).replace(/json$/, "lock");
  const gone = await endedPid();
  for (let round = 1; round <= ROUNDS; round += 1) {
    // The lock of a killed process, which all of them find stale at once.
    writeFileSync(lock, JSON.stringify({ host: hostname(), pid: gone, start: "", at: Date.now(), nonce: `${round}` }));
    const tokens = await Promise.all(renewers.map(({ ask }) => ask()));
    const kept = home.read(GATEWAY);
    assert.deepEqual(new Set(tokens), new Set([kept?.token]), `round ${round}`);
    const renewals = provider.grants.filter(({ type }) => type === "refresh_token");
    assert.deepEqual(renewals, Array(round).fill({ type: "refresh_token", outcome: "ok" }));
    // Simulates that the hour has passed.
    home.write(signInOf(GATEWAY, { ...kept, expiresAt: 0 }));
  }
});

test("a process killed while renewing does not delay the next one", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const { id_token, refresh_token } = await provider.tokens("alice");
  const signIn = signInOf(GATEWAY, { token: id_token, refreshToken: refresh_token, expiresAt: 0 });

  // Its provider never answers, so it is killed while it has the lock.
  let asked = false;
  const silent = createServer((socket) => {
    asked = true;
    socket.on("error", () => undefined);
  });
  const port = await listenLocally(silent);
  atEnd(t, () => silent.close());
  home.write({ ...signIn, issuer: `http://127.0.0.1:${port}` });
  const doomed = await startRenewer(t, home);
  doomed.child.stdin?.write("\n");
  await eventually("the request of the one that is killed", () => asked);
  const gone = once(doomed.child, "close");
  doomed.child.kill("SIGKILL");
  await gone;

  home.write({ ...signIn, issuer: provider.issuer });
  const survivor = await startRenewer(t, home);
  const startedAt = performance.now();
  assert.equal(await survivor.ask(), home.read(GATEWAY)?.token);
  assert.notEqual(home.read(GATEWAY)?.token, id_token);
  assert.ok(performance.now() - startedAt < 10_000);
});
