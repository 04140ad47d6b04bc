/**
 * Chooses the gateway that a verb calls: `-socket` or `-url`, otherwise GATEWAY_ADMIN_SOCKET or GATEWAY_ADMIN_URL. Both
 * flags at once, or both variables at once, are an error. Source: specification document 1, "Command line".
 */

import { type AdminAddress, parseAdminUrl } from "../admin-api/index.ts";
import { UsageError } from "./parse-flags.ts";
import { type Io, resolvePath } from "./process-io.ts";

export interface AddressFlags {
  readonly socket: string | undefined;
  readonly url: string | undefined;
}

/** Returns the address of the gateway. Opens and reads nothing. Throws `UsageError`. */
export function chooseAddress(flags: AddressFlags, io: Io): AdminAddress {
  const { socket, url, from } = addressChoice(flags, io);
  return socket === undefined ? networkAddress(url ?? "", from, io) : { kind: "socket", path: resolvePath(io, socket) };
}

/**
 * Like `chooseAddress`, but `-url` may be a comma-separated list of addresses of one cluster. They are tried in this
 * order.
 */
export function chooseAddresses(flags: AddressFlags, io: Io): readonly [AdminAddress, ...AdminAddress[]] {
  const { socket, url, from } = addressChoice(flags, io);
  if (socket !== undefined) return [{ kind: "socket", path: resolvePath(io, socket) }];
  const [first = "", ...otherAddresses] = [...new Set((url ?? "").split(",").map((item) => item.trim()))];
  return [networkAddress(first, from, io), ...otherAddresses.map((other) => networkAddress(other, from, io))];
}

function networkAddress(text: string, from: string, io: Io): AdminAddress {
  const parsed = parseAdminUrl(text);
  if (parsed.kind === "refused") throw new UsageError(`${from} ${parsed.reason}`);
  return { kind: "url", url: parsed.url, token: tokenFromSignIn(io, parsed.url) };
}

interface AddressChoice extends AddressFlags {
  /** Flag or variable that the operator used, for error messages. */
  readonly from: string;
}

function addressChoice(flags: AddressFlags, io: Io): AddressChoice {
  const { socket, url } = flags;
  if (socket === "" || url === "") throw new UsageError(`flag '-${socket === "" ? "socket" : "url"}' is empty`);
  if (socket !== undefined && url !== undefined) throw new UsageError("-socket and -url are both given; give one");
  if (socket !== undefined || url !== undefined) return { socket, url, from: "-url" };
  const ownSocket = io.env["GATEWAY_ADMIN_SOCKET"] || undefined;
  const ownUrl = io.env["GATEWAY_ADMIN_URL"] || undefined;
  if (ownSocket !== undefined && ownUrl !== undefined) {
    throw new UsageError("GATEWAY_ADMIN_SOCKET and GATEWAY_ADMIN_URL are both set; say which by -socket or -url");
  }
  if (ownSocket === undefined && ownUrl === undefined) {
    throw new UsageError(
      "which gateway? Give -socket PATH or -url URL, or set GATEWAY_ADMIN_SOCKET or GATEWAY_ADMIN_URL",
    );
  }
  return { socket: ownSocket, url: ownUrl, from: "GATEWAY_ADMIN_URL" };
}

/** Returns the token source of the cached sign-in. The sign-in is loaded at the first call. */
function tokenFromSignIn(io: Io, url: string): NonNullable<Extract<AdminAddress, { kind: "url" }>["token"]> {
  const load = async () => (await import("./sign-in/index.ts")).createTokenSource(io, url);
  let source: ReturnType<typeof load> | undefined;
  return async (options) => {
    source ??= load();
    return (await source).token(options);
  };
}
