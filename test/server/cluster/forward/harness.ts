/** A forward server scripted by a test, and clients for it; closed at the test's end. */

import {
  createForwardClient,
  type ForwardAnswer,
  type ForwardClient,
  type ForwardOptions,
  type ForwardRequest,
  type ForwardServer,
  startForward,
} from "../../../../src/server/cluster/forward/index.ts";
import type { Timing } from "../../../../src/server/cluster/wire/index.ts";
import { atEnd, type Owner } from "../../../e2e/support/wait.ts";
import { identityOf, type MadeOptions } from "../identity/made.ts";
import { type MemoryLog, memoryLog } from "../wire/memory-log.ts";
import { selfOf } from "../wire/selves.ts";

export type Script = (request: ForwardRequest, signal: AbortSignal) => Promise<ForwardAnswer> | ForwardAnswer;

interface TestServer {
  readonly server: ForwardServer;
  readonly address: string;
  readonly log: MemoryLog;
}

export async function testServer(
  owner: Owner,
  script: Script,
  over: Partial<ForwardOptions> = {},
  made: MadeOptions = {},
): Promise<TestServer> {
  const identity = await identityOf("n1", made);
  const log = memoryLog();
  const server = await startForward({
    listen: "127.0.0.1:0",
    identity,
    self: selfOf(identity),
    refusalCodeFor: () => undefined,
    onRequest: async (request, signal) => script(request, signal),
    log,
    ...over,
  });
  atEnd(owner, () => server.close());
  return { server, address: server.address, log };
}

export async function testClient(
  owner: Owner,
  { timing, id = "n2", ...made }: MadeOptions & { readonly timing?: Timing; readonly id?: string } = {},
): Promise<ForwardClient> {
  const identity = await identityOf(id, made);
  const client = createForwardClient({ identity, self: selfOf(identity), ...(timing === undefined ? {} : { timing }) });
  atEnd(owner, () => client.close());
  return client;
}
