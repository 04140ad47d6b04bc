/**
 * `gateway completion -names KIND`: prints names from a running gateway for the completion scripts, one per line.
 * Prints nothing if no gateway answers, because pressing Tab must not produce an error message.
 */

import { type AdminClient, createAdminClient } from "../../admin-api/index.ts";
import { chooseAddress } from "../choose-address.ts";
import { clipArgument, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { NAME_KINDS, type NameKind } from "../verb-table.ts";

/** Timeout of the calls, in milliseconds, since the user waits for the completion. */
const LIMIT_MS = 2_000;

const READERS: Readonly<Record<NameKind, (client: AdminClient, io: Io) => Promise<readonly string[]>>> = {
  async suspendable(client) {
    const [providers, keys, profiles, models, servers, agents] = await Promise.all([
      client.call("list_backends"),
      client.call("list_keys"),
      client.call("list_profiles"),
      client.call("list_models"),
      client.call("list_mcp_servers"),
      client.call("list_a2a_agents"),
    ]);
    const named = (kind: string, rows: readonly { readonly name: string }[]) =>
      rows.map(({ name }) => `${kind}:${name}`);
    return [
      ...named("provider", providers.items),
      ...named("key", keys.items),
      ...named("profile", profiles.items),
      ...models.items.flatMap(({ model, kind }) => (kind === "name" || kind === "alias" ? [`model:${model}`] : [])),
      ...named("mcp", servers.items),
      ...named("a2a", agents.items),
    ];
  },
  suspensions: async (client) =>
    (await client.call("list_suspensions")).items.flatMap(({ kind, name, status }) =>
      status === "active" ? [`${kind}:${name}`] : [],
    ),
  keys: async (client) => (await client.call("list_keys")).items.map(({ name }) => name),
  secrets: async (client) => (await client.call("list_secrets")).items.map(({ name }) => name),
  sources: async (client) => (await client.call("list_sources")).items.map(({ name }) => name),
  acknowledgements: async (client) => (await client.call("list_acknowledgements")).items.map(({ name }) => name),
  async alerts(client, io) {
    const console = await import("../../console/index.ts");
    const options = { client, endpoint: chooseAddress({ socket: undefined, url: undefined }, io), signal: io.signal };
    const data = await console.readOnce(console.attentionNeeds(), { ...options, now: () => io.now() });
    const context = { data, subject: undefined, isReadOnly: true, isAscii: true, endpointFlags: "" };
    return console.attentionOf({ ...context, tail: undefined, verification: undefined }).map(({ id }) => id);
  },
};

const isKind = (text: string): text is NameKind => NAME_KINDS.some((kind) => kind === text);

/** Prints the names. Omits those with blanks or control characters, which the shell would split. Throws `UsageError`. */
export async function printNames(kind: string, io: Io): Promise<ExitStatus> {
  if (!isKind(kind)) throw new UsageError(`no names of '${clipArgument(kind)}', only of ${NAME_KINDS.join(", ")}`);
  let client: AdminClient | undefined;
  try {
    client = createAdminClient({
      address: chooseAddress({ socket: undefined, url: undefined }, io),
      timeLimitMs: LIMIT_MS,
    });
    const names = await READERS[kind](client, io);
    for (const name of [...new Set(names)]) if (/^[!-~]+$/.test(name)) io.stdout.write(`${name}\n`);
    return 0;
  } catch {
    return 1;
  } finally {
    client?.close();
  }
}
