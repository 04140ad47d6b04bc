/** Chooses the addresses of `gateway dev` before anything listens, because they are printed and written to files. */
import { createServer } from "node:net";
import { formatAddress, parseAddress } from "../../base/index.ts";
import { bindReason } from "../start-failure.ts";

/** Returns the address with port 0 replaced by a free port, since printed addresses need a port number. */
export async function portOf(address: string): Promise<string> {
  const parsed = parseAddress(address);
  if (parsed?.port !== 0) return address;
  const { host } = parsed;
  const free = await new Promise<number>((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen({ port: 0, host }, () => {
      const bound = probe.address();
      probe.close(() => resolve(typeof bound === "object" && bound !== null ? bound.port : 0));
    });
  });
  return formatAddress({ ...parsed, port: free });
}

/** Returns the URL at which clients reach the address. A wildcard address cannot be dialed, so it becomes 127.0.0.1. */
export function publicUrl(address: string): string {
  const { host = "", port = 0 } = parseAddress(address) ?? {};
  return `http://${formatAddress({ host: ["", "0.0.0.0", "::"].includes(host) ? "127.0.0.1" : host, port })}`;
}

interface FreeAddress {
  readonly address: string;
  /** Sentence that says why the default address was not available; `undefined` if it was. */
  readonly movedReason: string | undefined;
}

/**
 * Returns an address to listen on. If the default address is taken, its port becomes 0, so that a free one is used; an
 * address that the operator chose is kept.
 */
export async function freeAddress(address: string, defaultAddress: string): Promise<FreeAddress> {
  const parsed = parseAddress(address);
  if (address !== defaultAddress || parsed?.host === undefined) return { address, movedReason: undefined };
  const { host, port } = parsed;
  const fault = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const probe = createServer();
    probe.once("error", resolve);
    probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  });
  if (fault === undefined) return { address, movedReason: undefined };
  return { address: formatAddress({ host, port: 0 }), movedReason: `${address}: ${bindReason(fault)}` };
}
