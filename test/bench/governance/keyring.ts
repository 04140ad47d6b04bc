/**
 * Keys of a governed gateway, and their memory. The first are minted through its admin socket as by an operator, the
 * others come with a restored archive, which takes seconds instead of minutes. The gateway is stopped afterwards; it is
 * started again in its folder, with its keys, for each measurement.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type AdminClient, createAdminClient } from "../../../src/admin-api/index.ts";
import { teamOf } from "../admin/plane.ts";
import { makeHome, socketIn } from "../parts/configuration.ts";
import { type GatewayOptions, startProbed, waitForReadyLine } from "../parts/gateway.ts";
import { PROFILE } from "../parts/governed-deployment.ts";
import { residentBytes } from "../parts/process-usage.ts";
import { makeKeyArchive } from "../state/archive.ts";
import { restoreArchive, saveArchive } from "../state/node.ts";

export interface Keyring {
  readonly count: number;
  /** Folder of the gateway: node file, deployment, state. */
  readonly home: string;
  /** File with the text of one key per line. */
  readonly credentials: string;
  readonly mintedPerSecond: number;
  /** Resident memory of the process before and after it loaded them, in bytes. */
  readonly rssBefore: number;
  readonly rssAfter: number;
}

interface Minting {
  /** `mode` is one that governs. */
  readonly gateway: Omit<GatewayOptions, "home">;
  readonly probe: string;
  readonly count: number;
}

/** Each has as many connections as an admin API client opens. */
const CLIENTS = 4;
const CALLS_EACH = 64;
/** More keys come with an archive. */
const MAX_MINTED = 1_000;
const LEADER_TIMEOUT_MS = 60_000;

export async function makeKeyring({ gateway, probe, count }: Minting): Promise<Keyring> {
  const home = await makeHome(gateway.folder);
  const server = await startProbed({ ...gateway, home }, probe);
  const clients = Array.from({ length: CLIENTS }, () =>
    createAdminClient({ address: { kind: "socket", path: socketIn(home) } }),
  );
  try {
    await waitForReadyLine(server);
    const [first] = clients;
    if (first !== undefined) await waitForLeader(first);
    await server.alive();
    const rssBefore = residentBytes(server.pid);
    const startedAt = performance.now();
    const minted = Math.min(count, MAX_MINTED);
    const texts = [...(await mint(clients, minted))];
    const mintedPerSecond = (minted * 1e3) / (performance.now() - startedAt);
    if (minted < count) texts.push(...(await restoreMore(home, minted, count)));
    const credentials = join(home, "keys.txt");
    await writeFile(credentials, texts.join("\n"), { mode: 0o600 });
    await server.alive();
    return { count, home, credentials, mintedPerSecond, rssBefore, rssAfter: residentBytes(server.pid) };
  } finally {
    for (const client of clients) client.close();
    await server.stop();
  }
}

async function waitForLeader(client: AdminClient): Promise<void> {
  const deadline = performance.now() + LEADER_TIMEOUT_MS;
  while ((await client.call("get_status")).role !== "leader") {
    if (performance.now() > deadline) throw new Error("the gateway does not lead its cluster of one");
    await sleep(10);
  }
}

/** Adds keys until there are `count`; returns the texts of the added ones. */
async function restoreMore(home: string, minted: number, count: number): Promise<readonly string[]> {
  const node = { socketPath: socketIn(home) };
  const saved = join(home, "saved.tar.gz");
  await saveArchive(node, saved);
  const { path, credentials } = await makeKeyArchive(saved, count - minted, home);
  await restoreArchive(node, path, count);
  return (await readFile(credentials, "latin1")).split("\n");
}

async function mint(clients: readonly AdminClient[], count: number): Promise<readonly string[]> {
  const texts: string[] = [];
  let next = 0;
  const work = async (client: AdminClient): Promise<void> => {
    while (next < count) {
      const number = next;
      next += 1;
      const name = `minted-${String(number).padStart(6, "0")}`;
      const body = { name, profile: PROFILE, metadata: { team: teamOf(number), env: "prod" } };
      const { key } = await client.call("create_key", { body });
      if (key === undefined) throw new Error(`the key ${name} was minted without its text`);
      texts.push(key);
    }
  };
  await Promise.all(clients.flatMap((client) => Array.from({ length: CALLS_EACH }, () => work(client))));
  return texts;
}
