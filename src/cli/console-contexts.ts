/**
 * Named gateways that the console can switch to: those in the settings, and those with a stored sign-in, named after
 * their host.
 */

import type { AdminAddress } from "../admin-api/index.ts";
import type { NamedEndpoint } from "../console/index.ts";
import { chooseAddresses } from "./choose-address.ts";
import { UsageError } from "./parse-flags.ts";
import type { Io } from "./process-io.ts";

/** Returns the gateways. If two have the same name, the first is kept, so a setting takes precedence over a sign-in. */
export async function contextsOf(set: readonly NamedEndpoint[], io: Io): Promise<readonly NamedEndpoint[]> {
  const { openSignInStore } = await import("./sign-in/index.ts");
  let contexts: readonly NamedEndpoint[] = [];
  try {
    contexts = openSignInStore(io)
      .list()
      .flatMap(({ stored }) =>
        stored.kind === "sign-in" && URL.canParse(stored.signIn.url)
          ? [{ name: new URL(stored.signIn.url).host, endpoint: { kind: "url" as const, urls: [stored.signIn.url] } }]
          : [],
      );
  } catch {
    // If the sign-ins cannot be read, the console can only switch to gateways in the settings; `login` reports the
    // reason.
  }
  const names = new Map<string, NamedEndpoint>();
  for (const one of [...set, ...contexts]) if (!names.has(one.name)) names.set(one.name, one);
  return [...names.values()];
}

export const endpointText = ({ endpoint }: NamedEndpoint): string =>
  endpoint.kind === "socket" ? `unix:${endpoint.path}` : endpoint.urls.join(", ");

/** Returns the addresses of the gateway called `name`. Throws `UsageError` if there is none. */
export function addressesOf(
  name: string,
  contexts: readonly NamedEndpoint[],
  io: Io,
): readonly [AdminAddress, ...AdminAddress[]] {
  const found = contexts.find((one) => one.name === name);
  if (found === undefined) {
    const names = contexts.map((one) => one.name).join(", ");
    throw new UsageError(
      `no gateway is named '${name}'; ${names === "" ? "the settings name no gateways" : `the gateways are ${names}`}`,
    );
  }
  const { endpoint } = found;
  return endpoint.kind === "socket"
    ? chooseAddresses({ socket: endpoint.path, url: undefined }, io)
    : chooseAddresses({ socket: undefined, url: endpoint.urls.join(",") }, io);
}
