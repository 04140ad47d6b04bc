/** Connects the verbs for incidents to a gateway and reports failed calls. */

import { setMaxListeners } from "node:events";
import { type AdminAddress, type AdminClient, createAdminClient } from "../../admin-api/index.ts";
import { type AddressFlags, chooseAddress } from "../choose-address.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { reportFailure } from "../report-failure.ts";

export interface GatewayConnection {
  readonly client: AdminClient;
  readonly address: AdminAddress;
}

/** Timeout of a call that is not a blocking read, in milliseconds. */
const TIME_LIMIT_MS = 30_000;

/** Maximum number of concurrent reads of a verb. */
const MAX_READS = 256;

/**
 * Runs `work` with a client of the gateway that the flags name. If the API refuses a call, prints the reason and what
 * to do.
 */
export async function withGateway(
  verb: string,
  flags: AddressFlags,
  io: Io,
  work: (gateway: GatewayConnection) => Promise<ExitStatus>,
): Promise<ExitStatus> {
  const address = chooseAddress(flags, io);
  // Each concurrent read adds a listener to the verb's signal; Node warns above 10 listeners.
  setMaxListeners(MAX_READS, io.signal);
  const client = createAdminClient({ address, timeLimitMs: TIME_LIMIT_MS });
  try {
    return await work({ client, address });
  } catch (error) {
    return reportFailure(verb, error, address, io);
  } finally {
    client.close();
  }
}
