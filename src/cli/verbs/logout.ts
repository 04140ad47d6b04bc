/**
 * `gateway logout`: deletes the sign-in at a gateway from this machine, or lists the sign-ins. Source: specification document
 * 1, "logout".
 *
 * The identity provider is not contacted: the token stays valid there until it expires, and the output says so.
 * Status 1: the gateway was named on the command line and there is no sign-in to it.
 */

import { UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import {
  type ListedSignIn,
  openSignInStore,
  parseGatewayUrl,
  type SignIn,
  SignInError,
  type SignInStore,
  timeText,
  withLock,
} from "../sign-in/index.ts";
import { tableLines } from "../table-text.ts";

export interface LogoutOptions {
  readonly all: boolean;
  readonly list: boolean;
}

export async function run(options: LogoutOptions, positionals: readonly string[], io: Io): Promise<ExitStatus> {
  try {
    return await logout(options, positionals[0], io);
  } catch (error) {
    if (!(error instanceof SignInError) || io.signal.aborted) throw error;
    io.stderr.write(`gateway logout: ${error.message}\n`);
    return error.status;
  }
}

async function logout({ all, list }: LogoutOptions, named: string | undefined, io: Io): Promise<ExitStatus> {
  if (all && named !== undefined) throw new UsageError("-all takes no URL");
  const store = openSignInStore(io);
  if (list) return print(store, named === undefined ? undefined : gatewayOf(named), io);
  if (all) {
    const count = await removeAll(store, io);
    io.stderr.write(
      count === 0 ? NO_SIGN_IN : `Removed ${count === 1 ? "one sign-in" : `${count} sign-ins`}. ${TOKEN_STAYS_VALID}`,
    );
    return 0;
  }
  const text = named ?? io.env["GATEWAY_ADMIN_URL"];
  if (text === undefined || text === "") {
    throw new UsageError("no gateway is named: give its URL, set GATEWAY_ADMIN_URL, or use -all");
  }
  const url = gatewayOf(text);
  if (store.read(url).kind === "none") {
    io.stderr.write(`There is no sign-in to ${url} on this machine.\n`);
    return named === undefined ? 0 : 1;
  }
  await remove(store, store.entryPath(url), io);
  io.stderr.write(`Removed the sign-in to ${url}. ${TOKEN_STAYS_VALID}`);
  return 0;
}

/** Removes a sign-in with the lock held, since a renewal in progress would write it again. */
function remove(store: SignInStore, path: string, io: Io): Promise<boolean> {
  return withLock(store.lockPath(path), io, () => store.remove(path));
}

async function removeAll(store: SignInStore, io: Io): Promise<number> {
  let count = 0;
  for (const { path } of store.list()) if (await remove(store, path, io)) count += 1;
  return count;
}

const TOKEN_STAYS_VALID = "The token stays valid at the identity provider until it expires.\n";
const NO_SIGN_IN = "There is no sign-in on this machine.\n";

function gatewayOf(text: string): string {
  const gateway = parseGatewayUrl(text);
  if (gateway.kind === "refused") throw new UsageError(gateway.reason);
  return gateway.url;
}

function print(store: SignInStore, url: string | undefined, io: Io): ExitStatus {
  const found: readonly ListedSignIn[] =
    url === undefined ? store.list() : [{ path: store.entryPath(url), stored: store.read(url) }];
  const signIns = found.flatMap(({ stored }) => (stored.kind === "sign-in" ? [stored.signIn] : []));
  if (signIns.length > 0) io.stdout.write(table(signIns, io.columns()));
  else if (url === undefined) io.stderr.write(NO_SIGN_IN);
  else io.stderr.write(`There is no sign-in to ${url} on this machine.\n`);
  for (const { path, stored } of found) {
    if (stored.kind !== "unreadable" && stored.kind !== "unsafe") continue;
    io.stderr.write(`${path} is not used: ${stored.reason}. \`gateway logout -all\` removes it.\n`);
  }
  return 0;
}

const COLUMNS = ["URL", "ISSUER", "WHO", "EXPIRES"].map((name) => ({ name, isNumeric: false }));

function table(signIns: readonly SignIn[], width: number | undefined): string {
  const rows = signIns.map(({ url, issuer, callerName: who, expiresAt }) => [
    url,
    issuer,
    who,
    expiresAt === undefined ? undefined : timeText(expiresAt),
  ]);
  return [...tableLines(COLUMNS, rows, width)].join("");
}
