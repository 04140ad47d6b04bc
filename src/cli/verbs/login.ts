/**
 * `gateway login`: signs in at the identity provider that the gateway names, and stores the token for the other verbs.
 * Source: specification document 1, "login"; document 2, `admin.issuers[].login`.
 *
 * The token is first sent to the gateway; one that the gateway does not accept is not stored. All messages go to
 * stderr. Status 1: not signed in; 2: usage; 3: the gateway could not be reached.
 */

import { clipArgument, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import {
  type Caller,
  hasBrowser,
  isExposed,
  obtainSignIn,
  openSignInStore,
  parseGatewayUrl,
  printable,
  readCaller,
  readOffers,
  type SignIn,
  SignInError,
  type SignInOffer,
  timeText,
  withLock,
} from "../sign-in/index.ts";

export interface LoginOptions {
  readonly issuer: string | undefined;
  readonly device: boolean;
}

export async function run(options: LoginOptions, positionals: readonly string[], io: Io): Promise<ExitStatus> {
  try {
    return await login(options, positionals[0] ?? io.env["GATEWAY_ADMIN_URL"], io);
  } catch (error) {
    if (!(error instanceof SignInError) || io.signal.aborted) throw error;
    io.stderr.write(`gateway login: ${error.message}\n`);
    return error.status;
  }
}

async function login({ issuer, device }: LoginOptions, text: string | undefined, io: Io): Promise<ExitStatus> {
  if (text === undefined || text === "")
    throw new UsageError("no gateway is named: give its URL or set GATEWAY_ADMIN_URL");
  const gateway = parseGatewayUrl(text);
  if (gateway.kind === "refused") throw new UsageError(gateway.reason);
  const { url } = gateway;
  if (gateway.isExposed) warn(`${url} is not https: the token travels unencrypted`, io);
  const store = openSignInStore(io);
  // Fails early if the directory is unsafe, before the user types a password.
  store.ensureDirectory();

  const offer = choose(await readOffers(url, io.signal), issuer, url);
  if (URL.canParse(offer.issuer) && isExposed(new URL(offer.issuer))) {
    warn(`the identity provider ${printable(offer.issuer)} is not https: what you type there travels unencrypted`, io);
  }
  const method = device || !hasBrowser(io.env) ? "device" : "browser";
  const signIn = await obtainSignIn(url, offer, method, io);

  const caller = await readCaller(url, signIn.token, io.signal);
  if (caller.kind === "rejected") throw new SignInError(rejection(url, offer));
  const kept =
    caller.kind === "known" && signIn.callerName === "" ? { ...signIn, callerName: printable(caller.subject) } : signIn;
  await withLock(store.lockPath(store.entryPath(url)), io, () => store.write(kept));
  io.stderr.write(printWelcome(kept, caller));
  return 0;
}

function choose(offers: readonly SignInOffer[], name: string | undefined, url: string): SignInOffer {
  const names = offers.map((offer) => clipArgument(offer.name)).join(", ");
  const [first, ...more] = offers;
  if (first === undefined) {
    throw new SignInError(
      `${url} offers no sign-in; its operator has not written a login block (admin.issuers[].login)`,
    );
  }
  if (name === undefined) {
    if (more.length === 0) return first;
    throw new UsageError(`the gateway trusts several issuers; name one with -issuer: ${names}`);
  }
  const found = offers.find((offer) => offer.name === name);
  if (found === undefined)
    throw new UsageError(`the gateway has no issuer '${clipArgument(name)}' to sign in at; it has ${names}`);
  return found;
}

function rejection(url: string, { name, tokenKind: token, clientId }: SignInOffer): string {
  const shown = token === "id" ? "ID token" : "access token";
  const audience = token === "id" ? `, which for an ID token is the client id '${clipArgument(clientId)}'` : "";
  return (
    `${url} does not accept the ${shown} of '${clipArgument(name)}', so it was not kept. The likely cause is that the token does ` +
    `not name the audience of admin.issuers[]${audience}; the gateway's log says why`
  );
}

function printWelcome(signIn: SignIn, caller: Caller): string {
  const { url, callerName: who, expiresAt, refreshToken } = signIn;
  const until = expiresAt === undefined ? "" : ` until ${timeText(expiresAt)}`;
  const renewal = refreshToken === undefined ? "" : "; it is renewed as long as the identity provider allows";
  const name = who === "" ? "" : ` as ${who}`;
  switch (caller.kind) {
    case "known": {
      const subject = caller.subject === who ? "" : `subject ${printable(caller.subject)}, `;
      const roles = caller.roles.length === 0 ? "no roles" : `roles ${printable(caller.roles.join(", "))}`;
      return `Signed in to ${url}${name} (${subject}${roles})${until}${renewal}.\n`;
    }
    case "forbidden":
      return (
        `Signed in to ${url}${name}${until}${renewal}.\n` +
        "The gateway accepts the token, but its policy does not let you ask who you are; it may permit you nothing.\n"
      );
    case "unasked":
      return (
        `Signed in${name}${until}${renewal}.\n` + `Whether ${url} accepts the token is not known: ${caller.reason}.\n`
      );
    case "rejected":
      throw new Error("a rejected token is not kept");
    default:
      return caller satisfies never;
  }
}

function warn(message: string, io: Io): void {
  io.stderr.write(`Warning: ${message}.\n`);
}
