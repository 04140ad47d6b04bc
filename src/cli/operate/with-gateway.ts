/** Shared parts of the verbs for incidents: the gateway that they call, and how a failed call ends the verb. */

import { setMaxListeners } from "node:events";
import { type AdminAddress, type AdminClient, createAdminClient } from "../../admin-api/index.ts";
import { type AddressFlags, chooseAddress } from "../choose-address.ts";
import type { ExitStatus, Io } from "../io.ts";
import { reportFailure } from "../report-failure.ts";

export interface Called {
  readonly client: AdminClient;
  readonly door: AdminAddress;
}

/** Limit of one call that is not a blocking read. */
const TIME_LIMIT_MS = 30_000;

/** Number of reads that a verb may have under way. */
const MOST_READS = 256;

/** Runs `work` with a client of the gateway that the flags name; what the API refused is printed, with what to do. */
export async function withGateway(
  verb: string,
  flags: AddressFlags,
  io: Io,
  work: (called: Called) => Promise<ExitStatus>,
): Promise<ExitStatus> {
  const door = chooseAddress(flags, io);
  // Each of the reads that run side by side listens to the one signal of the verb.
  setMaxListeners(MOST_READS, io.signal);
  const client = createAdminClient({ door, timeLimitMs: TIME_LIMIT_MS });
  try {
    return await work({ client, door });
  } catch (error) {
    return reportFailure(verb, error, door, io);
  } finally {
    client.close();
  }
}
