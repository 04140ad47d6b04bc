/** The address that all workers listen at: one of them alone cannot be given a port of the system's choice. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { formatAddress, parseAddress } from "../../../base/index.ts";

/** Port 0 becomes one that is free. */
export async function concreteAddress(listen: string): Promise<string> {
  const parsed = parseAddress(listen);
  if (parsed === undefined || parsed.port !== 0) return listen;
  const server = createServer();
  server.listen({ port: 0, host: parsed.host ?? "::" });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return formatAddress({ host: parsed.host ?? "::", port });
}
