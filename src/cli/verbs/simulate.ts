/**
 * `gateway simulate`: runs the simulated provider, MCP server and agent until it is interrupted.
 *
 * stdout gets one line with the URL once it listens. stderr gets instructions for calling it and, with
 * `GATEWAY_LOG=debug`, one line per request.
 */

import { once } from "node:events";
import { formatAddress, parseAddress } from "../../base/index.ts";
import { type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { simulateFlags } from "../verb-flags.ts";

export async function run(
  { listen, requireKey, requireSignature, adminKey, faults }: FlagsOf<typeof simulateFlags>,
  _: readonly string[],
  io: Io,
): Promise<ExitStatus> {
  const address = parseAddress(listen);
  if (address === undefined) throw new UsageError(`-listen: '${listen}' is not an address`);
  const pair = requireSignature === undefined ? undefined : /^([\w-]+):(.+)$/.exec(requireSignature);
  if (pair === null) throw new UsageError("-require-signature: expected ID:SECRET");
  const { helpText, startSimulator } = await import("../../simulator/index.ts");
  if (faults) {
    io.stdout.write(helpText(`http://${formatAddress(address)}`));
    return 0;
  }
  const isVerbose = io.env["GATEWAY_LOG"] === "debug";
  const simulator = await startSimulator({
    host: address.host ?? "",
    port: address.port,
    signal: io.signal,
    ...(requireKey !== undefined && { requireKey }),
    ...(adminKey !== undefined && { adminKey }),
    ...(pair !== undefined && {
      requireSignature: { keyOf: (id: string) => (id === pair[1] ? { secret: pair[2] ?? "" } : undefined) },
    }),
    ...(isVerbose ? { log: (line: string) => io.stderr.write(`${line}\n`) } : {}),
  });
  try {
    io.stdout.write(`${simulator.url}\n`);
    io.stderr.write(
      `The simulated provider listens. Base URL of the compat dialect: ${simulator.url}/v1; of messages: ${simulator.url}\n` +
        `MCP server: ${simulator.url}/mcp; A2A agent: ${simulator.url}/a2a\n` +
        `Names ask for faults: curl ${simulator.url}/ lists them. Interrupt to stop.\n`,
    );
    if (!io.signal.aborted) await once(io.signal, "abort");
  } finally {
    await simulator.close();
  }
  return 0;
}
