/** `gateway login` in the test's process, with a person who follows its instructions. */

import type { Io } from "../../../src/cli/process-io.ts";
import { type LoginOptions, run } from "../../../src/cli/verbs/login.ts";
import type { OidcServer } from "../../e2e/support/oidc.ts";
import type { Arrived, Person } from "../../e2e/support/oidc-pages.ts";
import { eventually } from "../../e2e/support/wait.ts";
import type { BufferIo } from "../buffer-io.ts";
import type { Home } from "./temporary-home.ts";

/** A browser that starts and shows nothing, so the person opens the address on stderr. */
const BLIND = { BROWSER: "true" };

interface Attempt {
  readonly io: BufferIo;
  readonly ended: Promise<number>;
  /** The address that the user should open. */
  readonly address: Promise<string>;
  /** The code that the user should enter there. */
  userCode(): string | undefined;
}

interface Setup {
  readonly home: Home;
  readonly url: string;
  readonly options?: Partial<LoginOptions>;
  readonly io?: Partial<Io>;
}

export function startLogin({ home, url, options = {}, io: over = {} }: Setup): Attempt {
  const io = home.io({ ...over, env: { ...BLIND, ...over.env } });
  const ended = run({ issuer: undefined, device: false, ...options }, [url], io);
  const indented = (pattern: string) => new RegExp(`^ {2}(${pattern})$`, "m").exec(io.err())?.[1];
  let isOver = false;
  const over_ = () => {
    isOver = true;
  };
  ended.then(over_, over_);
  const address = eventually("an address to go to", () => indented("https?://\\S+") ?? (isOver && "none")).then(
    (found) => {
      if (found === "none") throw new Error(`login ended without sending anybody anywhere: ${io.err()}`);
      return found;
    },
  );
  address.catch(() => undefined);
  return { io, ended, address, userCode: () => indented("[A-Z]{4}-[A-Z]{4}") };
}

interface Ended {
  readonly status: number;
  readonly io: BufferIo;
  /** The final page of the person's browser. */
  readonly arrived: Arrived;
  readonly address: string;
}

/** Signs in to the end. */
export async function login(setup: Setup & { readonly provider: OidcServer; readonly as?: Person }): Promise<Ended> {
  const attempt = startLogin(setup);
  const address = await attempt.address;
  const userCode = attempt.userCode();
  const person = { login: "alice", ...(userCode === undefined ? {} : { userCode }), ...setup.as };
  const arrived = await setup.provider.browse(address, person);
  return { status: await attempt.ended, io: attempt.io, arrived, address };
}
