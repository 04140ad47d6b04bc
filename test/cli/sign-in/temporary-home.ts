/** A user's own state directory, and its entries. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Io } from "../../../src/cli/process-io.ts";
import type { SignIn } from "../../../src/cli/sign-in/sign-in-entry.ts";
import { openSignInStore } from "../../../src/cli/sign-in/sign-in-store.ts";
import { atEnd, type Owner } from "../../e2e/support/wait.ts";
import { type BufferIo, bufferIo } from "../buffer-io.ts";

export interface Home {
  /** Directory of the files. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** `over.env` is added to the home's. */
  io(over?: Partial<Io>): BufferIo;
  path(url: string): string;
  write(signIn: SignIn): void;
  /** Returns the sign-in at `url`; `undefined` without a usable one. */
  read(url: string): SignIn | undefined;
}

export function makeHome(owner: Owner): Home {
  const root = mkdtempSync(join(tmpdir(), "gateway-sign-in-"));
  atEnd(owner, () => rmSync(root, { recursive: true, force: true }));
  const env = { XDG_STATE_HOME: root, BROWSER: "none" };
  const io = (over: Partial<Io> = {}) => bufferIo({ now: () => Date.now(), ...over, env: { ...env, ...over.env } });
  const store = openSignInStore(io());
  return {
    directory: store.directory,
    env,
    io,
    path: store.entryPath,
    write: store.write,
    read(url) {
      const stored = store.read(url);
      return stored.kind === "sign-in" ? stored.signIn : undefined;
    },
  };
}

const HOUR_MS = 3_600_000;

/** A sign-in that is valid for an hour. */
export function signInOf(url: string, over: Partial<SignIn> = {}): SignIn {
  return {
    url,
    issuerName: "corp",
    issuer: "http://127.0.0.1:9",
    clientId: "gateway-cli",
    tokenKind: "id",
    resource: undefined,
    token: "the-token",
    expiresAt: Date.now() + HOUR_MS,
    refreshToken: undefined,
    callerName: "alice",
    ...over,
  };
}
