/** Addresses for what is tried out: known before anything listens, since they are printed and written into files. */
import { createServer } from "node:net";
import { formatAddress, parseAddress } from "../../base/index.ts";
import { whyNotBound } from "../start-failure.ts";

/** Addresses that are given out name the port, so that it must be known before anything listens. */
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

/** A wildcard address cannot be dialed. */
export function publicUrl(address: string): string {
  const { host = "", port = 0 } = parseAddress(address) ?? {};
  return `http://${formatAddress({ host: ["", "0.0.0.0", "::"].includes(host) ? "127.0.0.1" : host, port })}`;
}

interface FreeAddress {
  readonly address: string;
  /** A sentence, where the default could not be had. */
  readonly moved: string | undefined;
}

/** A default address that cannot be had gives way to a free port; one that was asked for does not. */
export async function freeAddress(address: string, usual: string): Promise<FreeAddress> {
  const parsed = parseAddress(address);
  if (address !== usual || parsed?.host === undefined) return { address, moved: undefined };
  const { host, port } = parsed;
  const fault = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const probe = createServer();
    probe.once("error", resolve);
    probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  });
  if (fault === undefined) return { address, moved: undefined };
  return { address: formatAddress({ host, port: 0 }), moved: `${address}: ${whyNotBound(fault)}` };
}
